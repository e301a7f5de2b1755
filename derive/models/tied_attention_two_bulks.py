"""Tied attention whose target is the sum of two independent Wishart matrices: a sum of two free
Poisson laws.

As `tied_attention` but for the law of the target: S0 = scale1 A1 + scale2 A2, A_i of rank ratio
kappa_i with eigenvalues of mean sqrt(kappa_i). With scales far apart the spectrum of the target has
two bulks.
"""

from dataclasses import replace

import sympy as sp

from derive.language.notation import sym
from derive.language.target import Target
from derive.models.tied_attention import MODEL as ONE_BULK

g, kappa1, kappa2, r1, r2, scale1, scale2 = sym("g kappa1 kappa2 r1 r2 scale1 scale2")

MODEL = replace(
    ONE_BULK,
    name="tied_attention_two_bulks",
    title="Tied attention, target a sum of two free Poisson laws, two tokens, trace penalty",
    target=Target(
        name="two free Poisson laws",
        g=g,
        inverse_stieltjes=1 / g + kappa1 / (r1 - g) + kappa2 / (r2 - g),
        definitions=((r1, sp.sqrt(kappa1) / scale1), (r2, sp.sqrt(kappa2) / scale2)),
    ),
)
