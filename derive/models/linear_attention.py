"""Linear attention: all scores of two tokens are the output, square loss."""

from dataclasses import replace

from derive.language.channel import Channel, identity, square_loss
from derive.models.tied_attention import MODEL as SOFTMAX

MODEL = replace(
    SOFTMAX,
    name="linear_attention",
    title="Linear attention, Marchenko-Pastur target, two tokens, trace penalty",
    channel=Channel(identity, square_loss, noise_inside=SOFTMAX.channel.noise_inside),
)
