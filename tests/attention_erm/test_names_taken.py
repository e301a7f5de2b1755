"""A user's own verify.py, derive.py, generated.py or numeric.py where one works."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(sys.executable).parent
QUESTION = ["threshold", "recovery", "--kappa0", "1/2", "--digits", "8"]
ANSWER = "0.21108749\n"


@pytest.fixture
def folder(tmp_path):
    """Where files of these names stand that end whatever takes them for ours."""

    def holding(*names):
        for name in names:
            (tmp_path / f"{name}.py").write_text(f'raise SystemExit("{name}.py is the user\'s own")\n')
        return tmp_path

    return holding


def ran(folder, *command):
    """Exit code, stdout, stderr."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("taken", "command"),
    [
        (("verify",), [sys.executable, "-m", "numeric"]),
        (("verify", "derive", "generated"), [sys.executable, "-m", "numeric"]),
        (("verify", "derive", "generated", "numeric"), [PROGRAMS / "attention-numeric"]),
        (("verify", "derive", "generated", "numeric"), [sys.executable, "-P", "-m", "numeric"]),
    ],
    ids=str,
)
def test_a_command_of_numeric_does_not_take_them(folder, taken, command):
    assert ran(folder(*taken), *command, *QUESTION) == (0, ANSWER, "")


@pytest.mark.parametrize("program", ["derive", pytest.param("verify", marks=pytest.mark.slow)])
def test_nor_do_the_other_programs(folder, program):
    others = {"derive", "numeric", "verify", "generated"} - {program}
    code, out, _ = ran(folder(*others), sys.executable, "-m", program, "--help")
    assert code == 0 and out.startswith(f"usage: python -m {program}")


@pytest.mark.slow
def test_workers_of_a_command_do_not_take_them(folder):
    """A sweep's processes start from the path of the command."""
    where = folder("verify", "generated")
    (where / "study.toml").write_text(
        'kappa0 = "1/2"\nlambda = "1/20"\nnoise = "1/2"\n[product]\nalpha = ["1/2", "1"]\nwidth = ["1", "2"]\n'
    )
    code, out, err = ran(where, sys.executable, "-m", "numeric", "sweep", "study.toml", "--workers", "2", "--json")
    assert code == 0, err
    assert '"converged": 4' in out


SCRIPT = """
import {own}
from attention_erm import MarchenkoPastur, recovery

print(recovery(MarchenkoPastur(0.5), digits=8).value)
print({own}.WHOSE)
"""


def test_a_script_imports_its_own_verify_beside_us(tmp_path):
    (tmp_path / "verify.py").write_text('WHOSE = "the user\'s"\n')
    (tmp_path / "study.py").write_text(SCRIPT.format(own="verify"))
    assert ran(tmp_path, sys.executable, "study.py") == (0, f"{ANSWER}the user's\n", "")


@pytest.mark.parametrize("name", ["numeric", "generated"])
def test_a_script_whose_file_takes_a_name_that_we_need_is_told_so(tmp_path, name):
    (tmp_path / f"{name}.py").write_text('WHOSE = "the user\'s"\n')
    (tmp_path / "study.py").write_text(SCRIPT.format(own=name))
    code, out, err = ran(tmp_path, sys.executable, "study.py")
    assert (code, out) == (1, "")
    line = err.splitlines()[-1]
    assert line.startswith(f"ImportError: import {name} finds {tmp_path / name}.py in place of ") and "rename" in line
