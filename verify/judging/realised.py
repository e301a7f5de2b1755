"""Which problem a run really had, after rounding and sampling, and what the theory says of each run there.

A deterministic target is stated by its d eigenvalues. A Gaussian one has tr S0^2/d = q0, and by the scaling symmetry of the model the
theory knows a target s S0 exactly, so it is evaluated at target scale s, the root of q0 over that of the law.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Parametrisation
from verify.training.data import TargetKind, target_rank
from verify.training.minimise import Status
from verify.training.run import Run

QUANTITIES = ("m", "q", "train_error", "test_error")


@dataclass(frozen=True)
class Setting:
    """The parameters that the theory depends on.

    The target is target_scale times the Marchenko-Pastur one of `kappa0`, or the one named by `power_law` or `spikes`; where
    `eigenvalues` are stated, the list of these.
    """

    alpha: float
    kappa0: float | None
    width: float
    lambda_: float
    noise: float
    tokens: int
    beta: float
    beta0: float
    target_scale: float = 1.0
    parametrisation: Parametrisation = Parametrisation.FACTORISED
    power_law: float | None = None
    spikes: tuple[float, ...] = ()
    eigenvalues: tuple[float, ...] = ()


@dataclass(frozen=True)
class Prediction:
    """What the theory says of each quantity, and its own absolute error estimate."""

    values: Mapping[str, float]
    errors: Mapping[str, float]


Theory = Callable[[Sequence[Setting]], list[Prediction]]  #: predictions in the order of the settings


class Measured(Protocol):
    """What a comparison reads of a trained head: the run (with the weight decay trained at), q0, each of QUANTITIES."""

    @property
    def run(self) -> Run:
        """At which settings it was trained."""

    @property
    def q0(self) -> float:
        """Of its target."""

    @property
    def status(self) -> Status:
        """How training ended."""

    @property
    def relative_gradient(self) -> float:
        """At which it ended."""


def nominal_setting(run: Run) -> Setting:
    """Return the setting that was asked for, common to all sizes and seeds."""
    shared = {field.name: getattr(run, field.name) for field in dataclasses.fields(Setting) if hasattr(run, field.name)}
    return Setting(**shared)


def realised_setting(run: Run, q0: float) -> Setting:
    """Return the setting that the run really had: n/d^2, m/d and the target after rounding and sampling."""
    setting = dataclasses.replace(nominal_setting(run), alpha=run.samples / run.dim**2, width=run.columns / run.dim)
    if run.target is TargetKind.DETERMINISTIC or run.kappa0 is None:
        return dataclasses.replace(setting, eigenvalues=tuple(run.target_eigenvalues().tolist()))
    kappa0 = target_rank(run.dim, run.kappa0) / run.dim
    return dataclasses.replace(setting, kappa0=kappa0, target_scale=math.sqrt(q0 / MarchenkoPastur(kappa0).q0))


def predict(results: Iterable[Measured], theory: Theory) -> dict[Run, Prediction]:
    """Return the prediction for each run at its realised target.

    Gaussian targets have as many scales as runs. The theory is smooth in the scale, so where one point has more
    than three it is solved at the least, the middle and the greatest and interpolated by the parabola, whose error
    is of third order in a spread of a few percent.
    """
    wanted = {r.run: realised_setting(r.run, r.q0) for r in results}
    nodes = _nodes_of_families(wanted.values())
    settings = _at_nodes(nodes)
    solved = dict(zip(settings, theory(settings), strict=True))
    return {run: _interpolate(s, nodes[_without_scale(s)], solved) for run, s in wanted.items()}


def asked(results: Iterable[Measured]) -> list[Setting]:
    """Return the settings at which `predict` asks the theory."""
    return _at_nodes(_nodes_of_families(realised_setting(r.run, r.q0) for r in results))


def _nodes_of_families(settings: Iterable[Setting]) -> dict[Setting, list[float]]:
    """Target scales at which to solve, for each setting but for its scale."""
    families: dict[Setting, set[float]] = {}
    for setting in settings:
        families.setdefault(_without_scale(setting), set()).add(setting.target_scale)
    return {family: _nodes(scales) for family, scales in families.items()}


def _at_nodes(nodes: Mapping[Setting, list[float]]) -> list[Setting]:
    return [dataclasses.replace(family, target_scale=s) for family, scales in nodes.items() for s in scales]


def _without_scale(setting: Setting) -> Setting:
    return dataclasses.replace(setting, target_scale=1.0)


def _nodes(scales: set[float]) -> list[float]:
    low, high = min(scales), max(scales)
    return sorted(scales) if len(scales) <= 3 else [low, (low + high) / 2, high]


def _interpolate(setting: Setting, nodes: list[float], solved: Mapping[Setting, Prediction]) -> Prediction:
    weights = [
        math.prod((setting.target_scale - b) / (a - b) for b in nodes if b != a) for a in nodes
    ]  # Lagrange: one at a node itself and zero at the others
    at_nodes = [solved[dataclasses.replace(setting, target_scale=s)] for s in nodes]
    return Prediction(
        {k: sum(w * p.values[k] for w, p in zip(weights, at_nodes, strict=True)) for k in QUANTITIES},
        {k: max(p.errors[k] for p in at_nodes) for k in QUANTITIES},
    )
