"""Models of one's own files, outside the package: from the file to numbers, in every process."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attention_erm import MarchenkoPastur, Problem, recovery, solve
from attention_erm.runtime.digests import PACKAGES
from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.model_files import file_of

ROOT = Path(__file__).parents[2]
STATED = {"alpha": 1, "target": MarchenkoPastur(0.5), "lambda_": 0.05, "noise": 0.5}
FILE = '''"""A copy of the quadratic network."""

from dataclasses import replace

from derive.models.quadratic_network import MODEL as BASE

MODEL = replace(BASE, name="own_network", title="Own network")
'''


@pytest.fixture(scope="module")
def own(own_models):
    """A model file, with its equations generated into a cache."""
    file = own_models / "own_network.py"
    file.write_text(FILE)
    Problem(**STATED, model=file)
    return file


def test_a_file_is_a_model_with_the_numbers_of_its_equations(own):
    found, known = (
        solve(Problem(**STATED, model=model)) for model in (str(own), "quadratic_network")
    )
    assert found.problem.model == "own_network"
    for name in ("m", "q", "train_error", "test_error"):
        assert getattr(found, name) == pytest.approx(getattr(known, name), rel=1e-12)
    values = [
        recovery(MarchenkoPastur(0.5), model=one, digits=12).value
        for one in (own, "quadratic_network")
    ]
    assert values[0] == values[1]
    assert not (own.parent / "generated").exists()


def test_another_process_knows_the_model_of_a_problem(own):
    stored = pickle.dumps(Problem(**STATED, model=own))
    program = (
        "import pickle, sys; from attention_erm import solve; "
        "print(solve(pickle.loads(sys.stdin.buffer.read())).test_error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=stored,
        capture_output=True,
        cwd=own.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert float(done.stdout) == solve(Problem(**STATED, model=own)).test_error


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("tied_attention.py", FILE, "a model of the package has this name; rename the file"),
        ("nothing.py", None, "there is no such file"),
        ("no_model.py", "MODEL = 3\n", "MODEL: has type int; it must be a Model"),
        ("my-model.py", FILE, "must be a Python name"),
        ("other_name.py", FILE, "must equal the name of the file"),
        ("half.py", "MODEL = (\n", "not Python"),
    ],
)
def test_a_file_that_is_no_model_is_refused_in_one_line(name, text, said, own, tmp_path):
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    with pytest.raises(InvalidParameter, match="model = ") as caught:
        Problem(**STATED, model=file)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_model_is_given_by_a_path_a_text_or_a_module():
    assert file_of("a/b.py") == file_of(Path("a/b.py")) == Path("a/b.py")
    assert file_of(json) == Path(json.__file__)
    assert file_of("quadratic_network") is None


@pytest.mark.slow
def test_an_installation_takes_a_model_file_from_file_to_verdict(tmp_path):
    """As a user has it: the package installed, not editable, and a file in a folder of one's
    own.
    """
    site, work = tmp_path / "site", tmp_path / "work"
    work.mkdir()
    (work / "own_network.py").write_text(FILE)
    sources = tmp_path / "sources"  # pip leaves its build beside them
    for package in PACKAGES:
        shutil.copytree(ROOT / package, sources / package)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, sources)
    install = ["install", "-q", "--no-deps", "--target", str(site), str(sources)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True, capture_output=True)
    environment = {
        **os.environ,
        "PYTHONPATH": str(site),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }

    def said(*words, code=0):
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=work,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    curve = "curve --model own_network.py --alpha .5,1 --kappa0 .5 --lambda .05 --noise .5 --json"
    points = json.loads(said("numeric", *curve.split()))["points"]
    assert [point["status"] for point in points] == ["converged", "converged"]
    assert "own_network:" in said("derive", "gen", "own_network.py")
    assert "equations proven equal to their source" in said("derive", "check", "own_network.py")
    assert json.loads(said("numeric", *curve.split()))["points"] == points
    train = "models --model own_network.py --alpha 1 --dim 20,30 --runs 4 --lambda .1 --noise .5"
    assert "test_error: theory" in said("verify", *train.split(), "--out", "out", "--workers", "2")
