"""Quantities of a solution in ball arithmetic."""

from flint import arb

from numeric.exact.exact_problem import ExactProblem
from numeric.maths.balls import Ball


def quantities(
    problem: ExactProblem, overlaps: tuple[Ball, ...], averages: tuple[Ball, ...]
) -> dict[str, Ball]:
    """Return the quantities of a solution by name.

    Args:
        problem: the problem.
        overlaps: overlaps (m, q, V).
        averages: channel averages (M, M_m, M_q, M_V, train, test) at these overlaps.
    """
    m, q, V = overlaps
    M, *slopes, train, test = averages
    conjugates = mh, qh, Vh = problem.call("conjugates", problem.alpha, *slopes)
    v, b, c = problem.call("reduced_variables", mh, qh, Vh)
    energy = problem.energy(v, b)
    spectral = energy.J, energy.J_v, energy.J_b
    values = {
        "m": m, "q": q, "V": V, "mh": mh, "qh": qh, "Vh": Vh, "delta": v.sqrt(), "b": b, "c": c,
        "train_error": train, "test_error": test,
        "estimation_error": problem.call("estimation_error", problem.q0, m, q),
        "denoising_error": problem.call("denoising_error", problem.q0, *spectral, v, b),
        "free_entropy": problem.call(
            "free_entropy", problem.alpha, M, *overlaps, *conjugates, energy.J
        ),
    }  # fmt: skip
    return {name: arb(value) for name, value in values.items()}  # some are integers
