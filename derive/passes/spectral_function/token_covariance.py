"""Tokens with a covariance C: whitening, and the law whose eigenvalues are learned (theory note,
section 13).

With x = C^{1/2} g the index of S at tokens x is that of the whitened matrix C^{1/2} S C^{1/2} at
isotropic tokens g. The penalty tr S becomes the trace of C^{-1} times the whitened matrix, so that
the denoising problem learns the positive part of A(b) + sqrt(v) G with

    A(b) = C^{1/2} S0 C^{1/2} - b C^{-1}.

For a target with eigenvectors that are independent of C, in the limit of infinite dimension, the
resolvent of A(b) + sqrt(v) G has the diagonal elements 1/D(c) in the eigenvectors of C, with
D(c) = z - v g + b/c - R(h) c, where R is the R-transform of the target and g = E_c[1/D],
h = E_c[c/D].
"""

from functools import cache

import sympy as sp

from derive.language.notation import sym
from derive.language.step import Display, Function, Step, outputs, require_zero, scalar

b, g, u, v, s, z0 = sym("b g u v s zero_mass")
J, J_v, J_vv, cov = sym("J J_v J_vv cov")
strength, inverse_square = sym("strength_value inverse_square")


def whiten() -> None:
    """Check that whitening keeps the index and turns the penalty into a weighted trace.

    C is diagonal in its eigenvectors; two dimensions show every product of two of its eigenvalues.
    """
    roots = sp.symbols("root1 root2", positive=True)  # of the eigenvalues of C
    half = sp.diag(*roots)
    g_a, g_b = (sp.Matrix(sp.symbols(f"{name}1 {name}2")) for name in ("x", "y"))
    matrix = sp.Matrix(2, 2, sp.symbols("s11 s12 s12 s22"))
    whitened = half * matrix * half
    for one, other in ((g_a, g_b), (g_a, g_a)):
        index = ((half * one).T * matrix * (half * other))[0] - (half**2 * matrix).trace()
        require_zero(
            index - ((one.T * whitened * other)[0] - whitened.trace()), "index of whitened tokens"
        )
    require_zero((half**-2 * whitened).trace() - matrix.trace(), "penalty of the whitened matrix")
    weighted = sum(
        whitened[i, j] ** 2 / (roots[i] * roots[j]) ** 2 for i in range(2) for j in range(2)
    )
    require_zero(weighted - (matrix * matrix.T).trace(), "quadratic penalty of its entries")


def aligned_eigenvalue() -> sp.Expr:
    """Return the eigenvalue of A(b) + b if S0 and C have common eigenvectors.

    The shift by b keeps b as the threshold, so that C = 1 gives the eigenvalue of S0 itself.
    """
    found = cov * s - b / cov + b
    require_zero(found.subs(cov, 1) - s, "isotropic tokens have the law of the target")
    return found


def denominator() -> sp.Expr:
    """Return D - b, the denominator for A(b) + b, in u = z - v g and the value of R(h)."""
    return u - b + b / cov - strength * cov


def check_resolvent() -> None:
    """Check the equations of independent eigenvectors: C = 1, Burgers' equation, and J_b.

    P_n are the averages E_c[c^n/D^2], so that the checks hold for every law of C. The derivative
    of the mean logarithm of z - A(b) in b is k = E_c[1/(c D)], and in z it is g; their mixed
    derivatives agree. With it J_b = -2 int_{x > 0} x d(mu weighted by C^{-1}).
    """
    z, slope = sp.symbols("z slope")
    (isotropic,) = sp.solve(denominator().subs({cov: 1, u: z - v * g}) - 1 / g, z)
    require_zero(
        isotropic - (strength + 1 / g + v * g), "isotropic tokens have z(g) = R(g) + 1/g + v g"
    )
    P = dict(zip(range(-1, 3), sp.symbols("P_m1 P_0 P_1 P_2"), strict=True))
    shifted = denominator().subs(u, u + b)  # of A(b) itself
    by_u, by_b, by_strength = (sp.diff(shifted, symbol) for symbol in (u, b, strength))

    def average(power: int, factor: sp.Expr) -> sp.Expr:
        """Mean of c^power times a monomial in c, over D^2."""
        coefficient, exponent = factor.as_coeff_exponent(cov)
        return coefficient * P[power + int(exponent)]

    def change(power: int, moved: sp.Expr, dg: sp.Symbol, dh: sp.Symbol, of_b: int) -> sp.Expr:
        """Change of E_c[c^power/D] as z moves by `moved`, or v or b by one."""
        along = (moved - v * dg) * average(power, by_u)
        along += slope * dh * average(power, by_strength)
        return -(along + (of_b * average(power, by_b) if of_b else 0))

    def solved(moved: sp.Expr, of_b: int = 0) -> tuple[sp.Expr, sp.Expr]:
        dg, dh = sp.symbols("dg dh")
        equations = [
            dg - change(0, moved, dg, dh, of_b),
            dh - change(1, moved, dg, dh, of_b),
        ]
        found = sp.solve(equations, (dg, dh), dict=True)[0]
        return found[dg], found[dh]

    g_z, h_z = solved(sp.Integer(1))
    g_v, _ = solved(-g)
    require_zero(g_v + g * g_z, "Burgers' equation in v at fixed b")
    g_b, _ = solved(sp.Integer(0), of_b=1)
    k_z = change(-1, sp.Integer(1), g_z, h_z, 0)
    require_zero(g_b - k_z, "derivative of the law in b by its density weighted with 1/C")


def weighted_recovery() -> sp.Expr:
    """Return the coefficient j2 of delta^2 in J at perfect recovery, for tokens with a covariance.

    At small noise delta and b = tau delta, j2 is the mean squared distance of G from tau times the
    subgradients of the penalty at S0~, which are C^{-1} minus any positive matrix on the null space
    N of S0~. That is |G - tau C^{-1}|^2 without its negative part on N, of which J is tau^2 times
    int_{x > 0} x^2 over the law, of mass z0, of C^{-1} on N plus a semicircle of variance
    v = 1/tau^2 per unit mass.
    """
    tau = sp.Symbol("tau", positive=True)
    energy = 1 + tau**2 * inverse_square - tau**2 * J
    return sp.expand(energy.subs(tau, sp.sqrt(1 / v)))


def weighted_recovery_condition() -> sp.Expr:
    """Return the condition of the least j2, which changes sign from minus to plus at its only root
    in v.

    j2 is convex in tau: it is a mean squared distance from tau times a convex set.
    """
    of_v = sp.Function("J")(v)
    slope = sp.diff(weighted_recovery().subs(J, of_v), v).doit()
    slope = slope.subs(sp.Derivative(of_v, v), J_v).subs(of_v, J)
    return sp.expand(sp.cancel(slope * v**2))


def check_isotropic_recovery() -> None:
    """Check that C = 1 gives (1 - z0)(1 + z0 + tau^2) plus the energy of the null block.

    The part of the null block at negative x, `null`, is what J lacks of its second moment.
    """
    tau, null = sp.symbols("tau null", positive=True)
    whole = z0 * (1 + v * z0) - null * v
    energy = weighted_recovery().subs({inverse_square: 1, J: whole}).subs(v, 1 / tau**2)
    require_zero(energy - ((1 - z0) * (1 + z0 + tau**2) + null), "recovery of isotropic tokens")


def null_transform() -> tuple[sp.Expr, sp.Expr]:
    """Return the R-transform of a target of infinite size, which leaves its null space, and its
    slope: -(1 - z0)/g, from a free Poisson law whose jumps diverge.
    """
    rate, jump = sp.symbols("rate jump", positive=True)
    limit = sp.limit(rate * jump / (1 - jump * g), jump, sp.oo).subs(rate, 1 - z0)
    return limit, sp.diff(limit, g)


@cache
def step() -> Step:
    """Return the step of tokens with a covariance."""
    whiten()
    check_resolvent()
    check_isotropic_recovery()
    condition = weighted_recovery_condition()
    return Step(
        "token_covariance",
        "Tokens with a covariance",
        r"Whitened matrices $\tilde S=C^{1/2}SC^{1/2}$ have the indices of isotropic tokens, and "
        r"the penalty $\operatorname{tr}S=\operatorname{tr}C^{-1}\tilde S$. The positive part of "
        r"$C^{1/2}S_0C^{1/2}-b\,C^{-1}+\sqrt v\,G$ is learned. Shown are the eigenvalue for common "
        r"eigenvectors, and the inverse of a diagonal element of the resolvent for a target whose "
        r"eigenvectors are independent of those of $C$, both shifted by $b$.",
        (
            Display("a_k", aligned_eigenvalue()),
            Display("D(c_k)", denominator()),
        ),
        (
            scalar(
                "aligned_eigenvalue",
                "eigenvalue of the whitened target minus the penalty, plus b, common eigenvectors",
                (s, cov, b),
                "a_k",
                aligned_eigenvalue(),
            ),
            scalar(
                "covariance_denominator",
                "inverse diagonal element of the resolvent, at independent eigenvectors",
                (u, strength, b, cov),
                "D(c_k)",
                denominator(),
            ),
            Function(
                "null_transform",
                "R-transform that leaves the null space of the target, and its slope",
                (g, z0),
                outputs(dict(zip(("R", "R_slope"), null_transform(), strict=True))),
            ),
            scalar(
                "weighted_recovery_energy",
                "j2 from the energy of the inverse covariance on the null space",
                (J, v, inverse_square),
                "j_2",
                weighted_recovery(),
            ),
            Function(
                "weighted_recovery_condition",
                "zero at the least j2, and its slope in v",
                (J, J_v, J_vv, v, inverse_square),
                outputs(
                    {
                        "condition": condition,
                        "slope": sp.diff(condition, v)
                        + sp.diff(condition, J) * J_v
                        + sp.diff(condition, J_v) * J_vv,
                    }
                ),
            ),
        ),
    )
