"""Rules that average over softmax rows of the scores of tied tokens.

Two tokens are integrated by a deterministic rule in four dimensions (pair_average); more, a general matrix, and labels too sharp
for it by randomised quasi-Monte Carlo (sequence_average).
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from numeric.channel.averages import Averages, one_replicate, require_pair
from numeric.channel.softmax import fitted_pair_average as fitted
from numeric.channel.softmax.label_losses import PairLosses, RowLosses
from numeric.channel.softmax.pair_average import COARSE, Resolution, average, unlearned
from numeric.channel.softmax.pair_minimiser import Setting, single_well
from numeric.channel.softmax.sequence_average import sample_means, several_minima, unlearned_means
from numeric.maths.sobol import Sampling
from numeric.model import float64 as generated
from numeric.problem.fields import Fields, split
from numeric.problem.labels import Labels
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Parametrisation, Problem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class QuadratureRule:
    """Deterministic rule for two tokens and a symmetric map."""

    resolution: Resolution = COARSE
    independent: bool = field(default=False, init=False)
    roughness: float = field(default=1e-5, init=False)
    accuracy: float = field(default=1e-4, init=False)
    refinements: int = field(default=3, init=False)
    extra_refinements: int = field(default=2, init=False)
    error_reduction: float = field(default=4.0, init=False)

    def average(self, overlaps: Overlaps, problem: Problem) -> Averages:
        """One replicate."""
        seen = (overlaps.m, overlaps.q, overlaps.V, problem.rho)
        require_pair(*seen)
        return one_replicate(*average(*seen, problem.beta, problem.beta0, self.resolution))

    def unlearned(self, problem: Problem) -> Averages:
        """One replicate."""
        return one_replicate(*unlearned(problem.rho, problem.beta, problem.beta0, self.resolution))

    def refined(self) -> "QuadratureRule":
        """One and a half times the nodes."""
        return QuadratureRule(self.resolution.refined())


@dataclass(frozen=True)
class FittedRule:
    """Deterministic rule for two tokens and a symmetric map, each sample at the minimum connected to its label."""

    resolution: fitted.Resolution = fitted.COARSE
    convex: QuadratureRule = QuadratureRule()
    independent: bool = field(default=False, init=False)
    roughness: float = field(default=3e-4, init=False)
    accuracy: float = field(default=5e-3, init=False)
    refinements: int = field(default=3, init=False)
    extra_refinements: int = field(default=2, init=False)
    error_reduction: float = field(default=4.0, init=False)

    def average(self, overlaps: Overlaps, problem: Problem) -> Averages:
        """One replicate; where no sample has a second minimum, by the rule that is finer for those."""
        m, q, V = overlaps.m, overlaps.q, overlaps.V
        if single_well(Setting(V, problem.beta, problem.beta0)):
            return self.convex.average(overlaps, problem)
        found, rho = self._along_rays(overlaps, problem), problem.rho
        derivatives = generated.channel_derivatives(
            m, q, V, rho, found.train, V**2 * found.dual, found.F1, found.F2
        )
        return one_replicate(*map(float, derivatives), found.train, found.test)

    def unlearned(self, problem: Problem) -> Averages:
        """One replicate."""
        return self.convex.unlearned(problem)

    def response(self, overlaps: Overlaps, problem: Problem) -> float:
        """Mean square response of the dual field."""
        return self._along_rays(overlaps, problem).response

    def _along_rays(self, overlaps: Overlaps, problem: Problem) -> fitted.FittedAverages:
        m, q, V, rho = overlaps.m, overlaps.q, overlaps.V, problem.rho
        require_pair(m, q, V, rho)
        return fitted.fitted_average(m, q, V, rho, problem.beta, problem.beta0, self.resolution)

    def refined(self) -> "FittedRule":
        """One and a half times the nodes."""
        return FittedRule(self.resolution.refined(), self.convex.refined())


@dataclass(frozen=True)
class SampledRule:
    """Randomised quasi-Monte Carlo for any number of tokens."""

    sampling: Sampling
    independent: bool = field(default=True, init=False)
    roughness: float = field(default=1e-3, init=False)
    accuracy: float = field(default=5e-3, init=False)
    refinements: int = 3
    extra_refinements: int = field(default=0, init=False)
    error_reduction: float = field(default=4.0, init=False)

    def average(self, overlaps: Overlaps, problem: Problem) -> Averages:
        """One value per scrambling."""
        V, q_odd, V_odd = overlaps.V, overlaps.q_antisymmetric, overlaps.V_antisymmetric
        parts = split(overlaps, problem)
        m, q, rho = parts.m, parts.q, parts.rho
        require_pair(m, q, V, rho)
        fields = parts.fields(q_odd)
        means = sample_means(
            *(fields, V, V_odd, problem.beta, problem.beta0, problem.tokens, self.sampling),
            fitted=problem.follows_label,
        )
        M, dM_dm, dM_dq, dM_dV = generated.channel_derivatives(
            m, q, V, rho, means.train, means.R, means.F1, means.F2
        )
        nothing = np.zeros_like(means.train)
        M_odd, dM_dq_odd, dM_dV_odd = nothing, nothing, nothing
        if V_odd > 0:
            M_odd, _, dM_dq_odd, dM_dV_odd = generated.channel_derivatives(
                0.0, q_odd, V_odd, rho, nothing, means.R_odd, nothing, means.F_odd
            )
        strengths = _strengths(overlaps, problem, dM_dm, dM_dq, means.features)
        return Averages(
            M + M_odd, dM_dm, dM_dq, dM_dV, means.train, means.test, dM_dq_odd, dM_dV_odd, strengths
        )

    def unlearned(self, problem: Problem) -> Averages:
        """One value per scrambling."""
        general = problem.parametrisation is Parametrisation.GENERAL
        nothing = Overlaps(0.0, 0.0, 0.0, learned=(0.0,) * problem.leading)
        parts = split(nothing, problem)
        fields, rho = parts.fields(), parts.rho
        means = unlearned_means(
            fields, problem.beta, problem.beta0, problem.tokens, general, self.sampling
        )
        M, dM_dm, dM_dq, dM_dV = generated.unlearned_derivatives(
            rho, means.loss, means.R, means.F1, means.curvature
        )
        _, _, dM_dq_odd, dM_dV_odd = generated.unlearned_derivatives(
            rho, means.loss, means.R_odd, 0.0, means.curvature_odd
        )
        strengths = _strengths(nothing, problem, dM_dm, dM_dq, means.features)
        return Averages(
            M, dM_dm, dM_dq, dM_dV, means.loss, means.loss, dM_dq_odd, dM_dV_odd, strengths
        )

    def refined(self) -> "SampledRule":
        """Four times the points."""
        return replace(self, sampling=self.sampling.refined())


def _strengths(
    overlaps: Overlaps, problem: Problem, dM_dm: Array, dM_dq: Array, products: Array
) -> Array:
    """Eigenvalues that the estimator sees, shape (replicates, features), from the means of dual field times feature."""
    (_, weight), learned = problem.features, np.array(overlaps.learned)
    dM_dl = generated.leading_slope(products, weight)
    return np.asarray(
        generated.leading_strength(dM_dm[:, None], dM_dq[:, None], dM_dl, learned, weight)
    )


COARSE_SAMPLING = SampledRule(Sampling(64))
PRODUCT_SAMPLING = SampledRule(
    Sampling(1024), 4
)  # where leading features are products of Gaussians, with longer tails
FITTED_SAMPLING = SampledRule(Sampling(1024), 2)
RESPONSE_SAMPLING = Sampling(256)  # enough for the sign of a replicon
SHARP = 6.0  # beta0 sqrt(rho) beyond which labels are steps for the outer Gauss-Hermite rule of the quadrature


@dataclass(frozen=True)
class TiedSoftmaxChannel:
    """Channel of softmax rows of the scores of tied tokens (see numeric.channel.rules.Channel)."""

    problem: Problem

    def coarse_rules(self) -> tuple[QuadratureRule | FittedRule | SampledRule, ...]:
        """Return the coarsest rules, the one to try first in front."""
        problem, symmetric = (
            self.problem,
            self.problem.parametrisation is not Parametrisation.GENERAL,
        )
        if problem.leading:
            return (PRODUCT_SAMPLING,)
        pairs = problem.tokens == 2 and symmetric and problem.beta0 * problem.rho**0.5 < SHARP
        if problem.follows_label:
            return (FittedRule(), FITTED_SAMPLING) if pairs else (FITTED_SAMPLING,)
        return (QuadratureRule(), COARSE_SAMPLING) if pairs else (COARSE_SAMPLING,)

    def responses(self, overlaps: Overlaps) -> tuple[float, ...]:
        """Return means over samples, by the quadrature where each sample follows its label."""
        if isinstance(rule := self.coarse_rules()[0], FittedRule):
            return (rule.refined().response(overlaps, self.problem),)
        means = sample_means(
            *self._sample_arguments(overlaps),
            RESPONSE_SAMPLING,
            response=True,
            fitted=self.problem.follows_label,
        )
        responses = (means.response_ss, means.response_so, means.response_os, means.response_oo)
        return tuple(
            float(response.mean()) for response in responses[: 4 if overlaps.V_antisymmetric else 1]
        )

    def several_minima_shares(self, overlaps: Overlaps, sampling: Sampling) -> Array:
        """Return shares of whole sequences."""
        return several_minima(*self._sample_arguments(overlaps), sampling)

    def losses(self) -> PairLosses | RowLosses:
        """Return mean losses by quadrature at two tokens, else sampled ones; leading features have Gaussian indices in them."""
        labels = Labels.of(self.problem)
        return PairLosses(labels) if labels.tokens == 2 else RowLosses(labels)

    def _sample_arguments(
        self, overlaps: Overlaps
    ) -> tuple[Fields, float, float, float, float, int]:
        """Return fields, V of both parts, temperatures and number of tokens, as sampled averages take them."""
        problem, fields = (
            self.problem,
            split(overlaps, self.problem).fields(overlaps.q_antisymmetric),
        )
        return (
            fields,
            overlaps.V,
            overlaps.V_antisymmetric,
            problem.beta,
            problem.beta0,
            problem.tokens,
        )
