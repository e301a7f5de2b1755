"""Timings and errors of learning curves against their targets and against the field's usual route,
as ratios in one run.

Run: python -m benchmarks.curves
    # prints tables; some minutes, most of them the usual route and the reference values
"""

import time
from collections.abc import Callable

import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize

from benchmarks.timing import Case, report, seconds
from numeric.channel.interfaces import ChannelRule
from numeric.channel.softmax.pair_average import Resolution
from numeric.channel.softmax_rules import QuadratureRule, SampledRule
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.maths.sobol import Sampling
from numeric.model import float64 as physics
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.saddle.curve import learning_curve
from numeric.saddle.equations import SaddleMap
from numeric.saddle.solve import solve

FIGURE_ONE = Problem(alpha=1.0, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)
FOUR_TOKENS = Problem(alpha=1.0, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5, tokens=4)
CONVEX, JUMPING = Overlaps(1.2, 1.3, 0.5), Overlaps(1.1, 1.4, 30.0)
# The cheapest rules with the errors asked for: without jumps few labels per line do, with jumps
# many are needed.
SMOOTH = QuadratureRule(Resolution(outer=10, across=32, panels=6, nodes=12, tolerance=1e-3))
ROUGH = QuadratureRule(Resolution(outer=32, across=20, panels=4, nodes=9, tolerance=2e-3))
FINEST = QuadratureRule(Resolution(outer=64, across=90, panels=8, nodes=16, tolerance=1e-5))
FINE_SAMPLING, JUMP_SAMPLING = SampledRule(Sampling(2**18, 6)), SampledRule(Sampling(2**16, 12))
SAMPLES, ERROR = 400, 1e-3  # of the usual route: what is timed, and the error it is extrapolated to


def both_curves() -> None:
    for width in (0.75, 1.0):
        problem = Problem(
            alpha=1.0, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5, width=width
        )
        learning_curve(problem, np.geomspace(0.05, 4, 30).tolist())


CASES = (
    Case("two tokens, one average, convex", lambda: SMOOTH.average(CONVEX, FIGURE_ONE), 9, 0.05),
    Case("two tokens, one average, jumps", lambda: ROUGH.average(JUMPING, FIGURE_ONE), 9, 0.05),
    Case("one point, cold start", lambda: solve(FIGURE_ONE), 5, 1.0),
    Case("60 points: both curves of Figure 1", both_curves, 1, 15.0),
    Case(
        "four tokens, one average, convex",
        lambda: FINE_SAMPLING.average(CONVEX, FOUR_TOKENS),
        3,
        2.0,
    ),
    Case(
        "four tokens, one average, jumps",
        lambda: JUMP_SAMPLING.average(JUMPING, FOUR_TOKENS),
        3,
        2.0,
    ),
)


def conjugates(rule: ChannelRule, overlaps: Overlaps, problem: Problem) -> np.ndarray:
    """Conjugates (mh, qh, Vh), shape (replicates, 3)."""
    return np.exp(SaddleMap(problem, rule).conjugates(rule.average(overlaps, problem)).pack())


def errors() -> None:
    """Print the relative errors of the conjugates: against a much finer rule, or from the scatter
    of the replicates.
    """
    for name, overlaps, rule, sampled in (
        ("convex", CONVEX, SMOOTH, FINE_SAMPLING),
        ("jumps", JUMPING, ROUGH, JUMP_SAMPLING),
    ):
        exact = conjugates(FINEST, overlaps, FIGURE_ONE)[0]
        off = np.abs(conjugates(rule, overlaps, FIGURE_ONE)[0] / exact - 1).max()
        runs = conjugates(sampled, overlaps, FOUR_TOKENS)
        scatter = (runs.std(axis=0, ddof=1) / np.sqrt(len(runs)) / runs.mean(axis=0)).max()
        print(
            f"relative error of (mh, qh, Vh), {name}: two tokens {off:.1e} (target 1e-6), four "
            f"{scatter:.1e} (target 1e-4)"
        )


def usual_average(
    overlaps: Overlaps, problem: Problem, samples: int, rng: np.random.Generator
) -> np.ndarray:
    """The usual channel average: fresh Gaussian samples, one optimiser call each; terms of mh,
    shape (samples,).
    """
    teacher, independent, target = physics.field_coefficients(overlaps.m, overlaps.q, problem.rho)
    axes = np.reshape(physics.principal_axes(), (2, 2)).astype(float)
    terms = np.empty(samples)
    for k in range(samples):
        gamma1, gamma2 = axes @ rng.normal(size=2), axes @ rng.normal(size=2)
        w, p = (
            teacher * gamma1 + independent * gamma2,
            physics.label(target * gamma1, problem.beta0),
        )
        u = minimize(
            lambda u, w=w, p=p: physics.sample_energy(*u, *w, *p, overlaps.V, problem.beta), w
        ).x
        f = np.array(physics.dual_field(*u, *w, overlaps.V))
        F1, F2 = f @ gamma1, f @ gamma2
        terms[k] = -physics.channel_derivatives(
            overlaps.m, overlaps.q, overlaps.V, problem.rho, 0.0, 0.0, F1, F2
        )[1]
    return terms


def usual_spectral(v: float, b: float, target: MarchenkoPastur) -> tuple[float, float, float]:
    """The usual spectral integrals: adaptive quadrature of the density, derivatives by
    differences.
    """

    def J(v: float, b: float) -> float:
        low, high = target.support(v)[-1]
        return quad(
            lambda x: (x - b) ** 2 * float(target.density(v, np.array(x))),
            max(low, b),
            high,
            limit=200,
        )[0]

    step = 1e-5
    return (
        J(v, b),
        (J(v + step, b) - J(v - step, b)) / (2 * step),
        (J(v, b + step) - J(v, b - step)) / (2 * step),
    )


def timed(work: Callable[[], object]) -> tuple[float, object]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def against_usual() -> None:
    """Print the time of a point by the usual route at a relative error of 1e-3 of mh, over that of
    a solved point here.
    """
    solution = solve(FIGURE_ONE).unwrap()
    overlaps, rng = Overlaps(solution.m, solution.q, solution.V), np.random.default_rng(0)
    took, terms = timed(lambda: usual_average(overlaps, FIGURE_ONE, SAMPLES, rng))
    terms = np.asarray(terms)
    needed = (terms.std() / terms.mean() / ERROR) ** 2
    spectral, _ = timed(lambda: usual_spectral(solution.delta**2, solution.b, MarchenkoPastur(0.5)))
    step = took / SAMPLES * needed + spectral
    ours = seconds(lambda: solve(FIGURE_ONE), 5)
    print(
        f"usual route: {took / SAMPLES * 1e3:.2f} ms a sample, {needed:.2g} samples for {ERROR:g}, "
        f"{spectral:.2f} s of spectral integrals, "
        f"{step:.0f} s a step; at {solution.iterations} steps "
        f"{step * solution.iterations / ours:.2g} times our {ours:.2f} s a point"
    )


if __name__ == "__main__":
    report(CASES)
    errors()
    against_usual()
