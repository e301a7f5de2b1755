"""Classification by a quadratic network with margin: as `sign_quadratic_logistic`, but for the
hinge loss, which has a kink.
"""

from dataclasses import replace

from derive.language.channel import hinge_loss
from derive.models.sign_quadratic_logistic import MODEL as LOGISTIC

MODEL = replace(
    LOGISTIC,
    name="sign_quadratic_hinge",
    title="Signs of a quadratic network, hinge loss, Marchenko-Pastur target, trace penalty",
    channel=replace(LOGISTIC.channel, loss=hinge_loss),
)
