"""Bayes-optimal baseline: the error of the best estimator from the same labels (theory note,
section 5).
"""

import sympy as sp

from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import Display, Step, scalar
from derive.passes.limits.zero_decay import weak_regularisation

alpha, beta, beta0, D, rho, m, q = sym("alpha beta beta0 D rho m q")
v, q0, zero_mass, cube = sym("v q0 zero_mass cube")


def posterior_error() -> sp.Expr:
    """Return the least mean squared error of denoising Y = S0 + delta G: q0 minus the energy of the
    posterior mean xi(x) = x - 2 v Re g(x).

    int xi^2 = q0 + v - 4 v int x Re g + 4 v^2 int (Re g)^2 under the density rho = -Im g/pi. By
    symmetry int x Re g = 1/2. From int Im(g^3) dx = 0, int (Re g)^2 is expressed by the integral of
    rho^3 (Bun, Allez, Bouchaud, Potters 2016, arXiv 1502.06736).
    """
    real, imaginary, density = sp.symbols("g_r g_i rho", real=True)
    cubic = sp.im(sp.expand((real + sp.I * imaginary) ** 3))
    (square,) = sp.solve(cubic, real**2)  # relation of the integrals over x, term by term
    squared_real = (
        sp.cancel((square * density).subs(imaginary, -sp.pi * density) / density**3) * cube
    )
    position_times_real = sp.Rational(1, 2)
    posterior_energy = q0 + v - 4 * v * position_times_real + 4 * v**2 * squared_real
    return sp.expand(q0 - posterior_energy)


def matrix_noise(model: Model, variance: sp.Expr) -> sp.Expr:
    """Return the noise v of the matrix that D linear measurements of a label show.

    The balance of v is that of weak regularisation, where rho - 2 m + q is the variance of a
    measurement.

    Args:
        model: the model.
        variance: variance of a measurement per unit, given what is known of the target.
    """
    return weak_regularisation(model)[v].subs(beta0, beta).subs(rho, variance + 2 * m - q)


def sample_ratio(model: Model) -> sp.Expr:
    """Return the sample ratio at which labels leave the noise v; the softmax is invertible, so a
    label is D linear measurements, of the least estimation error and the noise.
    """
    error = sp.Symbol("error")
    balance = matrix_noise(model, error + model.channel.noise)
    (solution,) = sp.solve(sp.cancel(balance) - v, alpha)
    return sp.expand(sp.cancel(solution.subs(error, posterior_error())))


def recovery_ratio(model: Model) -> sp.Expr:
    """Return the limit v -> 0 without label noise, from the semicircle of the zero eigenvalues.

    The semicircle has mass z0, variance z0 v and density z0 s/sqrt(z0 v). Its cubed density has the
    scale 1/v; the other eigenvalues contribute nothing at this scale.
    """
    phi = sp.Symbol("phi", positive=True)
    density = (
        zero_mass * sp.sin(phi) / (sp.pi * sp.sqrt(zero_mass * v))
    )  # at x = 2 sqrt(z0 v) cos(phi)
    stretch = 2 * sp.sqrt(zero_mass * v) * sp.sin(phi)
    spread = sp.integrate(sp.expand(density**3 * stretch), (phi, 0, sp.pi))
    noise_free = dict.fromkeys(model.channel.noise_settings, 0)
    return sp.expand(sp.cancel(sample_ratio(model).subs(noise_free).subs(cube, spread)))


def step(model: Model) -> Step:
    """Return the step of the Bayes-optimal baseline."""
    noise = model.channel.noise_settings
    return Step(
        "bayes",
        "Bayes-optimal benchmark",
        r"Noise inside the softmax leaves a label invertible, up to a constant per row: $D$ linear "
        r"measurements with noise. The "
        r"best estimator denoises $S_0+\delta G$ with error $E$ (the zero eigenvalues alone decide "
        r"recovery).",
        (Display("E", posterior_error()),),
        (
            scalar(
                "bayes_error",
                "least estimation error at noise v",
                (v, cube),
                "E",
                posterior_error(),
            ),
            scalar(
                "bayes_sample_ratio",
                "sample ratio that leaves the noise v",
                (v, cube, *noise, D),
                r"\alpha",
                sample_ratio(model),
            ),
            scalar(
                "bayes_recovery_ratio",
                "sample ratio of Bayes-optimal recovery",
                (zero_mass, D),
                r"\alpha_{\rm Bayes}",
                recovery_ratio(model),
            ),
        ),
    )
