"""Free entropy: order parameters times conjugates, averaged envelope of the channel, and prior
(theory note, section 2).
"""

import sympy as sp

from derive.language.matrix import Kind
from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import Display, Step
from derive.passes.free_entropy.prior import denoiser
from derive.passes.free_entropy.replicas import channel_limit, conjugates, coupling_term, overlaps

ENVELOPE = sp.Function("M")
SPECTRAL = sp.Function("J")

_GAUSSIAN = {
    Kind.POSITIVE: "symmetric Gaussian",
    Kind.SYMMETRIC: "symmetric Gaussian",
    Kind.GENERAL: "Gaussian",
}
_KEPT = {
    Kind.POSITIVE: "Positivity of $S$ keeps the eigenvalues $x$ of $Y$ above",
    Kind.SYMMETRIC: "Eigenvalues $x$ of $Y$ are kept at both ends, where $|x|$ is above",
    Kind.GENERAL: "Singular values $x$ of $Y$ are kept above",
}
_ENERGY = {
    Kind.POSITIVE: r"\int(x-b)_+^2\,d\mu_v(x)",
    Kind.SYMMETRIC: r"\int(|x|-b)_+^2\,d\mu_v(x)",
    Kind.GENERAL: r"\int(|x|-b)_+^2\,d\mu_v(x)$, $\mu_v$ the symmetrised law of the singular "
    r"values, $v=\delta^2",
}

alpha, m, q, V, v, b, x = sym("alpha m q V v b x")


def free_entropy(model: Model) -> sp.Expr:
    """Return e(m, q, V, mh, qh, Vh), with the averaged envelope M(m, q, V) and the spectral
    function J(v, b) as symbols.
    """
    prior = denoiser(model)
    psi = prior.prefactor * SPECTRAL(prior.variance, prior.threshold)
    return alpha * ENVELOPE(m, q, V) + coupling_term() - psi


def steps(model: Model) -> tuple[Step, ...]:
    """Return the steps from the replicated action to the free entropy."""
    h, z, gaussian = sp.symbols("h z g_2", real=True)
    field = channel_limit(z, gaussian).field
    prior = denoiser(model)
    return (
        Step(
            "action",
            "Replicated action and replica-symmetric ansatz",
            r"The data average of $Z^r$ depends on the replicas only through "
            r"$Q_{ab}=\operatorname{tr}(S_a^TS_b)/d$ and "
            r"$m_a=\operatorname{tr}(S_a^TS_0)/d$. At inverse temperature $1/\tau$ replicas differ "
            r"by $V\tau$. Traces are computed "
            r"for $r\times r$ matrices at symbolic $r$; then $r\to0$, then $\tau\to0$.",
            (
                Display(r"Q_{aa}", overlaps().diagonal),
                Display(r"\hat Q_{aa}", conjugates().diagonal),
                Display(
                    r"\operatorname{Tr} Q\hat Q", sp.expand(overlaps().times(conjugates()).trace())
                ),
                Display(
                    r"-\lim_{\tau,r\to0}\tfrac{\tau}{r}\left(-r\tfrac{m\hat "
                    r"m}{\tau}-\tfrac12\operatorname{Tr}Q\hat Q\right)",
                    coupling_term(),
                ),
            ),
        ),
        Step(
            "channel",
            "Channel: one index per unit variance",
            r"A Hubbard-Stratonovich field $g_2$ decouples the replicas of the index; at $r\to0$ "
            r"one replica is Gaussian around "
            r"the field $w$ with variance $V\tau$, so that $\tau\to0$ leaves a minimisation: the "
            r"Moreau envelope of the loss.",
            (
                Display("w", field),
                Display(
                    r"M(m,q,V) = \mathbb E\min_h\Big\{\ell(h,z)+\sum_{a\le "
                    r"b}\tfrac{1}{1+\delta_{ab}}(\cdot)\Big\},\quad(\cdot)",
                    (h - sp.Symbol("w")) ** 2 / (2 * V),
                ),
            ),
        ),
        Step(
            "prior",
            "Prior: denoising of a matrix",
            rf"A {_GAUSSIAN[model.matrix.kind]} matrix decouples the replicas of $S$; $\tau\to0$ "
            r"leaves a maximisation that "
            rf"is diagonal in the basis of $Y=S_0+\delta G$. {_KEPT[model.matrix.kind]} the "
            r"threshold $b$.",
            (
                Display("s^*(x)", prior.gain * (x - prior.threshold)),
                Display("b", prior.threshold),
                Display(r"v=\delta^2", prior.variance),
                Display(r"\Psi(\hat m,\hat q,\hat V)", prior.prefactor * SPECTRAL(v, b)),
            ),
        ),
        Step(
            "free_entropy",
            "Free entropy",
            r"The limit of $(\min L)/d^2$ is the stationary value of $e$; "
            rf"$J(v,b)={_ENERGY[model.matrix.kind]}$.",
            (
                Display(
                    "e",
                    alpha * ENVELOPE(m, q, V) + coupling_term() - prior.prefactor * SPECTRAL(v, b),
                ),
            ),
        ),
    )
