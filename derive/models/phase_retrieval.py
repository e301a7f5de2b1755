"""Phase retrieval: the label is the absolute value of the noisy score of one token, and that of the
student's score is trained by the square loss.
"""

from dataclasses import replace

import sympy as sp

from derive.language.channel import Channel, Numbers, square_loss
from derive.language.notation import sym
from derive.models.signed_quadratic_network import MODEL as SIGNED

(Delta,) = sym("Delta")


def absolute_value(h: sp.Matrix) -> Numbers:
    """Return the absolute values of all indices, row by row."""
    return [sp.Abs(one) for one in h]


MODEL = replace(
    SIGNED,
    name="phase_retrieval",
    title="Phase retrieval by a signed quadratic network, square loss, target with eigenvalues of "
    "both signs, trace penalty",
    channel=Channel(absolute_value, square_loss, noise_inside=Delta / 2),
)
