"""Law of the target's eigenvalues, defined by its inverse Stieltjes transform."""

from dataclasses import dataclass, replace

import sympy as sp

from derive.language.errors import ModelError, require_exact
from derive.language.setting import notation_of, require_setting

MAX_PARTS = (
    2  #: maximum number of free Poisson parts; closed forms of three have thousands of terms
)


@dataclass(frozen=True)
class Target:
    """Law of the eigenvalues of S0.

    Attributes:
        name: short description.
        g: the variable of z(g).
        inverse_stieltjes: z(g), rational in `g`; the pole 1/g at g = 0 normalises the law.
        definitions: parameters of the law in terms of settings of the command line (theory note,
            section 4).
    """

    name: str
    g: sp.Symbol
    inverse_stieltjes: sp.Expr
    definitions: tuple[tuple[sp.Symbol, sp.Expr], ...]

    def __post_init__(self) -> None:
        z, g = sp.sympify(self.inverse_stieltjes), self.g
        require_exact(f"target {self.name}: z(g)", z)
        if not z.is_rational_function(g):
            raise ModelError(
                f"target {self.name}: z(g) = {z} must be rational in {g}; give a sum of free "
                "Poisson laws"
            )
        residue = sp.cancel(g * z).subs(g, 0)
        if residue != 1:
            raise ModelError(
                f"target {self.name}: g z(g) -> {residue} at g = 0, must be 1 (total mass one)"
            )
        parts = sp.degree(sp.denom(sp.together(self.r_transform)), g)
        if parts > MAX_PARTS:
            raise ModelError(
                f"target {self.name}: z(g) has {parts} free Poisson parts, at most {MAX_PARTS} are "
                "derived; leave some out, or "
                "state its eigenvalues by --eigenvalues"
            )
        self._require_settings()
        for values in self._reference_values():
            if failed := _failed_property(self.r_transform.subs(values), g):
                at = ", ".join(f"{symbol} = {value}" for symbol, value in values.items())
                raise ModelError(
                    f"target {self.name}: z(g) = {z} does not belong to any law: {failed}"
                    + (f" at {at}" if at else "")
                    + "; give 1/g and terms rate/(1/jump - g), jumps of either sign"
                )
        if not self.zero_mass.free_symbols:
            raise ModelError(
                f"target {self.name}: its share of zero eigenvalues {self.zero_mass} depends on no "
                "setting; add a rate"
            )

    def _require_settings(self) -> None:
        """Check that each parameter is a setting, or is defined by settings."""
        for symbol, value in self.definitions:
            if symbol not in self.parameters:
                raise ModelError(
                    f"target {self.name}: {symbol} is defined but not in z(g); leave it out"
                )
            if (
                stray := value.free_symbols
                & set(self.parameters)
                & {name for name, _ in self.definitions}
            ):
                raise ModelError(
                    f"target {self.name}: {symbol} = {value} is defined by {min(stray, key=str)}, "
                    "itself defined"
                )
        for name, value in self.definitions:
            require_exact(f"target {self.name}: {name}", value)
        for symbol in self.settings:
            require_setting(f"target {self.name}", symbol)

    def _reference_values(self) -> list[dict[sp.Symbol, sp.Expr]]:
        """Return the parameters of the law at the reference values of its settings."""
        samples = {symbol: notation_of(symbol).samples for symbol in self.settings}
        points = len(next(iter(samples.values()), (None,)))
        settings = [
            {symbol: values[k] for symbol, values in samples.items()} for k in range(points)
        ]
        # Rational to six digits, so that every pole has an exact root; the checks do not depend on
        # the digits.
        return [
            {
                symbol: sp.Rational(str(sp.N(value.subs(point), 6)))
                for symbol, value in self.parameters_in_settings().items()
            }
            for point in settings
        ]

    @property
    def parameters(self) -> tuple[sp.Symbol, ...]:
        """Symbols of the law, in alphabetical order."""
        return tuple(sorted(self.inverse_stieltjes.free_symbols - {self.g}, key=str))

    def parameters_in_settings(self) -> dict[sp.Symbol, sp.Expr]:
        """Return each symbol of the law in terms of settings of the command line."""
        return {symbol: dict(self.definitions).get(symbol, symbol) for symbol in self.parameters}

    @property
    def settings(self) -> tuple[sp.Symbol, ...]:
        """Settings of the command line that determine the law, in alphabetical order."""
        return tuple(
            sorted(
                set().union(
                    *(value.free_symbols for value in self.parameters_in_settings().values())
                ),
                key=str,
            )
        )

    @property
    def zero_mass(self) -> sp.Expr:
        """Mass at 0 (if positive): g ~ zero_mass/z for z -> 0, so it is g z(g) at infinite g."""
        inverse = sp.Symbol("inverse")
        return sp.cancel((self.g * self.inverse_stieltjes).subs(self.g, 1 / inverse)).subs(
            inverse, 0
        )

    @property
    def has_negative_eigenvalues(self) -> bool:
        """True if a free Poisson part has jumps below zero, that is a pole of R at negative g."""
        values = self._reference_values()[0]
        return any(
            pole < 0
            for pole in sp.roots(
                sp.Poly(sp.denom(sp.together(self.r_transform.subs(values))), self.g)
            )
        )

    @property
    def is_symmetric(self) -> bool:
        """True if the law equals its mirror image."""
        return sp.cancel(self.inverse_stieltjes + self.inverse_stieltjes.subs(self.g, -self.g)) == 0

    def mirrored(self) -> "Target":
        """Return the law of the eigenvalues with opposite signs: z(g) -> -z(-g)."""
        mirrored = sp.Add(
            *(-part.subs(self.g, -self.g) for part in sp.Add.make_args(self.inverse_stieltjes))
        )
        return replace(self, name=f"{self.name}, mirrored", inverse_stieltjes=mirrored)

    @property
    def r_transform(self) -> sp.Expr:
        """Return R(g) = z(g) - 1/g; its Taylor coefficients are the free cumulants."""
        return self.inverse_stieltjes - 1 / self.g


def _failed_property(r_transform: sp.Expr, g: sp.Symbol) -> str | None:
    """Return the property of a sum of free Poisson laws that the R-transform lacks; None if it has
    them all.

    A rational R belongs to a freely infinitely divisible law if and only if it maps the lower
    half-plane into itself: real simple poles of the right sign, and at most linear growth
    (Bercovici and Voiculescu 1993).
    """
    numerator, denominator = sp.fraction(sp.together(r_transform))
    polynomial, rest = sp.div(sp.Poly(numerator, g), sp.Poly(denominator, g))
    if any(coefficient.is_real is not True for coefficient in polynomial.all_coeffs()):
        return "it is not real on the real axis"
    if polynomial.degree() >= 1:
        return (
            f"it grows like g^{polynomial.degree()} at infinity, so that eigenvalues reach "
            "below zero"
        )
    if polynomial.as_expr() != 0:
        return f"all eigenvalues are shifted by {polynomial.as_expr()}, which is not derived"
    for pole, order in sp.roots(sp.Poly(denominator, g)).items():
        if not pole.is_real:
            return f"its pole {pole} is not real"
        if order > 1:
            return f"its pole {pole} is not simple"
        residue = -(rest.as_expr() / sp.diff(denominator, g)).subs(g, pole)
        if not residue > 0:
            return (
                f"the rate at its pole {pole} is {sp.cancel(residue)}, not positive: no "
                "positive measure"
            )
    return None
