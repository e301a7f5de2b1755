"""`python -m` searches the folder one works in first, where a verify.py of the user's would be taken for a package of ours."""

import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]  # where the packages stand


def search_it_no_more() -> None:
    """Take that folder off the path, where `python -m` put it there and the packages are not in it."""
    if not sys.flags.safe_path and Path(sys.path[0]) == Path.cwd() != _ROOT:
        del sys.path[0]
