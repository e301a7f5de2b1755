"""Tied attention with a Frobenius penalty beside the weight decay of the factors."""

from dataclasses import replace

from derive.language.notation import sym
from derive.models.tied_attention import MODEL as FACTORS

(mu,) = sym("mu")

MODEL = replace(
    FACTORS,
    name="elastic_attention",
    title="Tied attention with weight decay and a Frobenius penalty, Marchenko-Pastur target, two "
    "tokens",
    matrix=replace(FACTORS.matrix, quadratic=mu),
)
