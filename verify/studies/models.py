"""Any model trained on Gaussian-equivalent data beside its theory: overlaps, errors and the least risk, extrapolated in d."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from numeric.laws.law import Target
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.rational_target import RationalTarget
from numeric.laws.target_spectrum import target_quantile_means
from numeric.model import structure
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
from verify.jobs.pool import Job, Pool
from verify.judging.scores import BAND, SizeGroup, extrapolated
from verify.sensing.risk import SensedRisk
from verify.sensing.samples import deviations, evaluated, labels_of, sensed_labels
from verify.sensing.shape import Shape
from verify.training.minimise import DescentStatus, Lbfgs
from verify.training.target import haar_rotation

_JUDGED = ("m", "q", "train_error", "test_error", "free_entropy")
_FRESH = 100_000


@dataclass(frozen=True)
class ModelScore:
    """One quantity of one model at one setting: theory, trained mean at each size with its standard error, extrapolated residual."""

    problem: Problem
    quantity: str
    theory: float
    means: tuple[float, ...]
    errors: tuple[float, ...]
    residual: float
    standard_error: float
    z: float

    @property
    def agrees(self) -> bool:
        """Whether |z| < BAND."""
        return abs(self.z) < BAND


def default_target(model: str, kappa0: float, positive: float = 0.5) -> Target:
    """The target law of a model at this rank ratio, of unit scale; `positive` is the share of positive jumps where it has both."""
    if not structure(model)["negative_eigenvalues"]:
        return MarchenkoPastur(kappa0)
    return RationalTarget.of(model, kappa0=kappa0, positive=positive, scale=1.0)


def trained(problem: Problem, dim: int, index: int) -> dict[str, float]:
    """What one run measures.

    Raises:
        RuntimeError: the descent did not converge.
    """
    rng = np.random.default_rng([dim, index, round(1e6 * problem.alpha), round(1e6 * problem.lambda_)])
    shape_of = structure(problem.model)
    kind, count = shape_of["matrix"], len(shape_of["variances"])
    shape = Shape(kind, shape_of["threshold"], dim, max(1, round(problem.width * dim)))
    s0, samples = _drawn_target(problem, dim, rng), round(problem.alpha * dim**2)
    size = dim**2 if kind == "general" else dim * (dim + 1) // 2
    sensing = torch.as_tensor(rng.standard_normal((count, samples, size)))
    risk = SensedRisk(problem, shape, sensing, sensed_labels(s0, sensing, problem, rng))
    start = torch.as_tensor(rng.standard_normal((dim, shape.columns)))
    found = Lbfgs(proximal_steps=0).minimise(risk, start)  # type: ignore[arg-type]  # what it asks of a risk is all here
    if found.status is not DescentStatus.CONVERGED:
        raise RuntimeError(f"{problem.model} at dim {dim}, run {index}: {found.status.value}")
    s = shape.matrix(torch.as_tensor(found.weights))
    m, q = (float((s * other).sum()) / dim for other in (s0, s))
    q0 = float(s0.square().sum()) / dim
    return {
        "m": m,
        "q": q,
        "train_error": float(risk.losses(risk.indices(s)).mean()),
        "test_error": _test_error(problem, m, q, q0, rng),
        "free_entropy": found.loss,
    }


def _test_error(problem: Problem, m: float, q: float, q0: float, rng: np.random.Generator) -> float:
    """Mean loss of fresh samples, whose indices are jointly Gaussian."""
    along, independent = torch.as_tensor(rng.standard_normal((2, len(deviations(problem)), _FRESH)))
    spread = deviations(problem)[:, None]
    h0 = math.sqrt(q0) * spread * along
    h = spread * (m / math.sqrt(q0) * along + math.sqrt(max(q - m**2 / q0, 0.0)) * independent)
    labels = labels_of(h0, problem, rng)
    return float(evaluated("index_loss", (*h, *labels.T), problem).mean())


def _drawn_target(problem: Problem, dim: int, rng: np.random.Generator) -> torch.Tensor:
    """S0 with the eigenvalues (singular values) of its law, in random directions."""
    rotation = haar_rotation(dim, rng)
    if structure(problem.model)["matrix"] == "general":
        # The law is symmetric: its positive half holds every singular value twice.
        values = np.sort(np.abs(quantiles(problem.target, 2 * dim)))[::-2]
        return torch.as_tensor((rotation * values) @ haar_rotation(dim, rng).T)
    if isinstance(problem.target, MarchenkoPastur):
        values = target_quantile_means(problem.target.kappa0, dim)
    else:
        values = quantiles(problem.target, dim)
    return torch.as_tensor((rotation * values) @ rotation.T)


def quantiles(target: Target, dim: int) -> np.ndarray:
    """Eigenvalues at the middles of d equal masses of the target's law, scaled to its second moment."""
    noise = 1e-9  # a semicircle that narrow stands for the zero eigenvalues, at which the law itself has no density
    support = target.support(noise)
    grid = np.linspace(support[0][0], support[-1][1], 4001)[1:-1]
    above = np.array([target.mass_above(noise, x) for x in grid])
    values = np.interp((np.arange(dim) + 0.5) / dim, 1 - above, grid)
    return values * math.sqrt(target.q0 / np.mean(values**2))


def study_model(problem: Problem, dims: Sequence[int], runs: int, pool: Pool) -> Iterator[ModelScore]:
    """Train `runs` heads at each size and judge their means extrapolated to infinite d.

    Raises NotConverged where the theory is not solved, WorkerError where a descent did not converge.
    """
    theory = solve(problem).unwrap()
    measured = pool.results([_job(problem, dim, index) for dim in dims for index in range(runs)])
    for name in _JUDGED:
        values = np.array([run[name] for run in measured]).reshape(len(dims), runs)
        expected = getattr(theory, name)
        groups = [_group(dim, of_size, expected) for dim, of_size in zip(dims, values, strict=True)]
        means, errors = (tuple(getattr(g, part) for g in groups) for part in ("simulation", "standard_error"))
        residual, error, _, z = extrapolated(groups, theory.errors[name])
        yield ModelScore(problem, name, expected, means, errors, residual, error, z)


def _group(dim: int, values: np.ndarray, theory: float) -> SizeGroup:
    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
    return SizeGroup(dim, len(values), mean, theory, mean - theory, error)


def _job(problem: Problem, dim: int, index: int) -> Job:
    evaluations = 300  # of the risk, each a product with all sensing matrices
    cost = 1e-10 * len(deviations(problem)) * problem.alpha * dim**4 * evaluations
    return Job(trained, (problem, dim, index), "training", cost, f"{problem.model} dim {dim} index {index}")
