"""Energy of samples that share tokens of a finite vocabulary (theory note, section 14).

A token that occurs in several samples has one score with itself, which all of them see. Scores of
pairs of tokens are new in each sample. The replicated action is Gaussian in all scores before the
losses act, and its part from a token appears once, whatever the number of its samples. So the
samples no longer have an envelope each: the energy of all scores is minimised together. Tokens are
the nodes of a graph, and samples join T of them.
"""

from functools import cache

import sympy as sp

from derive.language.model import Model
from derive.language.notation import family, sym
from derive.language.pieces import signs_of
from derive.language.step import Display, Function, Step, other_symbols, outputs, require_zero
from derive.passes.channel.token_norms import has_norms
from derive.passes.channel.visible import visible_map
from derive.passes.free_entropy.replicas import envelope_energy

V, alpha, nu = sym("V alpha nu")


def missing(model: Model) -> str | None:
    """Return why a model has no equations of a vocabulary, None if it has."""
    if model.draws:
        return "is not derived: its labels have a few values, not one for each index"
    if signs_of(model.loss_of_index):
        return "is not derived: its loss has kinks"
    if has_norms(model.index):
        return None
    return "changes nothing: no score is of a token with itself, and pairs hardly repeat"


def check_single_samples(model: Model) -> None:
    """Check that samples without shared tokens have the energy of the visible indices.

    This is the limit of infinitely many tokens. The energy of the scores h, (h - w)^2/(2 V Sigma)
    each, is minimised over all scores with the same visible indices u = A h.

    Args:
        model: the model.
    """
    A, index = visible_map(model), model.index
    variances = [index.variance(entry) for entry in index.entries]
    per_unit = envelope_energy(sp.Integer(1))
    away = sp.Matrix(sp.symbols(f"a1:{len(variances) + 1}"))
    goal = sp.Matrix(family("u", A.rows))
    forces = sp.Matrix(sp.symbols(f"f1:{A.rows + 1}"))
    # Lagrange multipliers of A h = u: the scores move by Sigma A^T times the forces.
    moved = sp.diag(*variances) * A.T * forces
    (force,) = sp.linsolve(list(A * moved - goal), *forces)
    least = dict(zip(away, moved.subs(dict(zip(forces, force, strict=True))), strict=True))
    energy = sum(
        per_unit * one**2 / variance for one, variance in zip(away, variances, strict=True)
    )
    covariance = A * sp.diag(*variances) * A.T
    visible = per_unit * (goal.T * covariance.inv() * goal)[0]
    require_zero(sp.expand(energy.subs(least) - visible), "energy of samples of new tokens")


def conjugate_of_moment() -> sp.Expr:
    """Return qh from the stationarity of the energy in V.

    The elastic energies are (u - w)^2/(4 V) of a token and (u - w)^2/(2 V) of a pair, and the dual
    fields f = (u - w)/(2 V) and (u - w)/V. There are nu tokens and alpha samples over d^2.
    """
    node, pair, qh = sp.symbols("f_v f_e qh")
    stiffness = sp.Symbol("stiffness")  # 1/V, at which u is stationary
    per_unit = envelope_energy(sp.Integer(1)).subs(V, 1 / stiffness)
    away = {node: 2 * node * V, pair: pair * V}
    elastic = nu * per_unit * away[node] ** 2 / 2 + alpha * per_unit * away[pair] ** 2
    slope = sp.diff(elastic, stiffness).subs(stiffness, 1 / V) * sp.diff(1 / V, V)
    # The action contains - V qh/2.
    (found,) = sp.solve(slope + qh / 2, qh)
    require_zero(
        sp.expand(found - 2 * nu * node**2 - alpha * pair**2), "conjugate of the second moment"
    )
    return found


@cache
def step(model: Model) -> Step:
    """Return the step, for a model with scores of a token with itself."""
    check_single_samples(model)
    indices, cost = model.symbols, model.loss_of_index
    y = family("y", len(model.label_of_index))
    curvature = {
        f"{one}_{other}": sp.diff(cost, one, other)
        for i, one in enumerate(indices)
        for other in indices[i:]
    }
    z = family("z", len(indices))
    by_target = dict(zip(indices, z, strict=True))
    label = [number.subs(by_target, simultaneous=True) for number in model.label_of_index]
    mixed = {
        f"{one}_z{k}": sum(
            sp.diff(cost, one, number) * sp.diff(value, other)
            for number, value in zip(y, label, strict=True)
        )
        for one in indices
        for k, other in enumerate(z, 1)
    }
    return Step(
        "token_graph",
        "Samples that share tokens",
        r"Samples draw their tokens from $N = \nu d^2$ vectors. The score of a token $v$ with "
        r"itself has one field $(z_v, \omega_v)$ and one minimiser $u_v$ for all its samples; "
        r"those of pairs $e$ are new in each sample. The energy of all scores, "
        r"$\sum_v (u_v-\omega_v)^2/(4V)+\sum_e (u_e-\omega_e)^2/(2V)+\sum\ell$, is minimised "
        r"together. $f_v=(u_v-\omega_v)/(2V)$ and $f_e=(u_e-\omega_e)/V$ are the dual fields. "
        r"Without shared tokens the energy is a sum over samples: that of new tokens.",
        (Display(r"\hat q", conjugate_of_moment()),),
        (
            Function(
                "index_curvature",
                "curvature of the loss of one sample in each two indices",
                (*indices, *y, *other_symbols(cost, known=(*indices, *y))),
                outputs(curvature, r"\partial_{{{}}}", "d_{}"),
            ),
            Function(
                "index_label_slope",
                "change of its slope with the noisy target indices, through the label",
                (*indices, *y, *z, *other_symbols(*mixed.values(), known=(*indices, *y, *z))),
                outputs(mixed, r"\partial_{{{}}}", "d_{}"),
            ),
        ),
    )
