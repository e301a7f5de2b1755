"""Saddle point of a quadratic loss in two unknowns, the variance v and the susceptibility V, with
the derivatives of its equations.

The averaged envelope is linear in m and q. Therefore their conjugates are functions of V alone, and
so are the threshold and the gain of the denoising problem. Two equations remain, the balances of v
and of V. They are elementary functions of J and its derivatives, and interval Newton can prove a
root of them.
"""

from functools import cache

import sympy as sp

from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import Display, Function, Step, other_symbols, outputs, require_zero
from derive.passes.channel.quadratic import all_quadratic, averages
from derive.passes.free_entropy.prior import denoiser
from derive.passes.free_entropy.saddle_point import conjugates_at, reduced

m, q, V, mh, qh, Vh, v, b, c, b_V = sym("m q V mh qh Vh v b c b_V")
J, J_v, J_b, J_vv, J_bv, mass = sym("J J_v J_b J_vv J_bv mass")


def applies(model: Model) -> bool:
    """Return whether the channel has a closed form and the penalty sets a threshold."""
    return all_quadratic(model) and model.matrix.linear != 0


@cache
def reduced_state(model: Model) -> dict[sp.Symbol, sp.Expr]:
    """Return the conjugates mh and Vh, the threshold b and the gain c as functions of V."""
    found, prior = conjugates_at(model, averages(model)["M"]), denoiser(model)
    known = {name: sp.factor(found[name]) for name in (mh, Vh)}
    for conjugate in known.values():
        for overlap in (m, q):
            require_zero(
                sp.diff(conjugate, overlap), "the envelope of a quadratic loss is linear in m and q"
            )
    return known | {
        b: sp.factor(prior.threshold.xreplace(known)),
        c: sp.factor(prior.gain.xreplace(known)),
    }


@cache
def balances(model: Model) -> dict[sp.Symbol, sp.Expr]:
    """Return the expressions that vanish at the saddle point, by unknown (v and V), with the
    threshold and J, J_v, J_b at (v, b) as symbols.
    """
    at, prior, order = reduced_state(model), denoiser(model), reduced(model)
    known = {name: at[name] for name in (mh, Vh, c)}
    overlaps = {name: order[name].xreplace(known) for name in (m, q)}
    field = conjugates_at(model, averages(model)["M"])[qh].subs(overlaps)
    noise = prior.variance.xreplace({qh: field, mh: at[mh]})
    return {v: sp.cancel(v - noise), V: sp.cancel(V - order[V].xreplace(known))}


def total_derivative(balance: sp.Expr, along: sp.Symbol) -> sp.Expr:
    """Return the total derivative of a balance in v or V; b depends on V, and J on both.

    Args:
        balance: one of `balances`.
        along: v or V.
    """
    by_v, by_b = {J: J_v, J_v: J_vv, J_b: J_bv}, {J: J_b, J_v: J_bv, J_b: 2 * mass}

    def through(slopes: dict[sp.Symbol, sp.Expr]) -> sp.Expr:
        return sum(sp.diff(balance, name) * rate for name, rate in slopes.items())

    indirect = through(by_v) if along == v else (sp.diff(balance, b) + through(by_b)) * b_V
    return sp.cancel(sp.diff(balance, along) + indirect)


def _function(
    name: str, meaning: str, given: tuple[sp.Symbol, ...], values: dict[str, sp.Expr]
) -> Function:
    """Return a function of `given`, followed by the settings that its values contain."""
    settings = other_symbols(*values.values(), known=given)
    return Function(name, meaning, (*given, *settings), outputs(values))


def step(model: Model) -> Step:
    """Return the step of the saddle point in two unknowns."""
    at, both = reduced_state(model), balances(model)
    state = {str(name): at[name] for name in (mh, Vh, b, c)} | {"b_V": sp.factor(sp.diff(at[b], V))}
    slopes = {f"{left}_{by}": total_derivative(both[left], by) for left in (v, V) for by in (v, V)}
    return Step(
        "closed_saddle",
        "The saddle point of a quadratic loss in two unknowns",
        r"The envelope is linear in $m$ and $q$: $\hat m$, $\hat V$, $b$ and $c$ are functions of "
        r"$V$, and the saddle point is a "
        r"common root of two elementary functions of $v$ and $V$.",
        (
            *(Display(sp.latex(name), at[name]) for name in (mh, Vh, b, c)),
            *(Display(f"0_{{{left}}}", both[left]) for left in (v, V)),
        ),
        (
            _function(
                "closed_state",
                "conjugates, threshold and gain at V, and the slope of the threshold",
                (V,),
                state,
            ),
            _function(
                "closed_balances",
                "what vanishes at the saddle point, J, J_v, J_b at (v, b)",
                (J, J_v, J_b, v, b, V),
                {f"balance_{left}": both[left] for left in (v, V)},
            ),
            _function(
                "closed_slopes",
                "slopes of both balances in v and V",
                (J, J_v, J_b, J_vv, J_bv, mass, v, b, V, b_V),
                slopes,
            ),
        ),
    )
