"""Classification by a quadratic network: the label is the sign of the noisy score of one token, and
the score is trained by the logistic loss.
"""

from dataclasses import replace

from derive.language.channel import Channel, identity, logistic_loss, sign
from derive.language.notation import sym
from derive.models.quadratic_network import MODEL as SQUARE

(Delta,) = sym("Delta")

MODEL = replace(
    SQUARE,
    name="sign_quadratic_logistic",
    title="Signs of a quadratic network, logistic loss, Marchenko-Pastur target, trace penalty",
    channel=Channel(identity, logistic_loss, label=sign, noise_inside=Delta / 2),
)
