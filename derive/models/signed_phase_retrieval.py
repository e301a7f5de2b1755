"""Phase retrieval of matrices of either sign: as `phase_retrieval`, but neither labels nor the
class of the matrices tell the sign of the target.
"""

from dataclasses import replace

from derive.models.phase_retrieval import MODEL as POSITIVE
from derive.models.signed_quadratic_network import MODEL as SIGNED

MODEL = replace(
    POSITIVE,
    name="signed_phase_retrieval",
    title="Phase retrieval of either sign, square loss, signed Marchenko-Pastur target, nuclear "
    "norm penalty",
    matrix=SIGNED.matrix,
    target=SIGNED.target,
)
