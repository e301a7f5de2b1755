"""Cross attention trained by cross-entropy: as `cross_attention`, but for the loss."""

from dataclasses import replace

from derive.language.channel import cross_entropy
from derive.models.cross_attention import MODEL as SQUARE

MODEL = replace(
    SQUARE,
    name="cross_attention_cross_entropy",
    title="Cross attention with cross-entropy, product target, two queries, two keys, nuclear norm "
    "penalty",
    channel=replace(SQUARE.channel, loss=cross_entropy),
)
