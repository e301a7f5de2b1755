"""The tutorial: its file and its commands, as they stand in docs/howto/change_the_model.md, in a
copy of the tree.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "howto" / "change_the_model.md").read_text()
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
BLOCKS = [(language, body) for language, body in FENCE.findall(TEXT)]
NAME = "soft_threshold"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """What a user has: models and generated code that can be written to, and everything else as it
    is, compiled kernels too.
    """
    folder = tmp_path_factory.mktemp("tree")
    for package in ("derive", "generated"):
        shutil.copytree(
            ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    for package in ("attention_erm", "numeric", "verify"):
        (folder / package).symlink_to(ROOT / package)
    return folder


def run(line, tree):
    """Stdout of a command as it stands; it has to succeed."""
    program, *arguments = shlex.split(line)
    assert program == "python"
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{line}: {done.stderr}"
    return done.stdout


@pytest.mark.slow
def test_the_tutorial_leads_from_a_file_to_a_verdict(tree):
    said = {}
    for language, body in BLOCKS:
        if language == "python":
            (tree / "derive" / "models" / f"{NAME}.py").write_text(body)
        else:
            said |= {line: run(line, tree) for line in body.splitlines()}
    new, gen, check, diff, curve, verdict = said.values()
    assert f"{NAME}.py" in new and gen.startswith(f"{NAME}: float64.py")
    assert "proven equal to their source" in check
    said_alone = " ".join(diff.split())
    assert re.search(r"only in quadratic_network: [^:]*closed_envelope\.M,", said_alone)
    assert re.search(rf"only in {NAME}: [^:]*block1_loss,", said_alone)
    assert "interpolation_ratio" not in diff and "overlaps" not in diff
    *found, status = curve.splitlines()[-1].split()[1:]
    assert f"`{status}`" in TEXT
    printed = re.search(r"\| at alpha = 1 \| m \| .*\n.*\n\| \| (.*) \|", TEXT)
    for value, text in zip(found, printed[1].split(" | "), strict=False):
        assert abs(float(value) - float(text)) < 10.0 ** -(len(text) - text.index(".") - 1)
    assert verdict.count("; z ") == 5
    assert ("no theory" in verdict) == ("The line of the theory has a gap" in TEXT)


def test_the_tutorial_s_model_is_short():
    (source,) = (body for language, body in BLOCKS if language == "python")
    assert sum(bool(line.strip()) for line in source.splitlines()) <= 30


LABELS = (ROOT / "docs" / "tutorials" / "labels.md").read_text()


@pytest.mark.slow
def test_a_user_s_loss_and_labels_lead_from_a_file_to_a_verdict(tree):
    """The file of the tutorial, its curve as printed there, and training beside it."""
    blocks = FENCE.findall(LABELS)
    (source,) = (body for language, body in blocks if language == "python")
    (tree / "flipped_quantile.py").write_text(source)
    (lines,) = (body for _, body in blocks if "flipped_quantile.py" in body and "verify" in body)
    curve, verdict = (run(line, tree) for line in lines.splitlines())
    for row in curve.splitlines()[1:]:
        found = row.split()[1:6]
        printed = f"| {float(row.split()[0]):g} | {' | '.join(found)} |"
        assert printed in LABELS, printed
    assert verdict.count("; z ") == 14 and "DISAGREES" not in verdict
