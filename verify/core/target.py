"""Target of a run: drawn from a law of its eigenvalues, and stored as JSON.

S0 is d x d, symmetric and positive. A law is MarchenkoPastur, PowerLaw in dimension d, or any list
of d eigenvalues.
"""

from __future__ import annotations

import enum
import math
from dataclasses import replace
from typing import Any

import numpy as np

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.covariance.aligned import AlignedCovariance
from numeric.laws.covariance.independent import IndependentCovariance
from numeric.laws.covariance.power_law import PowerLawCovariance
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.law import Target
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import PowerLaw, power_law
from numeric.laws.target_spectrum import target_quantile_means


class TargetKind(enum.StrEnum):
    """Eigenvalues of the target: those of a random factor, or the means of the law over d equal
    masses.
    """

    GAUSSIAN = "gaussian"
    DETERMINISTIC = "deterministic"


def law_of_isotropic_target(law: Target) -> Target:
    """Return the law of S0 itself, also of tokens with a covariance that is independent of it."""
    return law.target if isinstance(law, IndependentCovariance) else law


def rank_ratio(law: Target) -> float:
    """Return kappa0 of a Marchenko-Pastur target, also of tokens with a covariance.

    Raises InvalidParameter for any other.
    """
    law = law_of_isotropic_target(law)
    if not isinstance(law, MarchenkoPastur):
        raise InvalidParameter(
            "target", law, "is not a Marchenko-Pastur law and has no rank ratio", "state kappa0"
        )
    return law.kappa0


def target_rank(dim: int, kappa0: float) -> int:
    """Return m0 = kappa0 d, the columns of a Gaussian target's W0, rounded, at least one.

    Args:
        dim: d.
        kappa0: rank ratio.
    """
    return max(1, round(kappa0 * dim))


def gaussian_target(dim: int, kappa0: float, rng: np.random.Generator) -> np.ndarray:
    """Return S0 = W0 W0^T / sqrt(m0 d), shape (d, d). tr S0^2/d fluctuates by several percent at d
    = 100.

    Args:
        dim: d.
        kappa0: rank ratio.
        rng: source of W0.
    """
    rank = target_rank(dim, kappa0)
    factor = rng.standard_normal((dim, rank))
    return factor @ factor.T / math.sqrt(rank * dim)


def rotated_target(eigenvalues: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return S0 = O diag(s) O^T with Haar-distributed O, shape (d, d).

    Args:
        eigenvalues: s, shape (d,).
        rng: source of O.
    """
    rotation = haar_rotation(len(eigenvalues), rng)
    return (rotation * eigenvalues) @ rotation.T


def haar_rotation(dim: int, rng: np.random.Generator) -> np.ndarray:
    """Return a Haar-distributed orthogonal matrix, shape (d, d).

    Args:
        dim: d.
        rng: source of the matrix.
    """
    q, r = np.linalg.qr(rng.standard_normal((dim, dim)))
    # the signs of QR are arbitrary; without this the law would depend on them
    return q * np.sign(np.diag(r))


def deterministic_eigenvalues(law: Target, dim: int) -> np.ndarray:
    """Return the d eigenvalues of a deterministic target, decreasing, shape (d,).

    Args:
        law: law of the target, or a list of d eigenvalues.
        dim: d.

    Raises:
        InvalidParameter: a list does not have d eigenvalues.
    """
    if isinstance(law, AlignedCovariance):
        covariance_eigenvalues(law, dim)  # checks the dimension
        return np.array(law.eigenvalues)
    if not isinstance(law, Eigenvalues):
        return target_quantile_means(rank_ratio(law), dim)
    values, weights = law.arrays
    counts = np.round(weights * dim)
    if not np.allclose(weights * dim, counts, rtol=0, atol=1e-6) or counts.sum() != dim:
        raise InvalidParameter(
            "target", law, f"is not a list of dim = {dim} eigenvalues", "give each the weight 1/dim"
        )
    return np.repeat(values, counts.astype(int))[::-1]


def covariance_eigenvalues(law: Target, dim: int) -> np.ndarray:
    """Return the d eigenvalues of the covariance of the tokens, shape (d,); none if isotropic.

    Those of a law of C are its means over d equal masses, decreasing. They are scaled to mean 1.

    Args:
        law: law of the target.
        dim: d.

    Raises:
        InvalidParameter: eigenvalues on common eigenvectors are not d.
    """
    if isinstance(law, AlignedCovariance):
        if len(law.covariance) != dim or len(set(law.weights)) != 1:
            rule = f"is not a list of dim = {dim} eigenvalues of equal weight"
            raise InvalidParameter("target", law, rule, "list one direction each")
        return np.array(law.covariance)
    if not isinstance(law, IndependentCovariance):
        return np.zeros(0)
    order = np.argsort(law.covariance)[::-1]
    c, w = np.array(law.covariance)[order], np.array(law.weights)[order]
    mass, trace = (np.concatenate([[0.0], np.cumsum(x)]) for x in (w, w * c))
    means = dim * np.diff(np.interp(np.arange(dim + 1) / dim, mass / mass[-1], trace))
    return means / means.mean()


def in_dimension(law: Target, dim: int) -> Target:
    """Return the law of the same target in another dimension; a list other than a power law is
    unchanged.

    Args:
        law: law of the target.
        dim: new dimension.
    """
    if isinstance(law, PowerLaw):
        return power_law(law.gamma, dim, law.second_moment, law.per_octave)
    return replace(law, dim=dim) if isinstance(law, PowerLawCovariance) else law


def target_record(law: Target, dim: int) -> dict[str, Any]:
    """Return the law as JSON values: `kappa0`, `power_law` (gamma, at tr S0^2/d = 1), or `spikes`
    (the others are 0); and `covariance`, the eigenvalues of that of the tokens, if they have one.

    Args:
        law: law of the target.
        dim: d.
    """
    covariance = covariance_eigenvalues(law, dim).tolist()
    law = law_of_isotropic_target(law)
    kappa0 = law.kappa0 if isinstance(law, MarchenkoPastur) else None
    gamma = law.gamma if isinstance(law, PowerLaw) else None
    spikes: list[float] = []
    if kappa0 is None and gamma is None:
        eigenvalues = deterministic_eigenvalues(law, dim)
        spikes = eigenvalues[eigenvalues > 0].tolist()
    stated = {"covariance": covariance} if covariance else {}  # keeps the keys of isotropic runs
    return {"kappa0": kappa0, "power_law": gamma, "spikes": spikes, **stated}
