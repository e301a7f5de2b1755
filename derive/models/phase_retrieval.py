"""Phase retrieval: the label is the absolute value of the noisy score of one token, and that of the
student's score is trained by the square loss.
"""

from dataclasses import replace

import sympy as sp

from derive.language.channel import Channel, Numbers, square_loss
from derive.language.notation import sym
from derive.models.quadratic_network import MODEL as KNOWN_SIGN

(Delta,) = sym("Delta")


def absolute_value(h: sp.Matrix) -> Numbers:
    """Return the absolute values of all indices, row by row."""
    return [sp.Abs(one) for one in h]


MODEL = replace(
    KNOWN_SIGN,
    name="phase_retrieval",
    title="Phase retrieval by a quadratic network, square loss, Marchenko-Pastur target, trace "
    "penalty",
    channel=Channel(absolute_value, square_loss, noise_inside=Delta / 2),
)
