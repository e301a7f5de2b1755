"""Replica-symmetric ansatz for r -> 0 at zero temperature: order parameters with conjugates, and
the channel (theory note, section 2).

Z^r averaged over the data is an integral over the r x r overlap matrix Q and its conjugate Qh, with
weight exp(d^2 Phi_r),

    Phi_r = - sum_a m_a mh_a - Tr(Q Qh)/2 + alpha I_channel(Q) + I_prior(Qh).

Replica-symmetric matrices form an algebra at symbolic r. Therefore every trace, inverse and
determinant below is a function of r before r goes to 0.
"""

from functools import cache
from typing import NamedTuple

import sympy as sp

from derive.language.errors import DerivationError
from derive.language.notation import sym
from derive.language.step import require_zero

REPLICAS = sp.Symbol("replicas")
TEMPERATURE = sp.Symbol(
    "tau", positive=True
)  # temperature of the replicas; zero temperature is tau -> 0

m, q, V, mh, qh, Vh, rho = sym("m q V mh qh Vh rho")


class ReplicaMatrix(NamedTuple):
    """Replica-symmetric r x r matrix: one value on the diagonal and one off it, at symbolic
    size r.
    """

    diagonal: sp.Expr
    offdiagonal: sp.Expr
    size: sp.Expr = REPLICAS

    def times(self, other: "ReplicaMatrix") -> "ReplicaMatrix":
        """Return the matrix product, which is replica symmetric, too."""
        a, o, c, p, r = (
            self.diagonal,
            self.offdiagonal,
            other.diagonal,
            other.offdiagonal,
            self.size,
        )
        return ReplicaMatrix(a * c + (r - 1) * o * p, a * p + o * c + (r - 2) * o * p, r)

    def trace(self) -> sp.Expr:
        """Return the sum of the diagonal."""
        return self.size * self.diagonal

    def log_determinant(self) -> sp.Expr:
        """Return the log-determinant from the eigenvalues: diagonal - offdiagonal (r - 1 times) and
        the one of the uniform vector.
        """
        gap = self.diagonal - self.offdiagonal
        return (self.size - 1) * sp.log(gap) + sp.log(gap + self.size * self.offdiagonal)

    def inverse(self) -> "ReplicaMatrix":
        """Return the inverse, which is replica symmetric, too."""
        gap = self.diagonal - self.offdiagonal
        offdiagonal = -self.offdiagonal / (gap * (gap + self.size * self.offdiagonal))
        return ReplicaMatrix(1 / gap + offdiagonal, offdiagonal, self.size)


def replica_limit(expression: sp.Expr) -> sp.Expr:
    """Return the limit of expression/r for r -> 0; the expression must vanish there."""
    if sp.cancel(sp.expand(expression.subs(REPLICAS, 0))) != 0:
        raise DerivationError(f"replicated exponent does not vanish at r = 0: {expression}")
    return sp.cancel(sp.diff(expression, REPLICAS).subs(REPLICAS, 0))


def zero_temperature(expression: sp.Expr) -> sp.Expr:
    """Return the limit of tau * expression for tau -> 0; `expression` is rational in tau."""
    scaled = sp.cancel(sp.together(sp.expand(TEMPERATURE * expression)))
    if sp.denom(scaled).subs(TEMPERATURE, 0) == 0:
        raise DerivationError(f"zero-temperature limit diverges: {expression}")
    return scaled.subs(TEMPERATURE, 0)


def overlaps() -> ReplicaMatrix:
    """Return Q_aa = q + V tau, Q_ab = q: replicas collapse at zero temperature, at the rate V."""
    return ReplicaMatrix(q + V * TEMPERATURE, q)


def conjugates() -> ReplicaMatrix:
    """Return Qh_aa = qh/tau^2 - Vh/tau, Qh_ab = qh/tau^2: with this scaling each term of the action
    has order 1/tau.
    """
    return ReplicaMatrix(qh / TEMPERATURE**2 - Vh / TEMPERATURE, qh / TEMPERATURE**2)


@cache
def coupling_term() -> sp.Expr:
    """Return the contribution of the order parameters times their conjugates to the free entropy e
    = -lim tau Phi.
    """
    action = -REPLICAS * m * mh / TEMPERATURE - overlaps().times(conjugates()).trace() / 2
    return sp.expand(-zero_temperature(replica_limit(action)))


class ChannelLimit(NamedTuple):
    """One replica of a unit-variance index at r -> 0; it fluctuates around `field` with variance
    `variance`.
    """

    field: sp.Expr
    variance: sp.Expr


@cache
def channel_limit(target_index: sp.Symbol, gaussian: sp.Symbol) -> ChannelLimit:
    """Decouple the replicas of the student index by a Hubbard-Stratonovich field, and take r -> 0.

    For a given target index, the replicas have mean (m/rho) target and covariance K = Q - m^2/rho.
    Off-diagonal entries of K^-1 couple them; exp(-B (sum x)^2/2) = E exp(sqrt(-B) gaussian sum x)
    decouples them.

    Args:
        target_index: index of the target.
        gaussian: the Hubbard-Stratonovich field.
    """
    covariance = ReplicaMatrix(
        overlaps().diagonal - m**2 / rho, overlaps().offdiagonal - m**2 / rho
    )
    precision = covariance.inverse()
    coupling = sp.factor(precision.offdiagonal.subs(REPLICAS, 0))
    stiffness = sp.cancel((precision.diagonal - precision.offdiagonal).subs(REPLICAS, 0))
    tilt = sp.sqrt(q - m**2 / rho) / (V * TEMPERATURE)  # sqrt(-coupling), checked next
    require_zero(tilt**2 + coupling, "Hubbard-Stratonovich field")
    # exponent of one replica: -stiffness x^2/2 + tilt gaussian x = -stiffness (x - centre)^2/2 +
    # stiffness centre^2/2
    centre = sp.cancel(tilt / stiffness) * gaussian
    leftover = sp.cancel(
        stiffness * (centre / gaussian) ** 2 / 2
    )  # averaged over the field, E gaussian^2 = 1
    log_norm = sp.expand_log(replica_limit_log(covariance), force=True)
    expected = -sp.log(V * TEMPERATURE) / 2
    require_zero(
        sp.expand_log(log_norm + leftover - expected, force=True),
        "normalisation of the decoupled replica",
    )
    return ChannelLimit(m * target_index / rho + centre, sp.cancel(1 / stiffness))


def replica_limit_log(covariance: ReplicaMatrix) -> sp.Expr:
    """Return the limit of -log det(covariance)/(2 r) for r -> 0."""
    return sp.diff(-covariance.log_determinant() / 2, REPLICAS).subs(REPLICAS, 0)


def envelope_energy(displacement: sp.Expr) -> sp.Expr:
    """Return the elastic part of the Moreau energy of a unit-variance index at this distance from
    its field.

    It is the zero-temperature limit of the weight.
    """
    variance = channel_limit(*sp.symbols("z g_2", real=True)).variance
    return zero_temperature(1 / variance) * displacement**2 / 2
