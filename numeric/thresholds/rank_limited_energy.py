"""Energy of the largest eigenvalues of the noisy law in ball arithmetic, for narrow students.

Source: theory note, sections 4 and 5.
"""

from bisect import bisect
from collections.abc import Callable
from fractions import Fraction
from math import exp, log

from flint import arb

from numeric.maths.ball_roots import locate, newton_step, proven_near
from numeric.maths.balls import START_BITS, Ball, Unresolved, ball, polish, precision, working
from numeric.proven_laws.energy import energy_above
from numeric.proven_laws.law import Law, over
from numeric.thresholds.interpolation_roots import Energy, Excess, full_rank_energy


def rank_limited_energy(law: Law, width: Fraction) -> Callable[[Ball], Energy]:
    """Return the energy of the largest eigenvalues or, if fewer, of the positive ones.

    Args:
        law: law of the eigenvalues of the target.
        width: share of the eigenvalues, below 1.
    """
    unlimited, quantile = full_rank_energy(law), Quantile(law, width)

    def energy(v: Ball) -> Energy:
        excess = over(law, v, arb(0)).value("mass") - ball(width)
        if excess < 0:
            return unlimited(v)
        above = energy_above(law, v, quantile(v), arb(0), ball(width))
        limited = Energy(above.J, above.J_v, above.J_vv)
        return limited if excess > 0 else limited.union(unlimited(v))

    return energy


class _InGap(Exception):
    """The required mass lies above a gap of the noisy law; `args[0]` is a point of the gap."""


class Quantile:
    """Eigenvalue Q(v) of the noisy law above which it has a given mass; caches earlier results.

    Args:
        law: law of the eigenvalues of the target.
        mass: mass above the quantile.
    """

    def __init__(self, law: Law, mass: Fraction) -> None:
        self._law, self._mass = law, mass
        self._known: list[tuple[float, float]] = []  # (log v, log Q) in order of v

    def __call__(self, v: Ball) -> Ball:
        """Return the quantile for all v of the ball, which may be any point of a gap.

        Raises:
            Unresolved: the ball v is too wide or the precision too low.
        """
        try:
            with working(min(precision(), START_BITS)):
                root = self._start(v.mid())
            root = polish(newton_step(lambda Q: self._excess(v.mid(), Q)), root, 2 * START_BITS)
            return proven_near(lambda Q: self._excess(v, Q), root)
        except _InGap as gap:
            Q = gap.args[0].mid()
            if self._law.at(v, Q).g.imag.is_zero():
                return Q
            raise Unresolved("the gap of the noisy law closes within the ball v") from None

    def _excess(self, v: Ball, Q: Ball) -> Excess:
        point = over(self._law, v, Q)
        value = point.value("mass") - ball(self._mass)
        # Outside the support all angles are exact multiples of pi.
        if point.g.imag.is_zero() and value.contains(0):
            raise _InGap(Q)
        return Excess(value, self._law.generated.third_derivatives(point.g)[3] / 2)

    def _start(self, v: Ball) -> Ball:
        """Return the quantile to about START_BITS, by Newton steps from cached results or
        bisection.
        """
        if not 0 < float(v) < float("inf"):
            raise Unresolved("v is outside the range of float")
        place = log(float(v))
        root = self._from_known(v, place)
        if root is None:
            root = locate(lambda Q: self._excess(v, Q), *self._bracket(v)).mid()
        if not 0 < float(root) < float("inf"):
            raise Unresolved("the quantile is outside the range of float")
        self._known.insert(bisect(self._known, (place,)), (place, log(float(root))))
        return root

    def _from_known(self, v: Ball, place: float) -> Ball | None:
        """Return the quantile from Newton steps that start at cached results, None if they fail."""
        after = bisect(self._known, (place,))
        near = self._known[max(0, after - 1) : after + 1]
        if not near:
            return None
        (x0, y0), (x1, y1) = near[0], near[-1]
        slope = (y1 - y0) / (x1 - x0) if x1 > x0 else 0.5
        root = arb(exp(y0 + slope * (place - x0)))
        try:
            for _ in range(6):
                here = self._excess(v, root)
                step = here.value / here.slope
                root = (root - step).mid()
                if not root > 0:
                    return None
                if abs(step) < root * 2.0 ** (-START_BITS // 2):
                    return root
        except Unresolved:
            return None
        return None

    def _bracket(self, v: Ball) -> tuple[Ball, Ball]:
        """Return positive points with more and less mass above them than required.

        Raises:
            Unresolved: the positive mass does not provably exceed the required one.
        """
        if not over(self._law, v, arb(0)).value("mass") > ball(self._mass):
            raise Unresolved("the positive mass is not proven to exceed the required mass")
        low = high = v.sqrt().mid()
        while not self._excess(v, high).value < 0:
            high = high * 2
        while not self._excess(v, low).value > 0:
            low = low / 2
        return low, high
