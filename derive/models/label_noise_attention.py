"""Tied attention with noise on each entry of the label, softmax(beta0 (h0 + sqrt(Delta) xi)) +
sqrt(label_noise) zeta.
"""

from dataclasses import replace

from derive.language.setting import setting
from derive.models.tied_attention import MODEL as CLEAN

label_noise = setting(
    "label_noise", "variance of the noise on each entry of the label", samples="1/20 1/10 1/2"
)

MODEL = replace(
    CLEAN,
    name="label_noise_attention",
    title="Tied attention with noise on the label, Marchenko-Pastur target, two tokens, trace "
    "penalty",
    channel=replace(CLEAN.channel, noise_on_label=label_noise),
)
