"""Energy of the largest eigenvalues of the noisy law only, in ball arithmetic: what interpolation of narrow students needs.

Theory note, sections 4 and 5.
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
    """Energy of the largest eigenvalues only, a share `width` < 1 of them, or of the positive part if that is less."""
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
    """The mass asked for lies above every point of a gap of the noisy law; `args[0]` is one of them."""


class Quantile:
    """Eigenvalue of the noisy law above which it has a given mass, as a function of v; remembers where it was found before."""

    def __init__(self, law: Law, mass: Fraction) -> None:
        self._law, self._mass = law, mass
        self._known: list[tuple[float, float]] = []  # (log v, log Q) in order of v

    def __call__(self, v: Ball) -> Ball:
        """The quantile for every v of the ball; any point of a gap of the law that will do.

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
        if point.g.imag.is_zero() and value.contains(
            0
        ):  # exact: outside the support all angles are multiples of pi
            raise _InGap(Q)
        return Excess(value, self._law.generated.third_derivatives(point.g)[3] / 2)

    def _start(self, v: Ball) -> Ball:
        """The quantile to about START_BITS: Newton steps from where it was for close v, else by bracketing it."""
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
        after = bisect(self._known, (place,))
        near = self._known[max(0, after - 1) : after + 1]
        if not near:
            return None
        slope = (
            (near[-1][1] - near[0][1]) / (near[-1][0] - near[0][0])
            if near[-1][0] > near[0][0]
            else 0.5
        )
        root = arb(exp(near[0][1] + slope * (place - near[0][0])))
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
        """Positive positions with more and less mass above them than asked for.

        Raises:
            Unresolved: no more mass than asked for is positive, or the precision does not show it.
        """
        if not over(self._law, v, arb(0)).value("mass") > ball(self._mass):
            raise Unresolved("no more mass than asked for is seen to be positive")
        low = high = v.sqrt().mid()
        while not self._excess(v, high).value < 0:
            high = high * 2
        while not self._excess(v, low).value > 0:
            low = low / 2
        return low, high
