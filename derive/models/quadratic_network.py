"""Quadratic network: one token, its score with itself as the output, square loss (arXiv
2505.17958).
"""

from derive.language.channel import Channel, identity, square_loss
from derive.language.index import SymmetricScores
from derive.language.model import Model
from derive.language.notation import sym
from derive.models.tied_attention import MODEL as TIED

(Delta,) = sym("Delta")

MODEL = Model(
    name="quadratic_network",
    title="Quadratic network, Marchenko-Pastur target, trace penalty",
    matrix=TIED.matrix,
    target=TIED.target,
    index=SymmetricScores(tokens=1),
    channel=Channel(identity, square_loss, noise_inside=Delta / 2),
)
