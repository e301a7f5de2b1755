"""Table of all symbols: name, glyph, LaTeX, meaning, unit, domain, and three reference values
inside the domain.

The k-th reference values of all symbols form one consistent point (m^2 < q rho, kappa0 < 1, ...).
Oracles and `derive diff` evaluate every equation at these points.
"""

from dataclasses import dataclass

import sympy as sp

from derive.language.errors import UnknownSymbol


@dataclass(frozen=True)
class Notation:
    """One symbol of the theory; `samples` are exact values inside `domain`."""

    symbol: sp.Symbol
    glyph: str
    latex: str
    meaning: str
    unit: str
    domain: str
    samples: tuple[sp.Expr, ...]


def _values(text: str) -> tuple[sp.Expr, ...]:
    return tuple(sp.Rational(value) for value in text.split())


def _real(
    name: str, glyph: str, latex: str, meaning: str, unit: str, domain: str, samples: str
) -> Notation:
    positive = True if domain.startswith("(0,") else None
    symbol = sp.Symbol(name, real=True, positive=positive)
    return Notation(symbol, glyph, latex, meaning, unit, domain, _values(samples))


_POSITIVE = "(0, inf)"
_REAL = "(-inf, inf)"

TABLE: tuple[Notation, ...] = (
    # Settings of the problem.
    _real("alpha", "α", r"\alpha", "sample ratio n/d²", "1", _POSITIVE, "1/5 3/2 4"),
    _real(
        "kappa0", "κ₀", r"\kappa_0", "rank ratio of the target m₀/d", "1", _POSITIVE, "1/2 1/20 3/4"
    ),
    _real("kappa", "κ", r"\kappa", "width ratio of the student m/d", "1", _POSITIVE, "3/4 1 2/5"),
    _real("lambda_", "λ", r"\lambda", "weight decay on W", "1", _POSITIVE, "1/100 1/2 1/20"),
    _real("mu", "μ", r"\mu", "weight of the Frobenius penalty", "1", _POSITIVE, "1/20 1/4 1/100"),
    _real(
        "positive",
        "p",
        "p",
        "share of the target's jumps that are positive",
        "1",
        "(0, 1)",
        "1/2 3/5 1/4",
    ),
    _real(
        "Delta",
        "Δ",
        r"\Delta",
        "variance of the label noise inside the softmax",
        "index²",
        _POSITIVE,
        "1/2 1 1/5",
    ),
    _real(
        "beta", "β", r"\beta", "inverse temperature of the student", "1/index", _POSITIVE, "1 2 3/4"
    ),
    _real(
        "beta0",
        "β₀",
        r"\beta_0",
        "inverse temperature of the target",
        "1/index",
        _POSITIVE,
        "1 1/2 5/4",
    ),
    _real("T", "T", "T", "tokens per sequence", "1", _POSITIVE, "2 3 4"),
    _real(
        "scale", "ς", r"\varsigma", "factor on the target matrix", "1", _POSITIVE, "1 11/10 9/10"
    ),
    _real("n", "n", "n", "number of samples", "1", _POSITIVE, "2000 60000 500"),
    _real("d", "d", "d", "dimension of a token", "1", _POSITIVE, "100 200 10"),
    _real(
        "gamma",
        "γ",
        r"\gamma",
        "exponent of the target's eigenvalues, proportional to k^-gamma",
        "1",
        "(1/2, inf)",
        "3/4 2 1",
    ),
    # Target law.
    _real(
        "zero_mass",
        "μ₀",
        r"\mu_0",
        "share of zero eigenvalues of the target",
        "1",
        "(0, 1)",
        "1/2 19/20 1/4",
    ),
    _real(
        "r",
        "r",
        "r",
        "inverse jump of the free Poisson target",
        "1/eigenvalue",
        _POSITIVE,
        "5/7 1/4 7/8",
    ),
    _real(
        "kappa1",
        "κ₁",
        r"\kappa_1",
        "rank ratio of the first part of the target",
        "1",
        _POSITIVE,
        "1/3 1/30 1/2",
    ),
    _real(
        "kappa2",
        "κ₂",
        r"\kappa_2",
        "rank ratio of the second part of the target",
        "1",
        _POSITIVE,
        "1/6 1/60 1/4",
    ),
    _real(
        "scale1",
        "ς₁",
        r"\varsigma_1",
        "factor on the first part of the target",
        "1",
        _POSITIVE,
        "1 1/2 2",
    ),
    _real(
        "scale2",
        "ς₂",
        r"\varsigma_2",
        "factor on the second part of the target",
        "1",
        _POSITIVE,
        "1/3 3 1/2",
    ),
    _real(
        "r1",
        "r₁",
        "r_1",
        "inverse jump of the first part",
        "1/eigenvalue",
        _POSITIVE,
        "4/7 3/8 1/3",
    ),
    _real(
        "r2",
        "r₂",
        "r_2",
        "inverse jump of the second part",
        "1/eigenvalue",
        _POSITIVE,
        "6/5 1/24 1",
    ),
    _real(
        "t0", "t₀", "t_0", "mean eigenvalue of the target", "eigenvalue", _POSITIVE, "5/7 1/4 7/8"
    ),
    _real(
        "q0", "q₀", "q_0", "second moment of the target", "eigenvalue²", _POSITIVE, "3/2 21/20 7/4"
    ),
    _real(
        "rho",
        "ρ",
        r"\rho",
        "variance per unit of the noisy target index",
        "index²",
        _POSITIVE,
        "7/4 31/20 37/20",
    ),
    # Order parameters and conjugates.
    _real(
        "m",
        "m",
        "m",
        "overlap of student and target, tr(S S₀)/d",
        "eigenvalue²",
        _REAL,
        "6/5 3/10 11/8",
    ),
    _real(
        "q",
        "q",
        "q",
        "self-overlap of the student, tr S²/d",
        "eigenvalue²",
        _POSITIVE,
        "13/10 2/5 3/2",
    ),
    _real(
        "V",
        "V",
        "V",
        "rescaled replica variance of the overlap",
        "index²/loss",
        _POSITIVE,
        "1/2 20 3",
    ),
    _real("mh", "m̂", r"\hat m", "conjugate of m", "loss/eigenvalue²", _POSITIVE, "1/3 1/50 2"),
    _real(
        "qh",
        "q̂",
        r"\hat q",
        "conjugate of q (noise)",
        "loss²/eigenvalue²",
        _POSITIVE,
        "1/4 1/900 3",
    ),
    _real(
        "Vh",
        "V̂",
        r"\hat V",
        "conjugate of V (stiffness)",
        "loss/eigenvalue²",
        _POSITIVE,
        "1/3 1/60 7/4",
    ),
    # Reduced variables of the spectral problem.
    _real(
        "delta",
        "δ",
        r"\delta",
        "noise level of the equivalent denoising problem",
        "eigenvalue",
        _POSITIVE,
        "4/5 2 3/10",
    ),
    _real(
        "risk",
        "ℛ",
        r"\mathcal R",
        "excess risk tr(S - S₀)²/d",
        "eigenvalue²",
        _POSITIVE,
        "1/2 2 1/20",
    ),
    _real(
        "eta",
        "η",
        r"\eta",
        "relative distance of the threshold below the edge of the noise bulk",
        "1",
        "(0, 1)",
        "1/10 1/3 1/100",
    ),
    _real(
        "v", "v", "v", "variance of the semicircle, δ²", "eigenvalue²", _POSITIVE, "16/25 4 9/100"
    ),
    _real("b", "b", "b", "eigenvalue threshold", "eigenvalue", _REAL, "1/14 1/2 1/50"),
    _real(
        "b_V",
        "∂b/∂V",
        "b_V",
        "its slope in V where the loss is quadratic",
        "loss/eigenvalue",
        _POSITIVE,
        "1/5 1/3 1/10",
    ),
    _real("c", "c", "c", "gain of the spectral shrinkage", "1", _POSITIVE, "11/10 2/3 13/12"),
    _real("Q", "Q", "Q", "(1-κ)-quantile of the noisy law", "eigenvalue", _REAL, "1/7 3/4 1/3"),
    _real("x", "x", "x", "eigenvalue of the noisy matrix Y", "eigenvalue", _REAL, "3/2 4 1"),
    _real(
        "theta",
        "θ",
        r"\theta",
        "angle of the spectral threshold",
        "radian",
        "(0, pi/2)",
        "1 1/3 7/5",
    ),
    # Spectral values.
    _real(
        "J",
        "J",
        "J",
        "energy above the threshold, ∫(x-b)²₊dμ",
        "eigenvalue²",
        _POSITIVE,
        "2 3/2 7/4",
    ),
    _real("J_v", "J_v", "J_v", "∂J/∂v", "1", _POSITIVE, "1/2 1/3 3/4"),
    _real("J_b", "J_b", "J_b", "∂J/∂b", "eigenvalue", "(-inf, 0)", "-3/2 -4/5 -1"),
    _real(
        "J_s",
        "J_s₀",
        "J_{s_0}",
        "∂J/∂s₀ of one eigenvalue of the target",
        "eigenvalue",
        _POSITIVE,
        "1/20 1/8 1/90",
    ),
    _real("J_vv", "J_vv", "J_{vv}", "∂²J/∂v²", "1/eigenvalue²", _REAL, "-1/5 -1/3 -1/8"),
    _real("J_vvv", "J_vvv", "J_{vvv}", "∂³J/∂v³", "1/eigenvalue⁴", _REAL, "1/3 1/6 -1/2"),
    _real("J_bvv", "J_bvv", "J_{bvv}", "∂³J/∂b∂v²", "1/eigenvalue³", _REAL, "1/5 1/7 -1/4"),
    _real("J_bbv", "J_bbv", "J_{bbv}", "∂³J/∂b²∂v", "1/eigenvalue²", _REAL, "1/6 -1/8 1/3"),
    _real("J_bbb", "J_bbb", "J_{bbb}", "∂³J/∂b³", "1/eigenvalue", "(-inf, 0)", "-1/2 -1/3 -3/4"),
    _real("Q_v", "Q_v", "Q_v", "∂Q/∂v at fixed rank", "1/eigenvalue", _REAL, "1/5 1/2 -1/3"),
    _real(
        "trace",
        "c_κ",
        r"c_\kappa",
        "trace of the unit semicircle above its quantile",
        "1",
        _POSITIVE,
        "2/5 1/3 1/4",
    ),
    _real(
        "cube",
        "∫ρ³",
        r"\int\rho^3",
        "integral of the cubed density of the noisy law",
        "1/eigenvalue²",
        _POSITIVE,
        "1/9 1/50 1/6",
    ),
    _real("J_bv", "J_bv", "J_{bv}", "∂²J/∂b∂v", "1/eigenvalue", _REAL, "-1/5 -1/7 -1/4"),
    _real("j2", "j₂", "j_2", "coefficient of δ² in J at recovery", "1", _POSITIVE, "3/4 1/5 19/20"),
    _real(
        "j2_slope",
        "∂j₂/∂τ",
        r"\partial_\tau j_2",
        "its derivative in τ = b/δ",
        "1",
        _REAL,
        "1/3 -1/5 1/8",
    ),
    # Target eigenvalues and their learned parts.
    _real(
        "cov",
        "c_k",
        "c_k",
        "eigenvalue of the covariance C of the tokens, of mean one",
        "1",
        _POSITIVE,
        "8/5 1/3 1",
    ),
    _real(
        "inverse_square",
        "tr C⁻²/d",
        r"\tfrac1d\operatorname{tr}C^{-2}",
        "mean square of the inverse eigenvalues of the covariance",
        "1",
        _POSITIVE,
        "3/2 2 1",
    ),
    # Norms of the tokens.
    _real(
        "t",
        "t",
        "t",
        "overlap of S with the covariance, tr CS / tr C^2",
        "eigenvalue",
        _REAL,
        "1/2 1/5 3/4",
    ),
    _real(
        "th",
        "t̂",
        r"\hat t",
        "conjugate of t",
        "loss/eigenvalue",
        _REAL,
        "-1/10 -1/50 1/8",
    ),
    _real(
        "vartheta",
        "ϑ",
        r"\vartheta",
        "coefficient of C in the law that is learned",
        "eigenvalue",
        _REAL,
        "-1/6 -1/3 1/9",
    ),
    _real(
        "J_vartheta",
        "J_ϑ",
        r"J_\vartheta",
        "derivative of J in the coefficient of C",
        "eigenvalue",
        _POSITIVE,
        "4/3 3/4 5/4",
    ),
    _real("M_t", "∂M/∂t", "M_t", "derivative of M", "loss/eigenvalue", _REAL, "1/10 1/80 -1/20"),
    _real(
        "cov_square",
        "tr C²/d",
        r"\tfrac1d\operatorname{tr}C^2",
        "mean square of the eigenvalues of the covariance",
        "1",
        "[1, inf)",
        "1 4/3 2",
    ),
    _real(
        "norm_deficit",
        "f",
        "f",
        "(2 - w) tr C^2/d, with the variance w tr C^2 of the squared norm of a token",
        "1",
        _REAL,
        "2 1 1/2",
    ),
    _real(
        "norm_gain",
        "χ",
        r"\chi",
        "(2 - w) times the mean share of scores of a token with itself",
        "1",
        "(-inf, 1)",
        "3/4 1/4 -1/2",
    ),
    _real(
        "norm_share",
        "s_j",
        "s_j",
        "share of scores of one token in a direction of the visible index",
        "1",
        "[0, 1/2]",
        "1/2 1/4 1/3",
    ),
    _real(
        "branch_log",
        "y_f",
        "y_f",
        "minus the logarithm of the probability that a branch of the graph of samples is finite",
        "1",
        _POSITIVE,
        "1/2 1/5 3/4",
    ),
    _real(
        "nu", "ν", r"\nu", "number of tokens of a vocabulary over d²", "1", _POSITIVE, "1/5 2 1/3"
    ),
    _real(
        "repeats",
        "k",
        "k",
        "number of samples of a token",
        "1",
        _POSITIVE,
        "2 3 1/2",
    ),
    _real(
        "branch_tokens",
        "m_b",
        "m_b",
        "number of tokens of a tree of samples",
        "1",
        _POSITIVE,
        "3 5 1",
    ),
    _real("s", "s₀", "s_0", "eigenvalue of the target", "eigenvalue", _POSITIVE, "2 3 5/2"),
    _real(
        "y",
        "y",
        "y",
        "eigenvalue of the noisy matrix Y below the threshold",
        "eigenvalue",
        _REAL,
        "-1/3 1/4 -2",
    ),
    _real(
        "transform",
        "g₀(s₀)",
        "g_0(s_0)",
        "Stieltjes transform of the others",
        "1/eigenvalue",
        _REAL,
        "1/2 1/3 2/3",
    ),
    _real(
        "spread",
        "∫dμ₀/(s₀-x)²",
        r"\int\frac{d\mu_0}{(s_0-x)^2}",
        "minus its derivative",
        "1/eigenvalue²",
        _POSITIVE,
        "1/3 1/8 1/2",
    ),
    _real(
        "slope_real",
        "Re x′",
        r"\operatorname{Re}x'",
        "real part of dx/du",
        "1",
        _POSITIVE,
        "1/2 1 4/5",
    ),
    _real(
        "slope_imag",
        "Im x′",
        r"\operatorname{Im}x'",
        "imaginary part of dx/du",
        "1",
        _REAL,
        "1/3 -1/4 2",
    ),
    _real(
        "weight", "w", "w", "share of one eigenvalue of the target", "1", "(0, 1)", "1/50 1/9 1/200"
    ),
    _real(
        "learned",
        "ℓ",
        r"\ell",
        "part of the student along a feature, uᵀSu",
        "eigenvalue",
        _POSITIVE,
        "3/2 1 9/4",
    ),
    _real(
        "strength",
        "a",
        "a",
        "eigenvalue that the prior sees in place of s₀",
        "eigenvalue",
        _POSITIVE,
        "17/10 8/3 12/5",
    ),
    _real(
        "z_a", "z_a", "z_a", "projection of token a on a feature, u·x_a", "1", _REAL, "1/2 -3/2 2"
    ),
    _real(
        "z_b", "z_b", "z_b", "projection of token b on a feature, u·x_b", "1", _REAL, "-1/3 2/5 1/4"
    ),
    _real(
        "delta_ab",
        "δ_ab",
        r"\delta_{ab}",
        "1 for the index of a token with itself, else 0",
        "1",
        "{0, 1}",
        "1 0 1",
    ),
    _real(
        "v_other",
        "v′",
        "v'",
        "variance of the semicircle at another point",
        "eigenvalue²",
        _POSITIVE,
        "9/10 3 1/8",
    ),
    _real("J_other", "J′", "J'", "energy there", "eigenvalue²", _POSITIVE, "9/4 4/3 2"),
    _real(
        "excess",
        "E-E₀",
        "E-E_0",
        "J - v J_v above its value at interpolation",
        "eigenvalue²",
        _REAL,
        "-1/3 1/5 -1/7",
    ),
    _real(
        "level",
        "E₀",
        "E_0",
        "value of J - v J_v at interpolation",
        "eigenvalue²",
        _POSITIVE,
        "7/4 31/20 37/20",
    ),
    _real(
        "mass",
        "μ(x>b)",
        r"\mu_v(x>b)",
        "mass of the noisy law above the threshold",
        "1",
        "(0, 1)",
        "2/3 1/4 3/5",
    ),
    _real(
        "mixed",
        "∬",
        r"\iint_{x>b>y}",
        "double integral over x > b > y",
        "1",
        _POSITIVE,
        "1/9 1/20 1/7",
    ),
    _real(
        "c_star",
        "c*",
        "c^*",
        "multiple of the target of least test error",
        "1",
        _POSITIVE,
        "9/10 4/5 1",
    ),
    _real(
        "q_top",
        "q_top",
        r"q_\top",
        "part of q from the learned features",
        "eigenvalue²",
        _POSITIVE,
        "6/5 1/3 4/3",
    ),
    _real(
        "q0_top",
        "q₀_top",
        r"q_{0,\top}",
        "part of q₀ from the learned features",
        "eigenvalue²",
        _POSITIVE,
        "7/5 1/2 3/2",
    ),
    _real(
        "gain",
        "a⊥",
        r"a_\perp",
        "multiple of unlearned features that S holds in the noise",
        "1",
        _REAL,
        "1/5 1/7 1/4",
    ),
    # Channel values.
    _real("M", "M", "M", "averaged Moreau envelope of the loss", "loss", _POSITIVE, "1/10 1/5 1/4"),
    _real(
        "M_m", "∂M/∂m", "M_m", "derivative of M", "loss/eigenvalue²", "(-inf, 0)", "-1/5 -1/3 -1/10"
    ),
    _real("M_q", "∂M/∂q", "M_q", "derivative of M", "loss/eigenvalue²", _POSITIVE, "1/10 1/5 1/30"),
    _real(
        "M_V", "∂M/∂V", "M_V", "derivative of M", "loss²/index²", "(-inf, 0)", "-1/10 -1/500 -1/20"
    ),
    _real(
        "M_l",
        "∂M/∂ℓ",
        r"M_\ell",
        "derivative of M by ℓ",
        "loss/eigenvalue",
        "(-inf, 0)",
        "-1/50 -1/20 -1/300",
    ),
    _real(
        "train",
        "ε_train",
        r"\epsilon_{\rm train}",
        "mean loss on the training set",
        "loss",
        _POSITIVE,
        "1/20 1/10 1/8",
    ),
    _real(
        "R", "R", "R", "mean elastic energy of the proximal map", "index²", _POSITIVE, "1/3 1/2 2"
    ),
    _real("F1", "F₁", "F_1", "E f·γ₁", "loss/index", _REAL, "1/4 1/5 -1/3"),
    _real("F2", "F₂", "F_2", "E f·γ₂", "loss/index", _REAL, "-1/4 -1/6 -1/7"),
    _real(
        "F_l",
        "F_ℓ",
        r"F_\ell",
        "E f·(zzᵀ - 1), dual field times the index of a feature",
        "loss/index",
        _REAL,
        "1/5 1/7 1/30",
    ),
    _real(
        "tr_H",
        "tr ΣH",
        r"\operatorname{tr}\Sigma H",
        "mean curvature of the loss at S = 0",
        "loss/index²",
        _REAL,
        "1/3 1/2 1/5",
    ),
    _real("D", "D", "D", "numbers that one label carries", "1", _POSITIVE, "2 5 9"),
    # One sample of the two-token channel.
    _real("u1", "u₁", "u_1", "visible student index h₁₁-h₁₂", "index", _REAL, "1/2 -2 3/4"),
    _real("u2", "u₂", "u_2", "visible student index h₂₂-h₁₂", "index", _REAL, "-1/3 1 1/8"),
    _real("w1", "w₁", "w_1", "student field, first component", "index", _REAL, "1 -1 1/2"),
    _real("w2", "w₂", "w_2", "student field, second component", "index", _REAL, "1/4 2 -1/2"),
    _real("p1", "p₁", "p_1", "label, first row", "1", "(0, 1)", "1/3 3/5 1/10"),
    _real("p2", "p₂", "p_2", "label, second row", "1", "(0, 1)", "3/4 1/5 1/2"),
    _real("f1", "f₁", "f_1", "dual field, first component", "loss/index", _REAL, "1/3 -1/5 1/8"),
    _real("f2", "f₂", "f_2", "dual field, second component", "loss/index", _REAL, "-1/4 1/7 1/9"),
    _real("H11", "H₁₁", "H_{11}", "curvature of the loss", "loss/index²", _REAL, "1/3 -1/5 1/8"),
    _real("H12", "H₁₂", "H_{12}", "curvature of the loss", "loss/index²", _REAL, "0 1/9 -1/7"),
    _real("H22", "H₂₂", "H_{22}", "curvature of the loss", "loss/index²", _REAL, "1/4 1/7 1/9"),
    # A whitened component of the index, and one row of a softmax, of any length.
    _real(
        "x_i", "x_i", "x_i", "whitened component of the student index", "index", _REAL, "1/3 -2 3/4"
    ),
    _real(
        "w_i", "w_i", "w_i", "whitened component of the student field", "index", _REAL, "1/4 1 1/5"
    ),
    _real(
        "f_i",
        "f_i",
        "f_i",
        "whitened component of the dual field",
        "loss/index",
        _REAL,
        "1/6 -1/5 1/8",
    ),
    _real(
        "stiffness",
        "1/V",
        r"\tfrac1V",
        "stiffness of a component",
        "loss/index²",
        _POSITIVE,
        "2 1/20 1/3",
    ),
    _real("s_k", "s_k", "s_k", "softmax entry k of a row", "1", "(0, 1)", "1/3 3/5 1/10"),
    _real("e_k", "e_k", "e_k", "its residual, softmax less label", "1", _REAL, "1/5 -1/7 1/20"),
    _real("y_k", "y_k", "y_k", "label entry k of a row", "1", "(0, 1)", "1/4 5/7 3/50"),
    _real(
        "y_other",
        "y′_k",
        "y'_k",
        "the same of another label of the sequence",
        "1",
        "(0, 1)",
        "2/5 3/4 1/12",
    ),
    _real(
        "mean_loss",
        "Eℓ",
        r"\mathbb E\ell",
        "loss averaged over the noise of the label",
        "loss",
        _POSITIVE,
        "1/5 1/8 1/3",
    ),
    _real(
        "loss_at_mean",
        "ℓ(Ey)",
        r"\ell(\mathbb Ey)",
        "loss at the mean of the label",
        "loss",
        _POSITIVE,
        "1/7 1/9 1/4",
    ),
    _real("s_l", "s_l", "s_l", "softmax entry l of a row", "1", "(0, 1)", "1/4 1/5 3/10"),
    _real("e_l", "e_l", "e_l", "its residual, softmax less label", "1", _REAL, "-1/8 1/10 -1/30"),
    _real(
        "row_se",
        "⟨se⟩",
        r"\langle se\rangle",
        "sum of softmax times residual over a row",
        "1",
        _REAL,
        "1/20 -1/15 1/40",
    ),
    _real(
        "row_ss",
        "⟨ss⟩",
        r"\langle ss\rangle",
        "sum of squared softmax over a row",
        "1",
        "(0, 1)",
        "2/5 1/2 1/3",
    ),
    _real("y_l", "y_l", "y_l", "label entry l of a row", "1", "(0, 1)", "1/5 1/7 2/9"),
    _real(
        "row_sy",
        "⟨sy⟩",
        r"\langle sy\rangle",
        "sum of softmax times label over a row",
        "1",
        "(0, 1)",
        "3/10 1/4 2/7",
    ),
    # Stability.
    _real(
        "F",
        "F",
        "F",
        "mean square response of the dual field, E‖C^½ ∂f/∂w C^½‖²",
        "loss²/index⁴",
        _POSITIVE,
        "1/5 1/1000 1/3",
    ),
    _real(
        "F_ss",
        "F_ss",
        "F_{ss}",
        "F of the symmetric dual field by symmetric fields",
        "loss²/index⁴",
        _POSITIVE,
        "1/5 1/3 2",
    ),
    _real(
        "F_sa",
        "F_sa",
        "F_{sa}",
        "the same by antisymmetric fields",
        "loss²/index⁴",
        _POSITIVE,
        "1/7 1/9 1/2",
    ),
    _real(
        "F_as",
        "F_as",
        "F_{as}",
        "F of the antisymmetric dual field by symmetric fields",
        "loss²/index⁴",
        _POSITIVE,
        "1/8 1/5 1/3",
    ),
    _real(
        "F_aa",
        "F_aa",
        "F_{aa}",
        "the same by antisymmetric fields",
        "loss²/index⁴",
        _POSITIVE,
        "1/6 1/2 3/2",
    ),
    _real(
        "V_a",
        "V_a",
        "V_a",
        "V of the antisymmetric part of a general matrix",
        "index²/loss",
        _POSITIVE,
        "2/5 3 1/2",
    ),
    _real(
        "DD",
        "⟨DD²⟩",
        r"\langle DD^2\rangle",
        "mean square divided difference of the shrinkage",
        "1",
        _POSITIVE,
        "1/3 1/5 1/2",
    ),
    # Complex.
    Notation(
        sp.Symbol("g"),
        "g",
        "g",
        "Stieltjes transform of the noisy law, Im g ≤ 0",
        "1/eigenvalue",
        "lower half-plane",
        tuple(
            sp.Rational(a) - sp.I * sp.Rational(b)
            for a, b in (("1/3", "3/4"), ("-1/5", "1/2"), ("2", "5/3"))
        ),
    ),
    Notation(
        sp.Symbol("strength_value"),
        "R(h_C)",
        "R(h_C)",
        "R-transform of the target at the transform h_C weighted by the covariance",
        "eigenvalue",
        "lower half-plane",
        tuple(
            sp.Rational(a) - sp.I * sp.Rational(b)
            for a, b in (("1/2", "1/4"), ("1", "1/2"), ("3/4", "1/9"))
        ),
    ),
    Notation(
        sp.Symbol("u"),
        "u",
        "u",
        "argument z - v g of the target's Stieltjes transform, Im u ≥ 0",
        "eigenvalue",
        "upper half-plane",
        tuple(
            sp.Rational(a) + sp.I * sp.Rational(b)
            for a, b in (("1/2", "1/3"), ("-1/4", "2"), ("3", "1/7"))
        ),
    ),
)

# letter: (meaning, unit, domain, samples of the first, second, ... at the reference points)
_FAMILIES = {
    "u": (
        "visible student index",
        "index",
        _REAL,
        ("1/2 -2 3/4", "-1/3 1 1/8", "2/3 1/5 -1", "1/7 -1/2 3/5", "-1/4 3/7 1/2"),
    ),
    "w": (
        "student field",
        "index",
        _REAL,
        ("1 -1 1/2", "1/4 2 -1/2", "-1/2 1/3 1", "3/5 1/6 -2", "1/9 -1/5 2/3"),
    ),
    "z": (
        "noisy target index",
        "index",
        _REAL,
        ("3/4 -1/2 1", "1/5 3/2 -1", "-2/3 1/8 1/2", "4/5 -3/7 1/3", "1/6 2/3 -1/2"),
    ),
    "o": (
        "number put out by the student",
        "1",
        _REAL,
        ("1/3 3/5 1/10", "3/4 1/5 1/2", "2/5 1/7 1/3", "1/6 3/8 5/9"),
    ),
    "s": (
        "sign that tells on which side of a kink the index is",
        "1",
        "[-1, 1]",
        ("1 -1 1", "-1 1 1", "1 1 -1"),
    ),
    "y": (
        "number of the label",
        "1",
        _REAL,
        ("1/4 5/7 3/50", "2/5 3/4 1/12", "1/3 1/8 2/3", "1/9 5/6 1/5"),
    ),
}
MAX_ROWS = 8  # maximum number of rows, and of columns, of h in a model file
FAMILY_SIZE = MAX_ROWS**2  # symbols in each family, one for each index


def _member(letter: str, k: int) -> Notation:
    meaning, unit, domain, samples = _FAMILIES[letter]
    values = samples[(k - 1) % len(samples)]
    return _real(
        f"{letter}{k}",
        f"{letter}{k}",
        f"{letter}_{{{k}}}",
        f"{meaning}, number {k}",
        unit,
        domain,
        values,
    )


INDICES = tuple((a, b) for a in range(1, MAX_ROWS + 1) for b in range(1, MAX_ROWS + 1))


def _index(a: int, b: int) -> Notation:
    values = _FAMILIES["u"][3][(a + 2 * b) % 5]
    meaning = f"index of row {a} and column {b}"
    return _real(f"h{a}{b}", f"h{a}{b}", f"h_{{{a}{b}}}", meaning, "index", _REAL, values)


TABLE += tuple(_index(a, b) for a, b in INDICES)
_NAMED = {str(entry.symbol) for entry in TABLE}
TABLE += tuple(
    _member(letter, k)
    for letter in _FAMILIES
    for k in range(1, FAMILY_SIZE + 1)
    if f"{letter}{k}" not in _NAMED
)

#: Symbols that a model file may use by `sym`. Other symbols belong to the theory; a model declares
#: custom symbols in its file.
SETTINGS = (
    *("lambda_", "mu", "kappa", "Delta", "beta", "beta0"),
    *("kappa0", "positive", "scale", "r", "kappa1", "kappa2", "scale1", "scale2", "r1", "r2"),
)

BY_NAME: dict[str, Notation] = {str(entry.symbol): entry for entry in TABLE}
LATEX: dict[sp.Symbol, str] = {entry.symbol: entry.latex for entry in TABLE}


def sym(names: str) -> tuple[sp.Symbol, ...]:
    """Return the symbols of these names, which are separated by blanks.

    Raises:
        UnknownSymbol: a name is not in the table.
    """
    if unknown := [name for name in names.split() if name not in BY_NAME]:
        raise UnknownSymbol(unknown[0])
    return tuple(BY_NAME[name].symbol for name in names.split())


def family(letter: str, count: int) -> tuple[sp.Symbol, ...]:
    """Return the first `count` symbols of a family: u1, u2, ... for "u".

    Args:
        letter: name of the family.
        count: number of symbols.

    Raises:
        UnknownSymbol: the family has fewer symbols.
    """
    return sym(" ".join(f"{letter}{k}" for k in range(1, count + 1))) if count else ()
