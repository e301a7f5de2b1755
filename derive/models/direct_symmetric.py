"""Tied attention trained directly: a symmetric matrix of any sign with a Frobenius penalty."""

from dataclasses import replace

from derive.language.matrix import Kind, Matrix
from derive.language.notation import sym
from derive.models.tied_attention import MODEL as FACTORS

(lambda_,) = sym("lambda_")

MODEL = replace(
    FACTORS,
    name="direct_symmetric",
    title="Tied attention trained directly, Marchenko-Pastur target, two tokens, Frobenius penalty",
    matrix=Matrix(Kind.SYMMETRIC, quadratic=lambda_),
)
