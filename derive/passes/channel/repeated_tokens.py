"""Quadratic losses of samples that share tokens of a finite vocabulary (theory note, section 14).

If the loss splits into blocks and no block joins two scores of a token with itself, a block of a
token is a problem of its own. Its k samples act as one of k times the loss, with the mean of
their noises; the scatter of the noises about their mean adds a constant. The number of samples of a
token has a Poisson law, and that of the samples of a token in one sample is larger by one.
"""

from functools import cache

import sympy as sp

from derive.language.model import Model
from derive.language.notation import family, sym
from derive.language.step import (
    Display,
    Function,
    Step,
    factored,
    other_symbols,
    outputs,
    require_zero,
    scalar,
)
from derive.passes.channel.block import elastic_energy, label_numbers, loss
from derive.passes.channel.quadratic import all_quadratic, average, closed_losses, minimiser
from derive.passes.channel.token_norms import deficit, has_norms, t, t0
from derive.passes.channel.visible import Block, blocks

m, q, V, rho, alpha, nu, k = sym("m q V rho alpha nu repeats")


def applies(model: Model) -> bool:
    """Return whether the loss is quadratic and has blocks of one score of a token with itself."""
    return all_quadratic(model) and has_norms(model.index) and all(map(_is_simple, blocks(model)))


def _is_simple(block: Block) -> bool:
    """Return whether a block is one score of a token with itself, or has no such score."""
    return block.size == 1 if any(block.norms) else True


@cache
def repeated_losses(block: Block, model: Model) -> dict[str, sp.Expr]:
    """Return M and the training loss per sample of a score that k samples see, the test loss of a
    new sample with the same token, and the mean square response of the dual field.

    Args:
        block: block of one score of a token with itself.
        model: the model.
    """
    (u,), (w,), (z,) = (family(letter, 1) for letter in "uwz")
    labels = family("y", len(block.label))
    names = ("noise_mean", "noise_new", "z_new")
    noises, new_noises, new_z = ((*sp.symbols(f"{n}1:{len(labels) + 1}"),) for n in names)
    new = new_z[0]
    numbers, cost = label_numbers(block, model), loss(block, model)

    def cost_at(index: sp.Expr, target: sp.Symbol, noise: tuple[sp.Symbol, ...]) -> sp.Expr:
        values = [number.subs(z, target) + xi for number, xi in zip(numbers, noise, strict=True)]
        return cost.subs({u: index, **dict(zip(labels, values, strict=True))}, simultaneous=True)

    energy = elastic_energy(block) + k * cost_at(u, z, noises)
    least = minimiser(energy, sp.Matrix([u]))[u]
    inside, on_label = model.channel.noise_inside, model.channel.noise_on_label
    sigma, own = block.covariance[0], deficit * block.norms[0]
    known = (rho - inside) * sigma - t0**2 * own  # of the target score without noise
    with_target = m * sigma - t * t0 * own
    ones = sp.eye(len(labels))
    second = sp.diag(
        sp.Matrix(
            [
                [q * sigma - t**2 * own, with_target, with_target],
                [with_target, known + inside * sigma / k, known],
                [with_target, known, known + inside * sigma],
            ]
        ),
        on_label / k * ones,
        on_label * ones,
    )
    variables = [w, z, new, *noises, *new_noises]
    alone = cost_at(sp.Integer(0), new, new_noises) - cost_at(
        sp.Integer(0), sp.Integer(0), (sp.Integer(0),) * len(labels)
    )
    of_noise = sp.diag(inside * sigma, on_label * ones)
    scatter = (1 - 1 / k) * average(alone, [new, *new_noises], of_noise)
    dual = -sp.diff(elastic_energy(block), w).subs(u, least)
    return {
        "M": factored(average(energy.subs(u, least), variables, second) / k + scatter),
        "train": factored(average(cost_at(least, z, noises), variables, second) + scatter),
        "test": factored(average(cost_at(least, new, new_noises), variables, second)),
        "F": factored((sigma * sp.diff(dual, w)) ** 2 / k),
    }


def check_no_repetition(block: Block, model: Model) -> None:
    """Check that a token of one sample has the losses of new tokens, and that an unseen token has
    the test error of new tokens.

    Args:
        block: block of one score of a token with itself.
        model: the model.
    """
    found, single = repeated_losses(block, model), closed_losses(block, model)
    for name in ("M", "train"):
        require_zero(sp.simplify(found[name].subs(k, 1) - single[name]), f"{name} of one sample")
    require_zero(sp.simplify(found["test"].subs(k, 0) - single["test"]), "test of an unseen token")


@cache
def step(model: Model) -> Step:
    """Return the step.

    Args:
        model: a model to which it applies.
    """
    own = [block for block in blocks(model) if any(block.norms)]
    for block in own:
        check_no_repetition(block, model)

    def total(name: str) -> sp.Expr:
        return factored(sum(block.copies * repeated_losses(block, model)[name] for block in own))

    def change(name: str) -> sp.Expr:
        """Return the difference to a sample of new tokens."""
        return factored(total(name) - total(name).subs(k, 0 if name == "test" else 1))

    energy = change("M")
    slopes = {f"M_{by}": factored(sp.diff(energy, by)) for by in (m, q, V, t)}
    values = {"M": energy, **slopes, **{name: change(name) for name in ("train", "test", "F")}}
    known = (k, m, q, V, rho, t, t0, deficit)
    return Step(
        "repeated_tokens",
        "Quadratic losses of samples that share tokens",
        r"The score of a token with itself is a block of its own. Its $k$ samples act as one of "
        r"$k$ times the loss, with the mean of their noises. In a sample $k-1$ has the Poisson law "
        r"of mean $T\alpha/\nu$, and in a new sample $k$ has it. The functions state the changes "
        r"against a sample of new tokens.",
        (Display(r"M(k)-M(1)", energy),),
        (
            Function(
                "repeated_tokens",
                "change of M, its derivatives, the errors and the response if tokens repeat",
                (*known, *other_symbols(*values.values(), known=known)),
                outputs(values),
            ),
            scalar(
                "samples_of_token",
                "mean number of samples in which a token occurs",
                (alpha, nu),
                r"T\alpha/\nu",
                sum(block.copies for block in own) * alpha / nu,
            ),
        ),
    )
