"""Timings of curve points with proven digits against their targets.

Run: python -m benchmarks.proven_curves        (prints a table; half a minute)
"""

from fractions import Fraction

from benchmarks.timing import Case, command, report
from numeric import model
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.rational_target import RationalTarget
from numeric.problem.problem import Problem
from numeric.proven_laws.rational import rational_law
from numeric.proven_saddle.exact_problem import ExactProblem
from numeric.proven_saddle.proven_point import proven_point

HALF = Fraction(1, 2)


def point(name: str, alpha: Fraction, decay: Fraction) -> ExactProblem:
    """The model at kappa0 = Delta = 1/2; `decay` 0 stands for the limit."""
    stated = {"kappa0": HALF, "positive": HALF, "scale": Fraction(1)}
    shape = model.structure(name)
    law = rational_law(name, *(stated[setting] for setting in shape["target"]))
    signed = RationalTarget.of(name, kappa0=0.5, positive=0.5, scale=1.0) if shape["negative_eigenvalues"] else None
    rounded = Problem(float(alpha), signed or MarchenkoPastur(0.5), float(decay or 1), 0.5, model=name)
    settings = {"alpha": alpha, "lambda_": decay, "kappa": 1, "Delta": HALF, "beta": 1, "beta0": 1, "T": 2}
    return ExactProblem(rounded, law, {symbol: Fraction(value) for symbol, value in settings.items()})


CURVE = ("curve", "--kappa0", "1/2", "--noise", "1/2", "--digits", "50")
WHOLE = (*CURVE, "--model", "quadratic_network", "--alpha", "1/2", "--lambda", "1/20")
DECAY, NONE, FEW = Fraction(1, 20), Fraction(0), Fraction(1, 10)
QUADRATIC = point("quadratic_network", HALF, DECAY)
CASES = (
    Case("quadratic network, 50 digits", lambda: proven_point(QUADRATIC, 50), 9, 0.5),
    Case("quadratic network, 1000 digits", lambda: proven_point(QUADRATIC, 1000), 5, 0.5),
    Case("linear attention, 50 digits", lambda: proven_point(point("linear_attention", HALF, DECAY), 50), 9, 0.5),
    Case(
        "signed quadratic network, 50", lambda: proven_point(point("signed_quadratic_network", HALF, DECAY), 50), 9, 0.5
    ),
    Case(
        "tied attention, lambda -> 0, 50 digits", lambda: proven_point(point("tied_attention", FEW, NONE), 50), 9, 0.5
    ),
    Case(
        "cross attention, lambda -> 0, 50 digits", lambda: proven_point(point("cross_attention", FEW, NONE), 50), 9, 0.5
    ),
    Case("quadratic network, 50 digits, start to exit", lambda: command(*WHOLE), 5, 1.0),
)

if __name__ == "__main__":
    report(CASES)
