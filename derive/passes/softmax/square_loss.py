"""Square loss of each entry, and its average over the label noise (theory note, section 7).

Two labels of one sequence with independent noise have the same mean. Functions of this mean are
averages of products of the two labels, so that the mean itself is not needed.
"""

import sympy as sp

from derive.language.notation import sym
from derive.language.step import Display, Step, require_zero, scalar

s_k, e_k, y_k, y_other = sym("s_k e_k y_k y_other")
mean_loss, loss_at_mean = sym("mean_loss loss_at_mean")
MEAN, SECOND_MOMENT = sp.Symbol(r"\bar y"), sp.Symbol(r"\overline{y^2}")


def residual() -> sp.Expr:
    """Return the residual of one entry of a row."""
    return s_k - y_k


def entry_loss() -> sp.Expr:
    """Return the loss of one entry in terms of its residual."""
    return e_k**2


def label_average(polynomial: sp.Expr) -> sp.Expr:
    """Return the mean over the noise of two labels of one sequence."""
    moments = (sp.Integer(1), MEAN, SECOND_MOMENT)
    terms = sp.Poly(polynomial, y_k, y_other).terms()
    return sp.Add(*(coefficient * moments[i] * moments[j] for (i, j), coefficient in terms))


def bias() -> sp.Expr:
    """Return the loss of a prediction at the mean label."""
    return entry_loss().subs(e_k, residual()).subs(y_k, MEAN)


def least_loss() -> sp.Expr:
    """Return the mean loss of the best prediction, which is the variance of the label.

    Any other prediction adds its loss at the mean label.
    """
    of_prediction = label_average(entry_loss().subs(e_k, residual()))
    (best,) = sp.solve(sp.diff(of_prediction, s_k), s_k)
    variance = of_prediction.subs(s_k, best)
    require_zero(
        of_prediction - variance - bias(), "mean loss: variance of the label, and loss at its mean"
    )
    return variance


def least_loss_from_mean() -> sp.Expr:
    """Return the least loss from the mean loss of any prediction and its loss at the mean label."""
    value = mean_loss - loss_at_mean
    mean = label_average(entry_loss().subs(e_k, residual()))
    require_zero(
        value.subs({mean_loss: mean, loss_at_mean: bias()}) - least_loss(),
        "least loss from any prediction",
    )
    return value


def least_loss_from_two_labels() -> sp.Expr:
    """Return a function of two labels whose mean is the least loss: a fraction of the loss of one
    label as a prediction of the other.
    """
    share, difference = sp.Symbol("share"), entry_loss().subs(e_k, y_k - y_other)
    (found,) = sp.solve(share * label_average(difference) - least_loss(), share)
    return sp.cancel(found) * difference


def bias_from_two_labels() -> sp.Expr:
    """Return a product of residuals of two labels whose mean is the loss at the mean label; the
    noise of the labels drops out.
    """
    product = residual() * residual().subs(y_k, y_other)
    require_zero(
        label_average(sp.expand(product)) - bias(), "loss at the mean label from two labels"
    )
    return product


def step() -> Step:
    """Return the step of the square loss."""
    return Step(
        "square_loss",
        "Square loss, and its average over the noise of the labels",
        r"Given a sequence the mean loss of a prediction $s_k$ is the variance of the label "
        r"and the loss of $s_k$ at its mean. "
        r"For two labels $y$, $y'$ with independent noise both are means of products.",
        (
            Display(r"\mathbb E(s_k-y_k)^2", label_average(entry_loss().subs(e_k, residual()))),
            Display(r"\operatorname{Var}y", least_loss()),
        ),
        (
            scalar("residual", "residual of one entry of a row", (s_k, y_k), "e_k", residual()),
            scalar("entry_loss", "loss of one entry of a row", (e_k,), r"\ell_k", entry_loss()),
            scalar(
                "least_loss",
                "variance of the label, from the mean loss of any prediction and its loss at the "
                "mean label",
                (mean_loss, loss_at_mean),
                r"\operatorname{Var}y",
                least_loss_from_mean(),
            ),
            scalar(
                "label_spread",
                "its mean over two labels of one sequence is the variance of the label",
                (y_k, y_other),
                r"\operatorname{Var}y_k",
                least_loss_from_two_labels(),
            ),
            scalar(
                "residual_product",
                "its mean over two labels of one sequence is the loss at the mean label",
                (s_k, y_k, y_other),
                r"(s_k-\mathbb Ey_k)^2",
                bias_from_two_labels(),
            ),
        ),
    )
