"""Tied attention trained by cross-entropy: as `tied_attention`, but for the loss."""

from dataclasses import replace

from derive.language.channel import cross_entropy
from derive.models.tied_attention import MODEL as SQUARE

MODEL = replace(
    SQUARE,
    name="tied_attention_cross_entropy",
    title="Tied attention with cross-entropy, Marchenko-Pastur target, two tokens, trace penalty",
    channel=replace(SQUARE.channel, loss=cross_entropy),
)
