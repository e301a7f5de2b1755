"""Self-attention with separate queries and keys, S = Q K^T/sqrt(m d), in which no token attends to
itself: softmax rows over the other tokens, square loss.
"""

from dataclasses import replace

from derive.language.index import MaskedScores
from derive.models.cross_attention import MODEL as CROSS

MODEL = replace(
    CROSS,
    name="untied_attention",
    title="Untied attention of three tokens, diagonal masked, product target, nuclear norm penalty",
    index=MaskedScores(tokens=3),
)
