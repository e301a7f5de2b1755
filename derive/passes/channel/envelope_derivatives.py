"""Averaged envelope M and its derivatives as averages over samples, for any number of tokens
(theory note, section 3).
"""

import sympy as sp

from derive.language.notation import sym
from derive.language.step import Function, outputs, require_zero
from derive.passes.free_entropy.replicas import channel_limit

m, q, V, rho = sym("m q V rho")
train, R, F1, F2, tr_H = sym("train R F1 F2 tr_H")


def field_coefficients() -> dict[str, sp.Expr]:
    """Return the coefficients of the fields: w = teacher gamma1 + independent gamma2 and z = target
    gamma1, with gamma1, gamma2 ~ N(0, C) per unit.
    """
    z, gaussian = sp.symbols("z g_2", real=True)
    field = sp.expand(channel_limit(z, gaussian).field)
    independent = sp.sqrt(q - m**2 / rho)
    require_zero(
        sp.expand(sp.diff(field, gaussian) ** 2 - independent**2), "independent part of the field"
    )
    return {
        "teacher": sp.powsimp(sp.diff(field, z) * sp.sqrt(rho)),
        "independent": independent,
        "target": sp.sqrt(rho),
    }


def average_derivatives() -> dict[str, sp.Expr]:
    """Return M and its derivatives as averages over samples.

    By the envelope theorem d(Moreau)/dw = -f with f = Sigma^-1 (u* - w)/V.
    """
    coefficients = field_coefficients()

    def chain(variable: sp.Symbol) -> sp.Expr:
        return -F1 * sp.diff(coefficients["teacher"], variable) - F2 * sp.diff(
            coefficients["independent"], variable
        )

    elastic_part = R / (2 * V)
    return {
        "M": train + elastic_part,
        "M_m": chain(m),
        "M_q": chain(q),
        "M_V": sp.diff(elastic_part, V),
    }


def unlearned_derivatives() -> dict[str, sp.Expr]:
    """Return M and its derivatives at S = 0 (m = q = V = 0), where w = 0 and the envelope is the
    loss itself.

    There d/dq follows from Gaussian integration by parts, E tr(Sigma H)/2, and d/dV = -E f^T Sigma
    f/2 (with R = E f^T Sigma f).
    """
    teacher = sp.diff(field_coefficients()["teacher"], m)
    return {"M": train, "M_m": -F1 * teacher, "M_q": tr_H / 2, "M_V": -R / 2}


def functions() -> tuple[Function, ...]:
    """Return the functions for the fields of a sample, and for the derivatives from averages."""
    return (
        Function(
            "field_coefficients",
            "student field = teacher gamma1 + independent gamma2; target field = target gamma1",
            (m, q, rho),
            outputs(field_coefficients(), r"\text{{{}}}"),
        ),
        Function(
            "channel_derivatives",
            "M and its derivatives from sample averages",
            (m, q, V, rho, train, R, F1, F2),
            outputs(average_derivatives()),
        ),
        Function(
            "unlearned_derivatives",
            "M and its derivatives at S = 0 from sample averages",
            (rho, train, R, F1, tr_H),
            outputs(unlearned_derivatives()),
        ),
    )
