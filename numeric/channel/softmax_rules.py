"""Rules for the average over softmax rows of the scores of tied tokens.

The average over two tokens is a deterministic rule in four dimensions (`pair_average`). More
tokens, a general matrix and sharp labels need randomised quasi-Monte Carlo (`sequence_average`).
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from numeric.channel.averages import Averages, symmetric_averages
from numeric.channel.softmax import fitted_pair_average as fitted
from numeric.channel.softmax.label_losses import PairLosses, RowLosses
from numeric.channel.softmax.pair_average import (
    COARSE,
    Resolution,
    average,
    norm_shares,
    unlearned,
)
from numeric.channel.softmax.pair_minimiser import Setting, single_well
from numeric.channel.softmax.sequence_average import sample_means, several_minima, unlearned_means
from numeric.maths.sobol import Sampling
from numeric.model import float64 as generated
from numeric.problem.axes import (
    AxisOverlaps,
    AxisProducts,
    axis_overlaps,
    envelope_derivatives,
    own_shares,
    unlearned_derivatives,
    unlearned_rho,
)
from numeric.problem.fields import Fields, split
from numeric.problem.labels import Labels
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Parametrisation, Problem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class QuadratureRule:
    """Deterministic rule for two tokens and a symmetric map (see `interfaces.ChannelRule`)."""

    resolution: Resolution = COARSE
    independent: bool = field(default=False, init=False)
    roughness: float = field(default=1e-5, init=False)
    tolerance: float = field(default=1e-8, init=False)
    accuracy: float = field(default=1e-4, init=False)
    refinements: int = field(default=3, init=False)
    extra_refinements: int = field(default=2, init=False)
    error_reduction: float = field(default=4.0, init=False)

    def average(self, overlaps: Overlaps, problem: Problem) -> Averages:
        """Return one replicate.

        Args:
            overlaps: order parameters.
            problem: problem of tied attention at two tokens.
        """
        axes = axis_overlaps(overlaps, problem, norm_shares())
        means = average(axes, overlaps.V, problem.beta, problem.beta0, self.resolution)
        products = [AxisProducts(axes, means.F1, means.F2)]
        derivatives = envelope_derivatives(problem, overlaps, products, means.train, means.R)
        return symmetric_averages(*derivatives, means.train, means.test)

    def unlearned(self, problem: Problem) -> Averages:
        """Return one replicate at S = 0."""
        rho = unlearned_rho(problem, norm_shares())
        loss, dual, overlap, curvature = unlearned(
            rho, problem.beta, problem.beta0, self.resolution
        )
        products = [(rho, norm_shares(), overlap)]
        derivatives = unlearned_derivatives(problem, products, loss, dual, curvature)
        return symmetric_averages(*derivatives, loss, loss)

    def refined(self) -> "QuadratureRule":
        """Return the rule with one and a half times the nodes."""
        return QuadratureRule(self.resolution.refined())


@dataclass(frozen=True)
class FittedRule:
    """Deterministic rule for two tokens and a symmetric map, on the fitted branch.

    Each sample is at the minimum connected to its label. `convex` is the rule for parameters at
    which every energy is convex.
    """

    resolution: fitted.Resolution = fitted.COARSE
    convex: QuadratureRule = QuadratureRule()
    independent: bool = field(default=False, init=False)
    roughness: float = field(default=3e-4, init=False)
    tolerance: float = field(default=1e-8, init=False)
    accuracy: float = field(default=5e-3, init=False)
    refinements: int = field(default=3, init=False)
    extra_refinements: int = field(default=2, init=False)
    error_reduction: float = field(default=4.0, init=False)

    def average(self, overlaps: Overlaps, problem: Problem) -> Averages:
        """Return one replicate; the `convex` rule gives it if no sample has a second minimum.

        Args:
            overlaps: order parameters.
            problem: problem of tied attention at two tokens.
        """
        m, q, V = overlaps.m, overlaps.q, overlaps.V
        if single_well(Setting(V, problem.beta, problem.beta0)):
            return self.convex.average(overlaps, problem)
        found, rho = self._along_rays(overlaps, problem), problem.rho
        derivatives = generated.channel_derivatives(
            m, q, V, rho, found.train, V**2 * found.dual, found.F1, found.F2
        )
        return symmetric_averages(*map(float, derivatives), 0.0, found.train, found.test)

    def unlearned(self, problem: Problem) -> Averages:
        """Return one replicate at S = 0."""
        return self.convex.unlearned(problem)

    def response(self, overlaps: Overlaps, problem: Problem) -> float:
        """Return the mean square response of the dual field.

        Args:
            overlaps: order parameters.
            problem: problem of tied attention at two tokens.
        """
        return self._along_rays(overlaps, problem).response

    def _along_rays(self, overlaps: Overlaps, problem: Problem) -> fitted.FittedAverages:
        m, q, V, rho = overlaps.m, overlaps.q, overlaps.V, problem.rho
        axis_overlaps(overlaps, problem, norm_shares())  # checks that the overlaps are valid
        return fitted.fitted_average(m, q, V, rho, problem.beta, problem.beta0, self.resolution)

    def refined(self) -> "FittedRule":
        """Return the rule with one and a half times the nodes."""
        return FittedRule(self.resolution.refined(), self.convex.refined())


@dataclass(frozen=True)
class SampledRule:
    """Randomised quasi-Monte Carlo for any number of tokens (see `interfaces.ChannelRule`)."""

    sampling: Sampling
    independent: bool = field(default=True, init=False)
    roughness: float = field(default=1e-3, init=False)
    tolerance: float = field(default=1e-8, init=False)
    accuracy: float = field(default=5e-3, init=False)
    refinements: int = 3
    extra_refinements: int = field(default=0, init=False)
    error_reduction: float = field(default=4.0, init=False)

    def average(self, overlaps: Overlaps, problem: Problem) -> Averages:
        """Return one value per scrambling.

        Args:
            overlaps: order parameters.
            problem: problem of tied attention.
        """
        V, q_odd, V_odd = overlaps.V, overlaps.q_antisymmetric, overlaps.V_antisymmetric
        kinds = _kinds(overlaps, problem)
        fields = _fields(overlaps, problem, kinds)
        means = sample_means(
            *(fields, V, V_odd, problem.beta, problem.beta0, problem.tokens, self.sampling),
            fitted=problem.follows_label,
        )
        F1 = _by_kind(means.F1, means.F1_own, problem)
        F2 = _by_kind(means.F2, means.F2_own, problem)
        M, dM_dm, dM_dq, dM_dV, dM_dt = envelope_derivatives(
            problem, overlaps, [AxisProducts(kinds, F1, F2)], means.train, means.R
        )
        zero = np.zeros_like(means.train)
        M_odd, dM_dq_odd, dM_dV_odd = zero, zero, zero
        if V_odd > 0:
            M_odd, _, dM_dq_odd, dM_dV_odd = generated.channel_derivatives(
                0.0, q_odd, V_odd, problem.rho, zero, means.R_odd, zero, means.F_odd
            )
        strengths = _strengths(overlaps, problem, dM_dm, dM_dq, means.features)
        return Averages(
            *(M + M_odd, dM_dm, dM_dq, dM_dV, means.train, means.test),
            *(dM_dq_odd, dM_dV_odd, strengths, dM_dt, means.test),
        )

    def unlearned(self, problem: Problem) -> Averages:
        """Return one value per scrambling at S = 0."""
        general = problem.parametrisation is Parametrisation.GENERAL
        zero = Overlaps(0.0, 0.0, 0.0, learned=(0.0,) * problem.leading)
        parts = split(zero, problem)
        fields, shares = parts.fields(), _kind_shares(problem)
        rho = unlearned_rho(problem, shares, parts.rho)
        if problem.has_norms:
            fields = fields._replace(target=np.sqrt(rho))
        means = unlearned_means(
            fields, problem.beta, problem.beta0, problem.tokens, general, self.sampling
        )
        F1 = _by_kind(means.F1, means.F1_own, problem)
        M, dM_dm, dM_dq, dM_dV, dM_dt = unlearned_derivatives(
            problem, [(rho, shares, F1)], means.loss, means.R, means.curvature
        )
        _, _, dM_dq_odd, dM_dV_odd = generated.unlearned_derivatives(
            parts.rho, means.loss, means.R_odd, 0.0, means.curvature_odd
        )
        strengths = _strengths(zero, problem, dM_dm, dM_dq, means.features)
        return Averages(
            *(M, dM_dm, dM_dq, dM_dV, means.loss, means.loss),
            *(dM_dq_odd, dM_dV_odd, strengths, dM_dt, means.loss),
        )

    def refined(self) -> "SampledRule":
        """Return the rule with four times the points."""
        return replace(self, sampling=self.sampling.refined())


def _kind_shares(problem: Problem) -> Array:
    """Return the shares of scores of a token with itself in the two kinds of scores.

    These are the scores of a token with itself and all others. All scores are of one kind for
    Gaussian tokens, where the shares do not matter.
    """
    return own_shares(problem.model) if problem.has_norms else np.zeros(1)


def _kinds(overlaps: Overlaps, problem: Problem) -> AxisOverlaps:
    """Return the overlaps of each kind of scores, without the leading features."""
    parts = split(overlaps, problem)
    gaussian = overlaps._replace(m=parts.m, q=parts.q)
    return axis_overlaps(gaussian, problem, _kind_shares(problem), parts.rho)


def _fields(overlaps: Overlaps, problem: Problem, kinds: AxisOverlaps) -> Fields:
    """Return the fields of a sample, with coefficients of each kind of scores if there are two."""
    fields = split(overlaps, problem).fields(overlaps.q_antisymmetric)
    if not problem.has_norms:
        return fields
    teacher, independent, target, *_ = kinds.fields
    return fields._replace(teacher=teacher, independent=independent, target=target)


def _by_kind(whole: Array, own: Array, problem: Problem) -> Array:
    """Return means over all scores as those of each kind of scores, shape (kinds, replicates)."""
    return np.stack([own, whole - own]) if problem.has_norms else whole[None]


def _strengths(
    overlaps: Overlaps, problem: Problem, dM_dm: Array, dM_dq: Array, products: Array
) -> Array:
    """Return effective eigenvalues of the leading features, shape (replicates, features).

    `products` are the means of the dual field times each feature.
    """
    (_, weight), learned = problem.features, np.array(overlaps.learned)
    dM_dl = generated.leading_slope(products, weight)
    return np.asarray(
        generated.leading_strength(dM_dm[:, None], dM_dq[:, None], dM_dl, learned, weight)
    )


COARSE_SAMPLING = SampledRule(Sampling(64))
# Leading features are products of Gaussians, with longer tails.
PRODUCT_SAMPLING = SampledRule(Sampling(1024), 4)
FITTED_SAMPLING = SampledRule(Sampling(1024), 2)
RESPONSE_SAMPLING = Sampling(256)  # enough for the sign of a replicon
# beta0 sqrt(rho) above which labels are too steep for the Gauss-Hermite rule of the quadrature.
SHARP = 6.0


@dataclass(frozen=True)
class TiedSoftmaxChannel:
    """Channel of softmax rows of the scores of tied tokens (see `interfaces.Channel`)."""

    problem: Problem

    def coarse_rules(self) -> tuple[QuadratureRule | FittedRule | SampledRule, ...]:
        """Return the coarsest rules, in the order in which to try them."""
        problem = self.problem
        if problem.leading:
            return (PRODUCT_SAMPLING,)
        symmetric = problem.parametrisation is not Parametrisation.GENERAL
        pairs = problem.tokens == 2 and symmetric and problem.beta0 * problem.rho**0.5 < SHARP
        if problem.follows_label:
            return (FittedRule(), FITTED_SAMPLING) if pairs else (FITTED_SAMPLING,)
        return (QuadratureRule(), COARSE_SAMPLING) if pairs else (COARSE_SAMPLING,)

    def responses(self, overlaps: Overlaps) -> tuple[float, ...]:
        """Return sampled means, or one by quadrature on the fitted branch."""
        if isinstance(rule := self.coarse_rules()[0], FittedRule):
            return (rule.refined().response(overlaps, self.problem),)
        arguments = *self._sample_arguments(overlaps), RESPONSE_SAMPLING
        means = sample_means(*arguments, response=True, fitted=self.problem.follows_label)
        responses = (means.response_ss, means.response_so, means.response_os, means.response_oo)
        count = 4 if overlaps.V_antisymmetric else 1
        return tuple(float(response.mean()) for response in responses[:count])

    def several_minima_shares(self, overlaps: Overlaps, sampling: Sampling) -> Array:
        """Return shares of sequences whose energy has several minima, shape (replicates,).

        Args:
            overlaps: order parameters.
            sampling: points and replicates.
        """
        return several_minima(*self._sample_arguments(overlaps), sampling)

    def losses(self) -> PairLosses | RowLosses:
        """Return mean losses, by quadrature at two tokens, and sampled otherwise.

        The indices of leading features are Gaussian in them.
        """
        labels = Labels.of(self.problem)
        return PairLosses(labels) if labels.tokens == 2 else RowLosses(labels)

    def _sample_arguments(
        self, overlaps: Overlaps
    ) -> tuple[Fields, float, float, float, float, int]:
        """Return fields, V of both parts, temperatures and tokens for `sample_means`."""
        problem = self.problem
        fields = _fields(overlaps, problem, _kinds(overlaps, problem))
        responses = overlaps.V, overlaps.V_antisymmetric
        return fields, *responses, problem.beta, problem.beta0, problem.tokens
