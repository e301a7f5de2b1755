"""Search for two visible indices with the same outputs, to decide whether a label determines the
index.
"""

from functools import cache

import numpy as np
import sympy as sp

from derive.language.model import Model
from derive.language.notation import family
from derive.language.setting import notation_of
from derive.passes.channel.visible import Block

PLACES, STARTS, STEPS = 8, 60, 60
REACH = (
    5.0  # range of indices in the search; farther out bounded outputs are constant up to rounding
)
SAME, APART = 1e-11, 1e-3  # tolerance of equal outputs, and least distance of two indices
_MODULES = [
    {
        "Logistic": lambda x: 1 / (1 + np.exp(-x)),
        "Softplus": lambda x: np.logaddexp(0, x),
        "Sign": np.sign,
    },
    "numpy",
]


@cache
def is_injective(block: Block, model: Model) -> bool:
    """Return whether no second index with the same outputs was found.

    The search uses Gauss-Newton steps from many random starts towards the outputs of random
    indices.

    Args:
        block: block of visible indices.
        model: the model.
    """
    u = family("u", block.size)
    values = {one: notation_of(one).samples[0] for one in model.channel_settings}
    numbers = [sp.sympify(number).subs(values) for number in block.output]
    outputs = sp.lambdify(u, numbers, _MODULES)
    slopes = sp.lambdify(u, sp.Matrix(numbers).jacobian(u).tolist(), _MODULES)
    rng = np.random.default_rng(0)
    for _ in range(PLACES):
        place = rng.uniform(-0.5, 0.5, block.size) * REACH
        goal = np.array(outputs(*place), dtype=float)
        for start in rng.uniform(-1, 1, (STARTS, block.size)) * REACH:
            other = _solution(outputs, slopes, goal, start)
            if other is not None and np.max(np.abs(other - place)) > APART:
                return False
    return True


def _solution(outputs, slopes, goal, start):  # type: ignore[no-untyped-def]
    """Return an index whose output is the goal, found from `start`; None if the steps do not
    converge.
    """
    at = start
    for _ in range(STEPS):
        missing = np.array(outputs(*at), dtype=float) - goal
        if np.max(np.abs(missing)) < SAME:
            return at
        slope = np.array(slopes(*at), dtype=float)
        step, *_ = np.linalg.lstsq(slope, missing, rcond=1e-9)
        longest = np.max(np.abs(step))
        at = at - step * min(1.0, 1.0 / longest if longest else 1.0)
        if not np.all(np.isfinite(at)) or np.max(np.abs(at)) > REACH:
            return None
    return None
