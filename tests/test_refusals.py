"""Lines that refuse an argument name the argument first: read off the sources, as few of so many
are ever printed by a test.
"""

import ast

import pytest

from docs.development.architecture import LAYERS, modules

#: What says no, with the place of the argument's name among its own arguments; the value, the rule
#: and the way out follow.
REFUSALS = {"InvalidParameter": 0, "error": 0, "require": 1}
#: Expressions that are the name of an argument where it is no text.
NAMES = {"name", "key", "unknown", "twice", "self.names[0]", "'+'.join(names)"}


def refusals(package):
    """(where, arguments from the name on) of every call that refuses."""
    for module, path in modules(package).items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and node.args:
                called = (
                    node.func.attr
                    if isinstance(node.func, ast.Attribute)
                    else getattr(node.func, "id", "")
                )
                if called in REFUSALS and (called != "error" or len(node.args) >= 3):  # not a log
                    yield f"{module}:{node.lineno}", node.args[REFUSALS[called] :]


@pytest.mark.parametrize("package", LAYERS)
def test_a_refusal_begins_with_the_name_of_the_argument(package):
    for where, (name, *others) in refusals(package):
        is_text = isinstance(name, ast.JoinedStr) or (
            isinstance(name, ast.Constant) and isinstance(name.value, str)
        )
        assert is_text or ast.unparse(name) in NAMES, where
        value = ast.unparse(others[0])
        assert is_text or not (value in NAMES or value.startswith("'--")), (
            f"{where}: {value} is the value of {name}"
        )
