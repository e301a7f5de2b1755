"""Cross attention: queries against keys of other tokens, S = Q K^T/sqrt(m d), softmax rows, square
loss.
"""

from dataclasses import replace

import sympy as sp

from derive.language.index import CrossScores
from derive.language.matrix import Kind
from derive.language.model import Model
from derive.language.notation import sym
from derive.language.target import Target
from derive.models.tied_attention import MODEL as TIED

g, kappa0, r, scale = sym("g kappa0 r scale")

MODEL = Model(
    name="cross_attention",
    title="Cross attention, product target, two queries, two keys, nuclear norm penalty",
    matrix=replace(TIED.matrix, kind=Kind.GENERAL),
    target=Target(
        name="product of factors",
        g=g,
        inverse_stieltjes=1 / g + kappa0 / 2 / (r - g) - kappa0 / 2 / (r + g),
        definitions=((r, sp.sqrt(kappa0) / scale),),
    ),
    index=CrossScores(queries=2, keys=2),
    channel=TIED.channel,
)
