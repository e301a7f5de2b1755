"""Spectra of attention heads beside the laws of training, of initialisation, and of others.

Training shrinks and thresholds the singular values of a noisy estimate of a target
(docs/explanation/theory.md). Whether the heads of a network have such a spectrum is a question
that this module answers with a distance and a p-value for each law.
"""

import importlib.util
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.progress import progress
from numeric.maths.domain import require
from numeric.maths.replicates import p_value
from numeric.real.heads import Head
from numeric.real.rank_laws import (
    DRAWN_MATRICES,
    INITIALISATION,
    LOW_RANK_TARGET,
    MARCHENKO_PASTUR,
    POWER_LAW_TARGET,
    Fit,
    Size,
    interval,
    rank_law,
)

Array = NDArray[np.float64]
TAIL = "power-law tail"  #: name of a power law above some value
LAWS = (INITIALISATION, LOW_RANK_TARGET, POWER_LAW_TARGET, MARCHENKO_PASTUR, TAIL)
LEVEL = 0.05  #: p-value below which a law is rejected
_LEAST_RANK = 4
_EXPONENTS = (1.01, 1000.0)  # of power laws that are tried
_EDGE = 0.95  # share of random matrices without a value above the edge


@dataclass(frozen=True)
class HeadSpectrum:
    """Singular values of S = W_Q^T W_K of a head, and how near laws come to them.

    Attributes:
        layer: number of the layer, from 0 on.
        head: number of the head in its layer, from 0 on.
        source: name of the array with the query weights.
        dim: dimension d of S.
        values: nonzero singular values, descending, shape (m,).
        edge: value that the largest one of 95 % of random matrices with the same median is below.
        symmetric_share: tr S^2/tr S S^T: 1 if S is symmetric, -1 if antisymmetric, 0 if neither.
        fits: fit of each law of `LAWS`.
    """

    layer: int
    head: int
    source: str
    dim: int
    values: Array
    edge: float
    symmetric_share: float
    fits: tuple[Fit, ...]

    @property
    def outliers(self) -> int:
        """Number of singular values above the edge."""
        return int(np.sum(self.values > self.edge))

    @property
    def outlier_share(self) -> float:
        """Share of tr S S^T in the outliers."""
        squares = self.values**2
        return float(np.sum(squares[: self.outliers]) / np.sum(squares))

    @property
    def effective_rank(self) -> float:
        """Exponential of the entropy of the normalised singular values (Roy and Vetterli 2007)."""
        shares = self.values[self.values > 0] / np.sum(self.values)
        return float(np.exp(-np.sum(shares * np.log(shares))))

    @property
    def explanation(self) -> str | None:
        """Law that explains the values, None if all are rejected.

        Initialisation comes first: it has no free number but the scale. Of the others, the nearest
        one that is not rejected; a tail explains only a part of the values and does not count.
        """
        accepted = [one for one in self.fits if one.p_value >= LEVEL and one.law != TAIL]
        if any(one.law == INITIALISATION for one in accepted):
            return INITIALISATION
        return min(accepted, key=lambda one: one.distance).law if accepted else None

    def fit(self, law: str) -> Fit:
        """Return the fit of one law of `LAWS`."""
        return next(one for one in self.fits if one.law == law)


def head_spectra(heads: Sequence[Head]) -> list[HeadSpectrum]:
    """Return the spectra of heads with the fits of all laws.

    Args:
        heads: heads of one size.

    Raises:
        InvalidParameter: the heads differ in size, have a rank below 4, or weights without the full
            rank; or the package powerlaw is not installed.
    """
    _require_powerlaw()
    sizes = {Size(head.query.shape[1], head.query.shape[0]) for head in heads}
    if len(sizes) != 1:
        shown = ", ".join(f"{size.rank} x {size.dim}" for size in sorted(sizes)) or "no heads"
        rule = "must be of one size, as values are compared with matrices of that size"
        raise InvalidParameter("heads", shown, rule, "give their layers with --query and --key")
    (size,) = sizes
    rule = f"must have a rank of at least {_LEAST_RANK} to be compared with laws"
    require(size.rank >= _LEAST_RANK, "heads", f"of rank {size.rank}", rule, "use larger heads")
    triangles = [_triangles(head) for head in heads]
    values = np.array([scipy.linalg.svdvals(query @ key.T) for query, key in triangles])
    for head, own in zip(heads, values, strict=True):
        if not own[-1] > size.dim * np.finfo(np.float32).eps * own[0]:
            rule = f"has not the full rank {size.rank} of a head"
            shown = f"{head.source}, head {head.number}"
            raise InvalidParameter("tensor", shown, rule, "use trained or random weights")
    laws = [rank_law(name, size) for name in LAWS if name != TAIL]
    with threadpool_limits(1):  # threads cost more than they save for matrices of a head
        fits = [law.fits(values) for law in progress(laws, desc="laws")]
    random = laws[0].drawn
    ratio = float(np.quantile(random[:, 0] / np.median(random, axis=1), _EDGE))
    return [
        HeadSpectrum(
            head.layer,
            head.number,
            head.source,
            size.dim,
            own,
            ratio * float(np.median(own)),
            symmetric_share(head, own),
            (*(one[row] for one in fits), _tail(own)),
        )
        for row, (head, own) in enumerate(zip(heads, values, strict=True))
    ]


def _require_powerlaw() -> None:
    if importlib.util.find_spec("powerlaw") is None:
        rule = "needs the package powerlaw"
        raise InvalidParameter("law", TAIL, rule, "install attention-erm[real]")


def _triangles(head: Head) -> tuple[Array, Array]:
    """Triangles R_Q, R_K of the QR decompositions: S has the singular values of R_Q R_K^T."""
    query, key = (np.asarray(np.linalg.qr(one.T, mode="r")) for one in (head.query, head.key))
    return query, key


def symmetric_share(head: Head, values: Array) -> float:
    """Return tr S^2/tr S S^T.

    Args:
        head: the head.
        values: its singular values.
    """
    inner = head.key @ head.query.T
    return float(np.sum(inner * inner.T) / np.sum(values**2))


def _tail(values: Array) -> Fit:
    """Return the power law above some value that the package powerlaw finds (Clauset, Shalizi and
    Newman 2009), compared with independent numbers of this law.
    """
    import powerlaw  # slow import

    with warnings.catch_warnings():
        # The package warns of its own deprecated names, and of starts at the edge of the ranges.
        warnings.simplefilter("ignore")
        ranges = {"alpha": _EXPONENTS}
        found = powerlaw.Fit(values, parameter_ranges=ranges, verbose=False)
        least = float(found.power_law.xmin)
    if not values[-1] <= least <= values[0]:
        least = float(values[-1])  # none is found, as if all values are equal
    tail = values[values >= least]
    rng, count = np.random.default_rng(0), len(tail)
    gamma, distance = _tail_fits(tail[None] / least)
    drawn = rng.pareto(float(gamma[0]), (DRAWN_MATRICES, count)) + 1
    exponents, distances = _tail_fits(np.sort(drawn, axis=1)[:, ::-1])
    expected = np.full(len(values), np.nan)
    expected[:count] = least * ((np.arange(count) + 0.5) / count) ** (-1 / gamma[0])
    numbers = {"exponent": 1 + float(gamma[0]), "least": least, "share": count / len(values)}
    low, high = interval(1 + exponents)
    share_as_far = p_value(float(distance[0]), distances)
    return Fit(TAIL, numbers, {"exponent": (low, high)}, float(distance[0]), share_as_far, expected)


def _tail_fits(values: Array) -> tuple[Array, Array]:
    """Return exponents of the distribution function, and root mean square displacements.

    Args:
        values: over their least one, descending, shape (rows, count).
    """
    count = values.shape[1]
    gamma = count / np.maximum(np.sum(np.log(values), axis=1), np.finfo(float).tiny)
    above = count * values ** -gamma[:, None]
    return gamma, np.sqrt(np.mean((above - np.arange(count) - 0.5) ** 2, axis=1))
