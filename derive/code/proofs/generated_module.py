"""Generated source as a new module, independent of the modules on disk."""

import linecache
from itertools import count
from types import ModuleType

_NUMBERS = count()


def load(source: str) -> ModuleType:
    """Run the source of a module; `inspect.getsource` finds its functions.

    Raises:
        SyntaxError: `source` is not valid Python. Exceptions of the code are passed on, too.
    """
    name = f"generated_copy_{next(_NUMBERS)}"
    module = ModuleType(name)
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    module.__file__ = name
    exec(compile(source, name, "exec"), module.__dict__)
    return module
