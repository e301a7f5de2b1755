"""Figures of the theory, in one style and with captions.

Learning curves
    curve_figure            test, train and estimation error along alpha
    decomposition_figure    parts of the excess test error along alpha
    optimal_figure          least test error and optimal weight decay along alpha
    cost_figure             estimation error of the learned and of the Bayes-optimal map along alpha
    bayes_figure            estimation and test error, learned and Bayes-optimal, along alpha
    reliability_figure      share of predicted labels against their stated probability

Spectra, scaling laws, phase diagrams
    spectrum_figure         density of the eigenvalues of S
    heads_figure            spectra of the attention heads of a trained network
    scaling_figure          risk and local slope along samples or hidden units
    phase_figure            scaling regimes in a plane of exponents
    recovery_figure         recovery thresholds along the rank ratio of the target

Captions and styles
    caption_of              caption of a figure, to place yourself if you passed your own axes
    add_caption             write a caption below a figure
    choose_styles           apply matplotlib styles on top of the default style

Coordinates of plotted points, for `numeric.plotting.kinks.refine_kinks`
    curve_coordinates       coordinates of a point in curve_figure
    optimum_coordinates     coordinates of a point in optimal_figure
    cost_coordinates        coordinates of a point in cost_figure

Each figure function returns a new figure, which `figure.savefig("curve.pdf")` writes. With `ax=`
it draws on your own axes, one for each panel, and returns their figure. It then leaves your
rcParams, titles and legends alone and draws no caption. A figure function raises InvalidParameter
if an argument has the wrong type, such as a Problem instead of its Solution, or one point instead
of a list.

Every function is loaded on first use, because matplotlib takes long to import.
"""

from importlib import import_module
from typing import Any

_PUBLIC = {
    "curve_figure": "curves",
    "decomposition_figure": "curves",
    "optimal_figure": "optimal",
    "cost_figure": "optimal",
    "bayes_figure": "optimal",
    "reliability_figure": "reliability",
    "spectrum_figure": "spectra",
    "heads_figure": "heads",
    "scaling_figure": "scaling",
    "phase_figure": "phase_diagrams",
    "recovery_figure": "phase_diagrams",
    "caption_of": "caption",
    "add_caption": "caption",
    "choose_styles": "style",
    "curve_coordinates": "curves",
    "optimum_coordinates": "optimal",
    "cost_coordinates": "optimal",
}


def __getattr__(name: str) -> Any:
    """Return the public function `name`, imported from its module."""
    if name not in _PUBLIC:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; help({__name__}) lists what it offers"
        )
    return getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
