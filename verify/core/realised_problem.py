"""The problem that a run really had after rounding and sampling, and the theory's values for it.

A deterministic target is given by its d eigenvalues. A Gaussian target has tr S0^2/d = q0 different
from that of its law. By the scaling symmetry of the model the theory solves a target s S0 exactly,
so it is evaluated at the target scale s, the square root of q0 divided by the q0 of the law.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from numeric.laws.covariance.aligned import AlignedCovariance
from numeric.laws.covariance.independent import IndependentCovariance
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.law import Target
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from numeric.problem.solution import VOCABULARY_ERROR
from verify.core.minimise import DescentStatus
from verify.core.run import Run
from verify.core.target import (
    TargetKind,
    covariance_eigenvalues,
    in_dimension,
    law_of_isotropic_target,
    rank_ratio,
    target_rank,
)

#: Quantities that are compared, of runs and of solutions alike.
COMPARED_QUANTITIES = ("m", "q", "train_error", "test_error")


def compared_quantities(problem: Problem) -> tuple[str, ...]:
    """Return the compared quantities of a problem, with a second test error if it has one."""
    return (*COMPARED_QUANTITIES, *((VOCABULARY_ERROR,) if problem.has_vocabulary else ()))


@dataclass(frozen=True)
class TheoryValues:
    """The theory's values of each quantity with absolute error estimates.

    `broken` states that replica symmetry is broken, so that the values are an approximation.
    """

    values: Mapping[str, float]
    errors: Mapping[str, float]
    broken: bool = False


Predictor = Callable[
    [Sequence[Problem]], list[TheoryValues]
]  #: answers in the order of the problems


class ScoredRun(Protocol):
    """Trained head as a score reads it: run (with the trained weight decay), q0, and each scored
    quantity by name.
    """

    @property
    def run(self) -> Run:
        """Return the run whose setting was trained."""

    @property
    def q0(self) -> float:
        """Return the second moment of the realised target."""


class TrainedHead(ScoredRun, Protocol):
    """Trained head with all of COMPARED_QUANTITIES and the status of its training."""

    @property
    def status(self) -> DescentStatus:
        """Return the status at the end of training."""

    @property
    def relative_gradient(self) -> float:
        """Return the relative gradient at the end of training."""


def nominal_problem(run: Run, dim: int) -> Problem:
    """Return the requested problem; a power law is stated in dimension `dim`, so that runs of all
    sizes share it.

    Args:
        run: the run.
        dim: dimension of the target.
    """
    return dataclasses.replace(run.problem, target=in_dimension(run.problem.target, dim))


def realised_problem(run: Run, q0: float) -> Problem:
    """Return the problem that the run really had: n/d^2, m/d and the target after rounding and
    sampling.

    Args:
        run: the run.
        q0: tr S0^2/d of its target.
    """
    return dataclasses.replace(
        run.problem,
        alpha=run.samples / run.dim**2,
        width=run.columns / run.dim,
        vocabulary=run.vocabulary_size / run.dim**2 or math.inf,
        target=_realised_target(run, q0),
    )


def _realised_target(run: Run, q0: float) -> Target:
    law = run.problem.target
    if isinstance(law, IndependentCovariance):  # the law at this size, at the scale of the target
        kappa0 = target_rank(run.dim, rank_ratio(law)) / run.dim
        sized = IndependentCovariance(
            MarchenkoPastur(kappa0), tuple(covariance_eigenvalues(law, run.dim))
        )
        law = MarchenkoPastur(kappa0, math.sqrt(q0 / sized.q0))
        return IndependentCovariance(law, *sized.exact_parameters)
    if run.target_kind is TargetKind.GAUSSIAN:
        kappa0 = target_rank(run.dim, rank_ratio(law)) / run.dim
        return MarchenkoPastur(kappa0, math.sqrt(q0 / MarchenkoPastur(kappa0).q0))
    if isinstance(law, Eigenvalues | AlignedCovariance):
        return law
    return Eigenvalues(tuple(run.target_eigenvalues().tolist()), (1 / run.dim,) * run.dim)


def expected_values(results: Iterable[ScoredRun], theory: Predictor) -> dict[Run, TheoryValues]:
    """Return the theory's values for each run at its realised problem.

    Gaussian targets have as many scales as runs. The theory is smooth in the scale, so a point with
    more than three scales is solved at the least, the middle and the greatest one, and interpolated
    by the parabola. Its error is of third order in a spread of a few percent.

    Args:
        results: trained heads.
        theory: solves problems.
    """
    wanted = {r.run: realised_problem(r.run, r.q0) for r in results}
    nodes = _scales_to_solve(wanted.values())
    problems = _at_scales(nodes)
    solved = dict(zip(problems, theory(problems), strict=True))
    return {run: _interpolate(p, nodes[_rescaled(p, 1.0)], solved) for run, p in wanted.items()}


def problems_to_solve(results: Iterable[TrainedHead]) -> list[Problem]:
    """Return the problems that `expected_values` needs."""
    return _at_scales(_scales_to_solve(realised_problem(r.run, r.q0) for r in results))


def _scales_to_solve(problems: Iterable[Problem]) -> dict[Problem, list[float]]:
    """Return the nodes in the scale for each problem of unit scale."""
    families: dict[Problem, set[float]] = {}
    for problem in problems:
        families.setdefault(_rescaled(problem, 1.0), set()).add(_scale(problem))
    return {family: _nodes(scales) for family, scales in families.items()}


def _at_scales(nodes: Mapping[Problem, list[float]]) -> list[Problem]:
    return [_rescaled(family, scale) for family, scales in nodes.items() for scale in scales]


def _scale(problem: Problem) -> float:
    law = law_of_isotropic_target(problem.target)
    return law.scale if isinstance(law, MarchenkoPastur) else 1.0


def _rescaled(problem: Problem, scale: float) -> Problem:
    """Return the problem at another scale of a Gaussian target; lists are unchanged."""
    target = problem.target
    if isinstance(target, IndependentCovariance):
        law = MarchenkoPastur(target.target.kappa0, scale)
        scaled: Target = IndependentCovariance(law, *target.exact_parameters)
    elif isinstance(target, MarchenkoPastur):
        scaled = dataclasses.replace(target, scale=scale)
    else:
        return problem
    return dataclasses.replace(problem, target=scaled)


def _nodes(scales: set[float]) -> list[float]:
    low, high = min(scales), max(scales)
    return sorted(scales) if len(scales) <= 3 else [low, (low + high) / 2, high]


def _interpolate(
    problem: Problem, nodes: list[float], solved: Mapping[Problem, TheoryValues]
) -> TheoryValues:
    scale = _scale(problem)
    weights = [
        math.prod((scale - b) / (a - b) for b in nodes if b != a) for a in nodes
    ]  # Lagrange: one at a node itself and zero at the others
    at_nodes = [solved[_rescaled(problem, node)] for node in nodes]
    return TheoryValues(
        {
            k: sum(w * p.values[k] for w, p in zip(weights, at_nodes, strict=True))
            for k in at_nodes[0].values
        },
        {k: max(p.errors[k] for p in at_nodes) for k in at_nodes[0].errors},
        any(p.broken for p in at_nodes),
    )
