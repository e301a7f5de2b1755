"""Replicated action -> replica-symmetric ansatz -> r -> 0 -> zero temperature -> free entropy (theory note, section 2).

Z^r averaged over the data is an integral over the r x r overlap matrix Q and its conjugate, with weight exp(d^2 Phi_r),

    Phi_r = - sum_a m_a mh_a - Tr(Q Qh)/2 + alpha I_channel(Q) + I_prior(Qh).

Replica-symmetric matrices form an algebra that SymPy handles at symbolic r, so that every trace, inverse and
determinant below is computed as a function of r before r goes to 0.
"""

from functools import cache
from typing import NamedTuple

import sympy as sp

from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import DerivationError, Display, Step, require_zero

REPLICAS = sp.Symbol("replicas")
TEMPERATURE = sp.Symbol("tau", positive=True)  # 1/inverse temperature of the replicas: zero temperature is tau -> 0
ENVELOPE = sp.Function("M")
SPECTRAL = sp.Function("J")

alpha, kappa, lambda_, m, q, V, mh, qh, Vh, rho, v, b, x = sym("alpha kappa lambda_ m q V mh qh Vh rho v b x")


class ReplicaMatrix(NamedTuple):
    """Replica-symmetric r x r matrix: one value on the diagonal, one off it, at symbolic size r."""

    diagonal: sp.Expr
    offdiagonal: sp.Expr
    size: sp.Expr = REPLICAS

    def times(self, other: "ReplicaMatrix") -> "ReplicaMatrix":
        """Matrix product, again replica symmetric."""
        a, o, c, p, r = self.diagonal, self.offdiagonal, other.diagonal, other.offdiagonal, self.size
        return ReplicaMatrix(a * c + (r - 1) * o * p, a * p + o * c + (r - 2) * o * p, r)

    def trace(self) -> sp.Expr:
        """Sum of the diagonal."""
        return self.size * self.diagonal

    def log_determinant(self) -> sp.Expr:
        """From the eigenvalues: diagonal - offdiagonal (r - 1 times) and that of the uniform vector."""
        gap = self.diagonal - self.offdiagonal
        return (self.size - 1) * sp.log(gap) + sp.log(gap + self.size * self.offdiagonal)

    def inverse(self) -> "ReplicaMatrix":
        """Matrix inverse, again replica symmetric."""
        gap = self.diagonal - self.offdiagonal
        offdiagonal = -self.offdiagonal / (gap * (gap + self.size * self.offdiagonal))
        return ReplicaMatrix(1 / gap + offdiagonal, offdiagonal, self.size)


def replica_limit(expression: sp.Expr) -> sp.Expr:
    """Lim (1/r) expression for r -> 0; the expression must vanish there."""
    if sp.cancel(sp.expand(expression.subs(REPLICAS, 0))) != 0:
        raise DerivationError(f"replicated exponent does not vanish at r = 0: {expression}")
    return sp.cancel(sp.diff(expression, REPLICAS).subs(REPLICAS, 0))


def zero_temperature(expression: sp.Expr) -> sp.Expr:
    """Lim tau * expression for tau -> 0, `expression` rational in tau."""
    scaled = sp.cancel(sp.together(sp.expand(TEMPERATURE * expression)))
    if sp.denom(scaled).subs(TEMPERATURE, 0) == 0:
        raise DerivationError(f"zero-temperature limit diverges: {expression}")
    return scaled.subs(TEMPERATURE, 0)


def overlaps() -> ReplicaMatrix:
    """Q_aa = q + V tau, Q_ab = q: replicas collapse at zero temperature, at the rate V."""
    return ReplicaMatrix(q + V * TEMPERATURE, q)


def conjugates() -> ReplicaMatrix:
    """Qh_aa = qh/tau^2 - Vh/tau, Qh_ab = qh/tau^2: the scaling that keeps each term of the action of order 1/tau."""
    return ReplicaMatrix(qh / TEMPERATURE**2 - Vh / TEMPERATURE, qh / TEMPERATURE**2)


@cache
def coupling_term() -> sp.Expr:
    """Contribution of the order parameters times their conjugates to the free entropy e = -lim tau Phi."""
    action = -REPLICAS * m * mh / TEMPERATURE - overlaps().times(conjugates()).trace() / 2
    return sp.expand(-zero_temperature(replica_limit(action)))


class ChannelLimit(NamedTuple):
    """One replica of a unit-variance index at r -> 0: it fluctuates around `field` with variance `variance`."""

    field: sp.Expr
    variance: sp.Expr


@cache
def channel_limit(target_index: sp.Symbol, gaussian: sp.Symbol) -> ChannelLimit:
    """Decouple the replicas of the student index by a Hubbard-Stratonovich field and take r -> 0.

    Given the target index, the replicas have mean (m/rho) target and covariance K = Q - m^2/rho. Off-diagonal
    entries of K^-1 couple them; exp(-B (sum x)^2/2) = E exp(sqrt(-B) gaussian sum x) decouples them.
    """
    covariance = ReplicaMatrix(overlaps().diagonal - m**2 / rho, overlaps().offdiagonal - m**2 / rho)
    precision = covariance.inverse()
    coupling = sp.factor(precision.offdiagonal.subs(REPLICAS, 0))
    stiffness = sp.cancel((precision.diagonal - precision.offdiagonal).subs(REPLICAS, 0))
    tilt = sp.sqrt(q - m**2 / rho) / (V * TEMPERATURE)  # sqrt(-coupling), checked next
    require_zero(tilt**2 + coupling, "Hubbard-Stratonovich field")
    # exponent of one replica: -stiffness x^2/2 + tilt gaussian x = -stiffness (x - centre)^2/2 + stiffness centre^2/2
    centre = sp.cancel(tilt / stiffness) * gaussian
    leftover = sp.cancel(stiffness * (centre / gaussian) ** 2 / 2)  # its mean over the field, E gaussian^2 = 1
    log_norm = sp.expand_log(replica_limit_log(covariance), force=True)
    expected = -sp.log(V * TEMPERATURE) / 2
    require_zero(sp.expand_log(log_norm + leftover - expected, force=True), "normalisation of the decoupled replica")
    return ChannelLimit(m * target_index / rho + centre, sp.cancel(1 / stiffness))


def replica_limit_log(covariance: ReplicaMatrix) -> sp.Expr:
    """Lim (1/r) (-log det covariance)/2 for r -> 0."""
    return sp.diff(-covariance.log_determinant() / 2, REPLICAS).subs(REPLICAS, 0)


def envelope_energy(index: sp.Symbol, target_index: sp.Symbol, gaussian: sp.Symbol) -> sp.Expr:
    """Elastic part of the Moreau energy of a unit-variance index: the zero-temperature limit of the Gaussian weight."""
    limit = channel_limit(target_index, gaussian)
    return zero_temperature(1 / limit.variance) * (index - limit.field) ** 2 / 2


class Denoiser(NamedTuple):
    """Scalar problem of the prior at one eigenvalue x of Y = S0 + noise.

    The maximiser is gain (x - threshold)_+, the maximum prefactor (x - threshold)_+^2; `variance` is that of the
    semicircle which the noise adds to the target law.
    """

    gain: sp.Expr
    threshold: sp.Expr
    prefactor: sp.Expr
    variance: sp.Expr


@cache
def sensing_variance() -> sp.Expr:
    """Off-diagonal entry variance (times d) of the symmetric Gaussian Z for which Var tr(Z S) = tr S^2/d.

    Solved on an explicit 3 x 3 matrix with diagonal variance twice the off-diagonal one.
    """
    size, omega = 3, sp.Symbol("omega", positive=True)
    S = sp.Matrix(size, size, lambda i, j: sp.Symbol(f"S{min(i, j)}{max(i, j)}"))
    diagonal = sum(2 * omega * S[i, i] ** 2 for i in range(size))
    offdiagonal = sum(omega * (2 * S[i, j]) ** 2 for i in range(size) for j in range(i + 1, size))
    (solution,) = sp.solve(
        sp.Poly(diagonal + offdiagonal - (S * S).trace(), *sorted(S.free_symbols, key=str)).coeffs(), omega
    ).values()
    return solution


@cache
def denoiser(model: Model) -> Denoiser:
    """Prior of the model's penalty on the cone s >= 0."""
    s = sp.Symbol("s", nonnegative=True)
    return shrinkage(model.penalty.cost.subs(model.penalty.eigenvalue, s), s)


def shrinkage(cost: sp.Expr, s: sp.Symbol) -> Denoiser:
    """Zero-temperature prior: -Vh s^2/2 + mh s x - cost(s), maximised over the domain of s, at an eigenvalue x of Y.

    Qh splits into -Vh/tau on the diagonal (confinement) and qh/tau^2 everywhere, which a symmetric Gaussian matrix Z
    with Var tr(Z S) = tr S^2/d decouples: the field on S is mh S0 + sqrt(qh) Z = mh Y.
    """
    confinement = zero_temperature(conjugates().diagonal - conjugates().offdiagonal)
    field_variance = sp.cancel(TEMPERATURE**2 * conjugates().offdiagonal)
    energy = confinement * s**2 / 2 + mh * s * x - cost
    (best,) = sp.solve(sp.diff(energy, s), s)
    threshold = sp.solve(best, x)[0]
    gain = sp.diff(best, x)
    require_zero(best - gain * (x - threshold), "shrinkage is gain times the excess over a threshold")
    prefactor = sp.cancel(energy.subs(s, best) / (x - threshold) ** 2)
    return Denoiser(gain, threshold, prefactor, field_variance * sensing_variance() / mh**2)


def free_entropy(model: Model) -> sp.Expr:
    """e(m, q, V, mh, qh, Vh) with the averaged envelope M(m, q, V) and the spectral function J(v, b) left symbolic."""
    prior = denoiser(model)
    psi = prior.prefactor * SPECTRAL(prior.variance, prior.threshold)
    return alpha * ENVELOPE(m, q, V) + coupling_term() - psi


def steps(model: Model) -> tuple[Step, ...]:
    """The passes from the replicated action to the free entropy."""
    h, z, gaussian = sp.symbols("h z g_2", real=True)
    field = channel_limit(z, gaussian).field
    prior = denoiser(model)
    return (
        Step(
            "action",
            "Replicated action and replica-symmetric ansatz",
            r"The data average of $Z^r$ depends on the replicas only through $Q_{ab}=\operatorname{tr}(S_aS_b)/d$ and "
            r"$m_a=\operatorname{tr}(S_aS_0)/d$. At inverse temperature $1/\tau$ replicas differ by $V\tau$. Traces are computed "
            r"for $r\times r$ matrices at symbolic $r$; then $r\to0$, then $\tau\to0$.",
            (
                Display(r"Q_{aa}", overlaps().diagonal),
                Display(r"\hat Q_{aa}", conjugates().diagonal),
                Display(r"\operatorname{Tr} Q\hat Q", sp.expand(overlaps().times(conjugates()).trace())),
                Display(
                    r"-\lim_{\tau,r\to0}\tfrac{\tau}{r}\left(-r\tfrac{m\hat m}{\tau}-\tfrac12\operatorname{Tr}Q\hat Q\right)",
                    coupling_term(),
                ),
            ),
        ),
        Step(
            "channel",
            "Channel: one index per unit variance",
            r"A Hubbard-Stratonovich field $g_2$ decouples the replicas of the index; at $r\to0$ one replica is Gaussian around "
            r"the field $w$ with variance $V\tau$, so that $\tau\to0$ leaves a minimisation: the Moreau envelope of the loss.",
            (
                Display("w", field),
                Display(
                    r"M(m,q,V) = \mathbb E\min_h\Big\{\ell(h,z)+\sum_{a\le b}\tfrac{1}{1+\delta_{ab}}(\cdot)\Big\},\quad(\cdot)",
                    (h - sp.Symbol("w")) ** 2 / (2 * V),
                ),
            ),
        ),
        Step(
            "prior",
            "Prior: denoising of a matrix",
            r"A symmetric Gaussian matrix decouples the replicas of $S$; $\tau\to0$ leaves a maximisation that is diagonal in the "
            r"eigenbasis of $Y=S_0+\delta G$. Positivity of $S$ keeps the eigenvalues $x$ of $Y$ above the threshold $b$.",
            (
                Display("s^*(x)", prior.gain * (x - prior.threshold)),
                Display("b", prior.threshold),
                Display(r"v=\delta^2", prior.variance),
                Display(r"\Psi(\hat m,\hat q,\hat V)", prior.prefactor * SPECTRAL(v, b)),
            ),
        ),
        Step(
            "free_entropy",
            "Free entropy",
            r"The limit of $(\min L)/d^2$ is the stationary value of $e$; $J(v,b)=\int(x-b)_+^2\,d\mu_v(x)$.",
            (Display("e", alpha * ENVELOPE(m, q, V) + coupling_term() - prior.prefactor * SPECTRAL(v, b)),),
        ),
    )
