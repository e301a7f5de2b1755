"""Parts of the error of S: overfitting, underfitting, approximation (theory note, section 7)."""

from derive.language.notation import sym
from derive.language.step import Display, Function, Output, Step, require_zero

m, q, q0, c_star, q_top, q0_top, gain = sym("m q q0 c_star q_top q0_top gain")


def decomposition() -> tuple[Output, ...]:
    """Return ||S - c* S0||^2/d by parts.

    S has a part of energy q_top that represents target features of energy q0_top, and a noisy rest.
    The rest is `gain` times the other features, plus an orthogonal part.
    """
    others = q0 - q0_top
    overfitting, underfitting = q - q_top - gain**2 * others, (c_star - gain) ** 2 * others
    approximation = q_top + c_star**2 * q0_top - 2 * c_star * (m - gain * others)
    distance = q - 2 * c_star * m + c_star**2 * q0
    require_zero(
        distance - overfitting - underfitting - approximation, "the parts add up to the distance"
    )
    return (
        Output("overfitting", r"\epsilon_{\rm over}", overfitting),
        Output("underfitting", r"\epsilon_{\rm under}", underfitting),
        Output("approximation", r"\epsilon_{\rm approx}", approximation),
        Output("distance", r"\tfrac1d\|S-c^*S_0\|^2", distance),
    )


def step() -> Step:
    """Return the step for the split of the error."""
    return Step(
        "error_decomposition",
        "Decomposition of the error",
        r"The eigenvalues of $Y$ that correspond to features of the target, and the others, split "
        r"$\|S-c^*S_0\|^2$.",
        tuple(Display(part.left, part.expression) for part in decomposition()),
        (
            Function(
                "decomposition",
                "parts of ||S - c* S0||^2/d and their sum",
                (m, q, q0, q_top, q0_top, gain, c_star),
                decomposition(),
            ),
        ),
    )
