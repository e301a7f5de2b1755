"""Limit lambda -> 0+ below interpolation, as a system of two equations in balls.

The loss of the model does not enter. See sections 5 and 12 of the theory note.
"""

from dataclasses import dataclass

from flint import arb

from numeric.exact.exact_problem import ExactProblem
from numeric.maths.ball_systems import Linearised, Vector
from numeric.maths.balls import Ball, Unresolved
from numeric.model import ChannelKind
from numeric.prediction.prediction import prediction_of
from numeric.saddle.zero_decay import interpolating_roots

FITTED = 1e-12  # maximum rounding error of the loss of a sample at its own label


@dataclass(frozen=True)
class VanishingDecay:
    """Saddle-point equations in the unknowns (v, b)."""

    problem: ExactProblem

    def start(self) -> tuple[float, float]:
        """Return the root in float64 selected by weight decay, which has the least trace.

        Raises:
            Unresolved: there is no root.
        """
        roots = list(interpolating_roots(self.problem.rounded))
        if not roots:
            rule = "no student fits every label at this alpha"
            raise Unresolved(f"{rule}: above interpolation, give a small lambda")
        v, b, _ = min(roots, key=lambda root: -root[2].J_b)
        return v, b

    def system(self, at: Vector) -> Linearised:
        """Return the count of free directions and the balance of v, with their slopes."""
        problem, (v, b) = self.problem, at
        energy = problem.energy(v, b)

        def fitted(free: Ball) -> Ball:
            return problem.call("interpolation_ratio", free, problem.call("label_numbers"))

        balance = problem.call(
            "interpolating_residual", energy.J, energy.J_v, energy.J_b, v, b, q0=problem.q0
        )
        slopes = problem.call("interpolating_slopes", energy.J_vv, energy.J_bv, energy.mass, v, b)
        return Linearised(
            (fitted(energy.J_v) - problem.alpha, balance),
            ((fitted(energy.J_vv), fitted(energy.J_bv)), slopes),
        )

    def quantities(self, at: Vector) -> dict[str, Ball | None]:
        """Return every quantity of a solution by name.

        V is None because it is infinite. A test error without a closed form and a training loss
        that does not vanish are also None.
        """
        problem, (v, b) = self.problem, at
        energy = problem.energy(v, b)
        c = problem.call("interpolating_gain")
        nothing, any_V = arb(0), arb(1)
        stiffness = arb(1)  # it affects only V
        spectral = energy.J, energy.J_v, energy.J_b
        m, q, _ = problem.call("overlaps", *spectral, v, b, c, stiffness)
        least = nothing if prediction_of(problem.rounded).fitted_error().value < FITTED else None
        closed = problem.rounded.channel is ChannelKind.CLOSED
        rho = problem.call("noisy_variance", problem.q0)
        return {
            "m": m, "q": q, "V": None, "mh": nothing, "qh": nothing, "Vh": nothing,
            "delta": v.sqrt(), "b": b, "c": c,
            "train_error": least,
            "test_error": problem.call("closed_envelope", m, q, any_V, rho)[-1] if closed else None,
            "estimation_error": problem.call("estimation_error", problem.q0, m, q),
            "denoising_error": problem.call("denoising_error", problem.q0, *spectral, v, b),
            "free_entropy": least,
        }  # fmt: skip
