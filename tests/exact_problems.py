"""Problems at exact parameters, and the values of an independent solver that they are compared
with.
"""

import json
from fractions import Fraction
from pathlib import Path

from numeric import model as models
from numeric.exact.exact_problem import ExactProblem
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.rational_target import RationalTarget
from numeric.problem.problem import Problem
from numeric.proven_laws.rational import rational_law

ROWS = json.loads((Path(__file__).parent / "check_values_models.json").read_text())
HALF = Fraction(1, 2)


def exact(name, alpha, kappa0, decay, noise, width=Fraction(1)):
    """The problem at exact parameters; `decay` 0 stands for the limit."""
    stated = {"kappa0": kappa0, "positive": HALF, "scale": Fraction(1)}
    law = rational_law(
        name, **{setting: stated[setting] for setting in models.structure(name).target_settings}
    )
    target = MarchenkoPastur(float(kappa0))
    if models.structure(name).has_negative_eigenvalues:
        target = RationalTarget.of(
            name, **{setting: float(value) for setting, value in stated.items()}
        )
    rounded = Problem(
        float(alpha), target, float(decay or 1), float(noise), float(width), model=name
    )
    known = {"alpha": alpha, "lambda_": decay, "kappa": width, "Delta": noise}
    return ExactProblem(
        rounded, law, known | {"beta": Fraction(1), "beta0": Fraction(1), "T": Fraction(2)}
    )
