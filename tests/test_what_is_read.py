"""Nothing that is read is evaluated: no module calls what makes code of data, but those that say
why.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EVALUATES = {"eval", "exec", "compile", "__import__", "parse_expr", "literal_eval"}
UNPICKLES = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "shelve", "marshal", "yaml"}
LOADS = {("torch", "load"), ("np", "load"), ("numpy", "load"), ("pd", "read_pickle")}
ALLOWED = {
    (
        "derive/code/proofs/generated_module.py",
        "exec",
    ),  # the code that derive has just printed, or that stands in generated/
    ("derive/code/proofs/generated_module.py", "compile"),
    (
        "numeric/maths/kernels.py",
        "pickle",
    ),  # names an error of numba's, which keeps compiled kernels
    ("numeric/maths/disk_cache.py", "np.load"),  # with allow_pickle=False
    ("numeric/maths/array_files.py", "np.load"),  # with allow_pickle=False
}


def risks(tree):
    """Names of what could run data, as far as a module uses it."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in EVALUATES
        ):
            yield node.func.id
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            pair = node.func.value.id, node.func.attr
            if pair in LOADS:
                yield ".".join(pair)
        elif isinstance(node, ast.Import):
            yield from UNPICKLES & {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from UNPICKLES & {node.module.partition(".")[0]}
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert isinstance(node.value, ast.Constant) and node.value.value is False
        elif isinstance(node, ast.keyword) and node.arg == "shell":
            yield "shell"


@pytest.mark.parametrize("package", ["attention_erm", "derive", "generated", "numeric", "verify"])
def test_nothing_that_is_read_is_evaluated(package):
    paths = sorted((ROOT / package).rglob("*.py"))
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in paths
        for name in risks(ast.parse(path.read_text()))
    }
    assert found == {risk for risk in ALLOWED if risk[0].startswith(package)}


@pytest.mark.parametrize(
    "text",
    [
        "eval(x)",
        "import pickle",
        "from yaml import load",
        "np.load(x)",
        "torch.load(x)",
        "run(shell=True)",
    ],
)
def test_what_would_be_found(text):
    assert list(risks(ast.parse(text)))
