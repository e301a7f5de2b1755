"""Hard attention learned by soft attention: each token of the target attends to its largest score
alone, and the student's softmax is trained by cross-entropy.
"""

from dataclasses import replace

from derive.language.channel import Channel, cross_entropy, hard_attention, row_softmax
from derive.language.notation import sym
from derive.models.tied_attention import MODEL as SOFT

beta, Delta = sym("beta Delta")

MODEL = replace(
    SOFT,
    name="hard_attention_cross_entropy",
    title="Labels of hard attention, cross-entropy, Marchenko-Pastur target, two tokens, trace "
    "penalty",
    channel=Channel(
        row_softmax, cross_entropy, beta=beta, label=hard_attention, noise_inside=Delta / 2
    ),
)
