"""Quadratic network of either sign: S = W+ W+^T - W- W-^T, as is its target."""

from dataclasses import replace

import sympy as sp

from derive.language.matrix import Kind
from derive.language.notation import sym
from derive.language.target import Target
from derive.models.quadratic_network import MODEL as POSITIVE

g, kappa0, positive, r, scale = sym("g kappa0 positive r scale")

MODEL = replace(
    POSITIVE,
    name="signed_quadratic_network",
    title="Quadratic network of either sign, signed Marchenko-Pastur target, nuclear norm penalty",
    matrix=replace(POSITIVE.matrix, kind=Kind.SYMMETRIC),
    target=Target(
        name="signed Marchenko-Pastur",
        g=g,
        inverse_stieltjes=1 / g + kappa0 * positive / (r - g) - kappa0 * (1 - positive) / (r + g),
        definitions=((r, sp.sqrt(kappa0) / scale),),
    ),
)
