"""Labels that are drawn, as the next token of a language model is: each token of the target picks
one token with the probabilities of its softmax, and the student is trained by cross-entropy.
"""

from dataclasses import replace

from derive.language.channel import row_softmax
from derive.models.tied_attention_cross_entropy import MODEL as SHARES

MODEL = replace(
    SHARES,
    name="drawn_attention_cross_entropy",
    title="Labels drawn from attention, cross-entropy, Marchenko-Pastur target, two tokens, trace "
    "penalty",
    channel=replace(SHARES.channel, drawn=row_softmax),
)
