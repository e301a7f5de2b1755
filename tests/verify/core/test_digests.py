"""The digest under which results are stored covers every module whose code runs to make them, and
the libraries.
"""

import sys
from fractions import Fraction
from pathlib import Path

import pytest

from attention_erm.runtime.digests import PACKAGES, code_digest, reachable_code
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import power_law
from numeric.messages.stages import FirstMessage
from numeric.model import packages, theory_modules
from numeric.problem.problem import Problem
from numeric.sweeps import theory
from verify.core.cross_validation import DecaySearch, choose
from verify.core.measure import execute
from verify.core.run import Run
from verify.core.theory_lines import TheoryLine, solve_line
from verify.studies.exponents.measure import train_student
from verify.studies.exponents.run import StudentRun
from verify.studies.message_passing.trajectory import Messages, follow_messages
from verify.studies.thresholds.vanishing_decay import NestedRun, train_at_vanishing_decay
from verify.sweeps import training

ROOT = Path(__file__).parents[3]
PROBLEM = Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.5)
OTHER = Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.5, model="quadratic_network")
TINY = Run(PROBLEM, dim=6)
KINDS = {
    "run": (execute, TINY),
    "run of a general map": (execute, TINY.varied(parametrisation="general")),
    "run of a power law": (
        execute,
        TINY.varied(target=power_law(0.75, 6), tokens=3, data="gaussian-equivalent"),
    ),
    "choice of the decay": (choose, DecaySearch(TINY, (0.1, 0.2, 0.4), 2)),
    "vanishing decay": (train_at_vanishing_decay, NestedRun(TINY, (1.0, 0.5))),
    "narrow student": (train_student, StudentRun(Fraction(3, 4), 100, (200,), 1.0, 2, 0.5)),
    "messages": (
        lambda run: follow_messages(run, Messages(True, FirstMessage.MEAN, 1)),
        TINY.varied(dim=12),
    ),
    "theory line": (solve_line, TheoryLine(PROBLEM, (1.0,), 1e-3)),
    "theory line of another model": (solve_line, TheoryLine(OTHER, (1.0,), 1e-3)),
}
MODULES = {"messages": follow_messages.__module__}


def executed(work, *arguments):
    """Modules of ours with functions that run, compiled kernels apart."""
    files = set()
    sys.setprofile(lambda frame, *_: files.add(frame.f_code.co_filename))
    try:
        work(*arguments)
    finally:
        sys.setprofile(None)
    paths = (Path(file).relative_to(ROOT) for file in files if Path(file).is_relative_to(ROOT))
    return {".".join(path.with_suffix("").parts) for path in paths if path.parts[0] in PACKAGES}


@pytest.mark.parametrize("kind", KINDS)
def test_all_code_that_runs_is_in_the_protocol_of_a_result(kind):
    work, run = KINDS[kind]
    problem = getattr(run, "problem", None)
    models = [problem.model] if isinstance(problem, Problem) else []
    covered = reachable_code((MODULES.get(kind, work.__module__), *packages(models)))
    assert executed(work, run) <= covered.keys()
    assert "numpy" in covered


@pytest.mark.parametrize("problem", [pytest.param(PROBLEM, marks=pytest.mark.slow), OTHER])
def test_all_code_that_runs_is_in_the_digest_of_a_sweep(problem):
    names = (theory.__name__, *theory_modules([problem.model]))
    covered = reachable_code(names).keys()
    assert executed(theory.solve_block, (problem,), "", (1,)) <= covered
    assert "torch" not in covered  # theory works where torch is not installed
    names = (training.__name__, *packages())
    assert executed(training.train_block, (TINY,), (1,)) <= reachable_code(names).keys()
    assert "torch" in reachable_code(names)


def test_another_model_changes_no_digest_of_this_one():
    names = packages(["quadratic_network"])
    assert "generated.quadratic_network.structure" in reachable_code(names)
    assert not any(name.startswith("generated.cross_attention") for name in reachable_code(names))
    assert (
        len(
            {
                code_digest(*packages()),
                code_digest(*names),
                code_digest(*packages(["cross_attention"])),
            }
        )
        == 3
    )
