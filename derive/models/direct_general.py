"""Cross attention trained directly: any matrix with a Frobenius penalty."""

from dataclasses import replace

from derive.language.matrix import Kind, Matrix
from derive.language.notation import sym
from derive.models.cross_attention import MODEL as FACTORS

(lambda_,) = sym("lambda_")

MODEL = replace(
    FACTORS,
    name="direct_general",
    title="Cross attention trained directly, product target, two queries, two keys, Frobenius "
    "penalty",
    matrix=Matrix(Kind.GENERAL, quadratic=lambda_),
)
