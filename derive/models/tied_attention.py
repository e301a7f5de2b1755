"""Tied single-head attention with a Marchenko-Pastur target, two tokens, weight decay (arXiv
2509.24914, section 2).

Student S = W W^T/sqrt(m d), target S0 likewise of rank ratio kappa0; index h_ab = (x_a^T S x_b -
delta_ab tr S)/sqrt(d), which with that of the target has the covariance (1 + delta_ab) [[q, m], [m,
q0]]: the variances below are its factor; label softmax(beta0 (h0 + sqrt(Delta) xi)) with xi
symmetric of variance (1 + delta_ab)/2; square loss; weight decay lambda ||W||^2 = lambda
sqrt(kappa) d tr S.
"""

import sympy as sp

from derive.language.channel import Channel, row_softmax, square_loss
from derive.language.index import SymmetricScores
from derive.language.matrix import Kind, Matrix
from derive.language.model import Model
from derive.language.notation import sym
from derive.language.target import Target

Delta, beta, beta0, g, kappa, kappa0, lambda_, r, scale = sym(
    "Delta beta beta0 g kappa kappa0 lambda_ r scale"
)

MODEL = Model(
    name="tied_attention",
    title="Tied attention, Marchenko-Pastur target, two tokens, trace penalty",
    target=Target(
        name="Marchenko-Pastur",
        g=g,
        inverse_stieltjes=1 / g + kappa0 / (r - g),
        definitions=((r, sp.sqrt(kappa0) / scale),),
    ),
    matrix=Matrix(Kind.POSITIVE, linear=lambda_ * sp.sqrt(kappa), rank_ratio=kappa),
    index=SymmetricScores(tokens=2),
    channel=Channel(row_softmax, square_loss, beta, beta0, noise_inside=Delta / 2),
)
