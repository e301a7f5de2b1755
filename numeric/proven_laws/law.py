"""Target laws in ball arithmetic: physical root of the noisy law mu_v with its proof, spectral function, moments.

A law is exact; its balls are made at the working precision. `at(v, x)` holds for every point of the balls v and x.
Source: theory note, section 4; every formula is generated (steps `spectral` and `finite_spectrum`).
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from importlib import import_module
from typing import Any, Protocol

from flint import acb, acb_poly, arb

from numeric.maths.balls import (
    START_BITS,
    Ball,
    ComplexBall,
    Unresolved,
    around_complex,
    ball,
    contract,
    per_precision,
    polish,
    precision,
    working,
)
from numeric.proven_laws.path_integral import path_integral

_START_STEPS = 200  # near an edge of the support the damped iteration converges slowly


class Point(Protocol):
    """The noisy law at one position x: its Stieltjes transform `g`, and J with its derivatives at b = x by name."""

    g: ComplexBall

    def value(self, name: str) -> Ball:
        """J, J_v, J_b, J_vv, J_bv or mass."""


class Law(Protocol):
    """Eigenvalue law of the target; `zero_mass` is its exact share of zero eigenvalues, `generated` its functions."""

    zero_mass: Fraction
    generated: Any

    def moments(self) -> tuple[Ball, Ball]:
        """Mean t0 and second moment q0."""

    def at(self, v: Ball, x: Ball) -> Point:
        """The law plus a semicircle of variance v, at x."""


class RationalLaw:
    """Law whose inverse Stieltjes transform z(g) is rational.

    Args:
        model: name of a folder under generated/.
        parameters: the parameters of z(g) at the working precision, a function without arguments.
        zero_mass: exact share of zero eigenvalues.
    """

    def __init__(self, model: str, parameters: Callable[[], Sequence[Ball]], zero_mass: Fraction) -> None:
        self.generated = import_module(f"generated.{model}.balls")
        self.zero_mass = zero_mass
        self._parameters = per_precision(lambda: tuple(parameters()))

    def moments(self) -> tuple[Ball, Ball]:
        """Mean and second moment."""
        return self.generated.target_moments(*self._parameters())

    def at(self, v: Ball, x: Ball) -> "RationalPoint":
        """The noisy law at x; balls of noticeable width should go through `over`.

        The physical root is proven: z(g) = x has at most one root below the axis, and if it has none the physical one is the
        only real root on which z falls (it is the Denjoy-Wolff point of g -> 1/(x - v g - R(g)) on the lower half-plane).

        Raises:
            Unresolved: the root is too close to an edge of the support for the precision or the width of the balls.
        """
        parameters = self._parameters()
        coefficients = acb_poly(list(reversed(self.generated.resolvent_polynomial(v, x, *parameters))))
        slope = coefficients.derivative()
        starts, bits = _isolated_roots(coefficients)
        for start in starts:
            g = polish(lambda root: coefficients(root) / slope(root), start, bits)
            # z itself, not the polynomial: balls of v and x pass through it without growing.
            excess = self.generated.inverse_stieltjes(g, v, *parameters) - x

            def z_slope(trial: ComplexBall) -> ComplexBall:
                return self.generated.resolvent_slope(trial, v, *parameters)

            g = contract(excess, z_slope, g, around_complex, excess / z_slope(g))
            if start.imag.is_zero():  # the trial ball is symmetric: a root off the axis would come with its conjugate
                g = acb(g.real)
            if g.imag < 0 or (start.imag.is_zero() and z_slope(g).real < 0):
                return RationalPoint(self.generated, g, v, x, parameters)
        raise Unresolved("no root of the resolvent polynomial carries the proof of its branch")


class RationalPoint:
    """The noisy law at one position, in closed form."""

    def __init__(self, generated: Any, g: ComplexBall, v: Ball, x: Ball, parameters: tuple[Ball, ...]) -> None:
        self.g, self._generated, self._arguments = g, generated, (g, v, x, *parameters)

    def value(self, name: str) -> Ball:
        """J, J_v, J_b, J_vv, J_bv or mass at b = x."""
        return getattr(self._generated, f"spectral_{name}")(*self._arguments)


def _isolated_roots(polynomial: Any) -> tuple[list[ComplexBall], int]:
    """Approximate roots of the polynomial at the middle of its coefficients, those below the axis, then the real ones; and the bits
    at which Newton steps from them stay apart.

    Raises:
        Unresolved: two roots cannot be told apart at the working precision.
    """
    middle = acb_poly([coefficient.mid() for coefficient in polynomial.coeffs()])
    bits = START_BITS
    while bits <= max(precision(), START_BITS):
        roots = _told_apart(middle, bits)
        if roots is not None:
            below = [root.mid() for root in roots if root.imag < 0]
            return below + [acb(root.real.mid()) for root in roots if root.imag.contains(0)], 2 * bits
        bits *= 2
    raise Unresolved("two roots of the resolvent polynomial are too close to be told apart")


def _told_apart(polynomial: Any, bits: int) -> list[ComplexBall] | None:
    """Disjoint balls of all roots of a real polynomial, those that meet the axis disjoint from the mirrored others too."""
    try:
        roots = polynomial.roots(tol=arb(2) ** (-bits // 2), maxprec=4 * bits)
    except ValueError:  # the balls overlap
        return None
    for k, root in enumerate(roots):
        mirrored = root.conjugate()
        if root.imag.contains(0) and any(mirrored.overlaps(other) for other in roots[:k] + roots[k + 1 :]):
            return None
    return list(roots)


class FiniteLaw:
    """Law of finitely many eigenvalues with weights.

    Args:
        eigenvalues: the distinct eigenvalues at the working precision, a function without arguments.
        weights: their exact weights, positive, of sum one.
        zero_mass: weight of the eigenvalue 0.
    """

    def __init__(
        self, eigenvalues: Callable[[], Sequence[Ball]], weights: Sequence[Fraction], zero_mass: Fraction
    ) -> None:
        self.generated = import_module("generated.tied_attention.balls")
        self.zero_mass = zero_mass
        self._count = len(weights)
        # Pairs (eigenvalue, weight) at the working precision.
        self.atoms = per_precision(lambda: tuple(zip(eigenvalues(), map(ball, weights), strict=True)))

    def __len__(self) -> int:
        """Number of distinct eigenvalues."""
        return self._count

    def moments(self) -> tuple[Ball, Ball]:
        """Mean and second moment."""
        atoms = self.atoms()
        return sum((w * s for s, w in atoms), arb(0)), sum((w * s * s for s, w in atoms), arb(0))

    def stieltjes(self, u: ComplexBall) -> ComplexBall:
        """G(u) of the target."""
        return sum((w / (u - s) for s, w in self.atoms()), acb(0))

    def _stieltjes_slope(self, u: ComplexBall) -> ComplexBall:
        return -sum((w / (u - s) ** 2 for s, w in self.atoms()), acb(0))

    def at(self, v: Ball, x: Ball) -> "FinitePoint":
        """The noisy law at x, through u = x - v G(u).

        The physical u is proven: it is the only root above the axis, or, if there is none, the only real root with
        v sum w/(u - s)^2 < 1 (Denjoy-Wolff).

        Raises:
            Unresolved: as `RationalLaw.at`.
        """
        try:
            return self._proven_from(self._approach(v.mid(), x.mid(), START_BITS), v, x)
        except Unresolved:  # close to an edge of the support the start must know on which side it is
            return self._proven_from(self._approach(v.mid(), x.mid(), precision()), v, x)

    def _proven_from(self, start: ComplexBall, v: Ball, x: Ball) -> "FinitePoint":
        def step(u: ComplexBall) -> ComplexBall:
            return (u + v.mid() * self.stieltjes(u) - x.mid()) / (1 + v.mid() * self._stieltjes_slope(u))

        u = polish(step, start, START_BITS)
        residual = u + v * self.stieltjes(u) - x
        guess = residual / (1 + v * self._stieltjes_slope(u))
        u = contract(residual, lambda trial: 1 + v * self._stieltjes_slope(trial), u, around_complex, guess)
        if start.imag.is_zero():
            u = acb(u.real)
            if not (1 + v * self._stieltjes_slope(u)).real > 0:
                raise Unresolved("the real root of u + v G(u) = x is not proven to be the physical one")
        elif not u.imag > 0:
            raise Unresolved("the root of u + v G(u) = x is not proven to lie above the axis")
        return FinitePoint(self, u, v, x)

    def _approach(self, v: Ball, x: Ball, bits: int) -> ComplexBall:
        """Newton steps while they stay above the axis, else u <- x - v G(u)."""
        with working(bits):
            u = acb(x, v.sqrt()).mid()
            for _ in range(_START_STEPS):
                transform = self.stieltjes(u)
                newton = u - (u + v * transform - x) / (1 + v * self._stieltjes_slope(u))
                onward = newton if newton.is_finite() and newton.imag > 0 else x - v * transform
                moved, u = (onward - u).abs_upper(), onward.mid()
                if moved < u.imag * 2.0 ** (-bits // 4):
                    return u
                if u.imag < 2.0 ** (-bits // 4) * self._gap(u.real):
                    return acb(u.real.mid())
        raise Unresolved("the subordination iteration did not settle: too close to an edge of the support")

    def _gap(self, position: Ball) -> Ball:
        """Distance to the nearest eigenvalue."""
        gaps = ((position - s).abs_lower() for s, _ in self.atoms())
        return min(gaps, key=float)


class BoxPoint:
    """The noisy law over wide balls: values at their middles, and the change across them through the next derivatives.

    The third derivatives of J are powers of g alone, which a ball passes without growing much; closed forms would not survive.
    """

    def __init__(self, law: Law, v: Ball, x: Ball) -> None:
        self._centre, self.g = law.at(v.mid(), x.mid()), law.at(v, x).g
        self._dv, self._dx = v - v.mid(), x - x.mid()
        self._third = dict(
            zip(("J_vvv", "J_bvv", "J_bbv", "J_bbb"), law.generated.third_derivatives(self.g), strict=True)
        )

    def value(self, name: str) -> Ball:
        """J, J_v, J_b, J_vv, J_bv or mass over the balls."""
        if name in self._third:
            return self._third[name]
        if name == "J_bb":
            return 2 * self.value("mass")
        along_v, along_x = _DERIVATIVES[name]
        factor = 2 if name == "mass" else 1
        return self._centre.value(name) + (self.value(along_v) * self._dv + self.value(along_x) * self._dx) / factor


_DERIVATIVES = {
    "J": ("J_v", "J_b"),
    "J_v": ("J_vv", "J_bv"),
    "J_b": ("J_bv", "J_bb"),
    "J_vv": ("J_vvv", "J_bvv"),
    "J_bv": ("J_bvv", "J_bbv"),
    "mass": ("J_bbv", "J_bbb"),  # half of J_bb
}


def over(law: Law, v: Ball, x: Ball) -> Point:
    """The noisy law over balls of any width.

    Raises:
        Unresolved: a variance v that is not proven to be positive.
    """
    if not v > 0:
        raise Unresolved(f"variance {v.str(5)} is not positive")
    narrow = all(value.is_exact() or value.rel_accuracy_bits() > precision() // 2 for value in (v, x))
    return law.at(v, x) if narrow else BoxPoint(law, v, x)


class FinitePoint:
    """The noisy law at one position, by a path integral over u with a proven error."""

    def __init__(self, law: FiniteLaw, u: ComplexBall, v: Ball, x: Ball) -> None:
        self.g = law.stieltjes(u)
        self._law, self._u, self._v, self._x = law, u, v, x
        self._values: dict[str, Ball] = {}

    def value(self, name: str) -> Ball:
        """J, J_v, J_b, J_vv, J_bv or mass at b = x."""
        if not self._values:
            generated = self._law.generated
            ends = generated.finite_primitives(self._u, self.g, self._v, self._x)
            paths = path_integral(self._law, self._u, self._v, self._x)
            names = ("J", "J_v", "J_b", "J_vv", "J_bv", "mass")
            for key, end, path in zip(names, ends, paths, strict=True):
                self._values[key] = generated.finite_value(end - path)
        return self._values[name]


def setting_names(model: str) -> tuple[str, ...]:
    """Settings of the target of a generated model, in the order of `rational_law`."""
    parameters = import_module(f"generated.{model}.balls").law_parameters.__code__
    return parameters.co_varnames[: parameters.co_argcount]


def rational_law(model: str, *settings: Fraction) -> RationalLaw:
    """Law of a generated model at exact positive settings, in the order of `setting_names`.

    Raises:
        ValueError: a setting that is not positive.
    """
    require(all(value > 0 for value in settings), "settings", settings, "must be positive")
    generated = import_module(f"generated.{model}.balls")
    zero_mass = max(Fraction(0), generated.zero_mass(*settings))
    return RationalLaw(model, lambda: generated.law_parameters(*(ball(value) for value in settings)), zero_mass)


def marchenko_pastur(kappa0: Fraction) -> RationalLaw:
    """The target S0 = W0 W0^T/sqrt(m0 d) of rank ratio kappa0 > 0."""
    return rational_law("tied_attention", kappa0, Fraction(1))


def finite_list(eigenvalues: Sequence[Fraction], weights: Sequence[Fraction]) -> FiniteLaw:
    """Law of exact eigenvalues, equal ones merged; weights of sum one.

    Raises:
        ValueError: a negative eigenvalue, or weights that are not positive or do not sum to one.
    """
    require(all(value >= 0 for value in eigenvalues), "eigenvalues", eigenvalues, "must not be negative")
    require(
        all(weight > 0 for weight in weights) and sum(weights) == 1, "weights", weights, "must be positive, of sum one"
    )
    merged: dict[Fraction, Fraction] = {}
    for eigenvalue, weight in zip(eigenvalues, weights, strict=True):
        merged[eigenvalue] = merged.get(eigenvalue, Fraction(0)) + weight
    distinct = sorted(merged, reverse=True)
    return FiniteLaw(
        lambda: [ball(value) for value in distinct],
        [merged[value] for value in distinct],
        merged.get(Fraction(0), Fraction(0)),
    )


def power_law(gamma: Fraction, dim: int, second_moment: Fraction) -> FiniteLaw:
    """`dim` eigenvalues proportional to k^-gamma, scaled to the given second moment (theory note, section 1).

    Raises:
        ValueError: an argument that is not positive.
    """
    require(
        gamma > 0 and dim >= 1 and second_moment > 0, "gamma, dim, q0", (gamma, dim, second_moment), "must be positive"
    )

    def eigenvalues() -> list[Ball]:
        powers = [arb(k) ** -ball(gamma) for k in range(1, dim + 1)]
        energy = sum((value * value for value in powers), arb(0)) / dim
        scale = (ball(second_moment) / energy).sqrt()
        return [scale * value for value in powers]

    return FiniteLaw(eigenvalues, [Fraction(1, dim)] * dim, Fraction(0))


def require(holds: bool, name: str, value: object, rule: str) -> None:
    """Raise the ValueError that names an argument outside its domain."""
    if not holds:
        raise ValueError(f"{name} = {value}: {rule}")
