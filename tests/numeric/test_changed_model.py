"""A model file that was changed and not generated from again: no command answers with the equations
of before.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BASE, OWN = "tied_attention", "elastic_attention"  #: a model, and one whose file imports it
THRESHOLD = (
    "numeric",
    "threshold",
    "interpolation",
    "--kappa0",
    "1/2",
    "--noise",
    "1",
    "--digits",
    "5",
)
OF_OWN = ("--model", OWN, "--settings", "mu=1/20")


@pytest.fixture
def tree(tmp_path):
    """Models that can be changed, everything else as it is."""
    shutil.copytree(
        ROOT / "derive", tmp_path / "derive", ignore=shutil.ignore_patterns("__pycache__")
    )
    for package in ("attention_erm", "generated", "numeric", "verify"):
        (tmp_path / package).symlink_to(ROOT / package)
    return tmp_path


def ran(tree, *arguments):
    """Exit code, stdout and lines on stderr of a command there."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr.splitlines()


def changed(tree, model, old, new):
    """The file of a model with this text replaced."""
    path = tree / "derive" / "models" / f"{model}.py"
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def test_words_change_nothing(tree):
    before = ran(tree, *THRESHOLD, *OF_OWN)
    changed(tree, OWN, "MODEL = replace(", "# A comment.\nMODEL = replace(")
    assert before[0] == 0 and ran(tree, *THRESHOLD, *OF_OWN) == before


def test_an_old_law_is_no_answer(tree):
    changed(tree, OWN, "quadratic=mu", "quadratic=2 * mu")
    line = (
        f"generated/{OWN}: was generated before derive/models/{OWN}.py changed; run python -m "
        f"derive gen {OWN}"
    )
    assert ran(tree, *THRESHOLD, *OF_OWN) == (2, "", [line])
    assert ran(tree, *THRESHOLD)[0] == 0
    code, out, _ = ran(tree, "numeric", "doctor")
    assert code == 1 and line in out.splitlines()


def test_a_file_that_it_imports_counts_too(tree):
    changed(tree, BASE, "MODEL = Model(", "ONE = 1\nMODEL = Model(")
    for model in ((), OF_OWN):
        code, out, (line,) = ran(tree, *THRESHOLD, *model)
        assert (code, out) == (2, "") and f"derive/models/{BASE}.py changed" in line


@pytest.mark.slow
def test_nothing_is_trained_beside_an_old_law(tree):
    changed(tree, BASE, "MODEL = Model(", "ONE = 1\nMODEL = Model(")
    code, out, (line,) = ran(
        tree, "verify", "curve", "--alpha", "1", "--dim", "10", "--runs", "2", "--noise", "1"
    )
    assert (code, out) == (2, "") and f"run python -m derive gen {BASE}" in line


@pytest.mark.slow
def test_a_refused_training_leaves_no_folder(tree):
    changed(tree, OWN, "quadratic=mu", "quadratic=2 * mu")
    setting = ("--alpha", "1", "--dim", "10,12", "--runs", "2", "--out", "pages")
    code, out, (line,) = ran(tree, "verify", "models", *OF_OWN, *setting)
    assert (code, out) == (2, "") and f"run python -m derive gen {OWN}" in line
    assert not (tree / "pages").exists()


def test_a_file_that_is_no_python_is_another(tree):
    changed(tree, OWN, "MODEL = replace(", "MODEL = replace((")
    code, out, (line,) = ran(tree, *THRESHOLD, *OF_OWN)
    assert (code, out) == (2, "") and f"before derive/models/{OWN}.py" in line


EVERYTHING = """
from importlib import import_module

import numeric.model
from docs.development.architecture import MODULES

numeric.model.DEFAULT = "label_noise_attention"
own = ("numeric.channel.softmax", "numeric.channel.softmax_rules")
for name in MODULES:
    if name.startswith(("numeric", "verify")) and not name.startswith(own):
        import_module(name)
"""


def test_only_what_averages_over_tied_softmax_rows_needs_their_equations():
    """A model file of another loss than the square one derives none of these: every command ended
    in an AttributeError.
    """
    command, environment = (
        [sys.executable, "-c", EVERYTHING],
        {**os.environ, "PYTHONPATH": str(ROOT)},
    )
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
def test_another_loss_in_the_file_of_the_first_model(tree):
    """Twice the square loss is the model of half the decay, whose errors are twice as large."""
    (tree / "generated").unlink()
    shutil.copytree(ROOT / "generated", tree / "generated")
    point = (
        "numeric",
        "curve",
        "--alpha",
        "1",
        "--kappa0",
        "1/2",
        "--noise",
        "1/2",
        "--json",
        "--lambda",
    )
    _, plain, _ = ran(tree, *point, "1/10")
    changed(
        tree,
        BASE,
        "row_softmax, square_loss, beta",
        "row_softmax, lambda o, y: 2 * square_loss(o, y), beta",
    )
    assert ran(tree, "derive", "gen", BASE, "--reason", "twice the loss")[0] == 0
    assert (
        ran(tree, "numeric", "doctor")[1].count("run python -m derive gen") > 1
    )  # models whose files import it
    _, twice, _ = ran(tree, *point, "1/5")
    one, other = (json.loads(text)["points"][0] for text in (plain, twice))
    for name, factor in (("m", 1), ("q", 1), ("train_error", 2), ("test_error", 2)):
        error = factor * one["errors"][name] + other["errors"][name]
        assert abs(other[name] - factor * one[name]) <= error, name
    refused = "--tokens 3: is not a setting of the model tied_attention; leave it at 2"
    assert ran(tree, *point, "1/5", "--tokens", "3") == (2, "", [refused])
    code, _, (line,) = ran(
        tree, "verify", "curve", "--alpha", "1", "--dim", "10", "--runs", "2", "--noise", "1"
    )
    assert code == 2 and "its file states another loss than heads are trained with" in line
