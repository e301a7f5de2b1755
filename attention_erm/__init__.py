"""Learning curves, thresholds and spectra of attention heads in high dimensions.

These are the names that most scripts need; `help(numeric)` lists all.

    >>> from attention_erm import MarchenkoPastur, Problem, interpolation, solve
    >>> target = MarchenkoPastur(0.5)
    >>> solution = solve(Problem(alpha=1.0, target=target, lambda_=0.01, noise=1.0)).unwrap()
    >>> print(f"{solution.test_error:.5f}, overlap {solution.m:.4f}")
    0.18137, overlap 1.2970
    >>> print(interpolation(target, noise=1, digits=20).value)
    0.14555052507242767050

The problem
    Problem             sample ratio, target, weight decay, label noise, width, tokens, temperatures
    MarchenkoPastur     target S0 = W0 W0^T/sqrt(m0 d) of a rank ratio kappa0
    power_law           target with eigenvalues proportional to k^-gamma
    Eigenvalues         target with any list of eigenvalues and weights

Solutions with error bars and a status
    solve               one point
    learning_curve      along the sample ratio
    to_frame            solutions as a pandas table
    learned_spectrum    law of the learned eigenvalues: bulk, outliers, mass at zero
    decompose           test error split into overfitting, underfitting, approximation, mismatch
    scaling_curve       risk, local slope and learned features of a power-law target along n

Thresholds with proven digits
    interpolation       sample ratio below which the training loss can be zero
    recovery            sample ratio above which labels without noise determine the target

Each is loaded from `numeric` on first use.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.3.0"

#: Folder of the packages: a checkout, or the folder of installed packages.
ROOT = Path(__file__).resolve().parents[1]

_PUBLIC = {
    "Problem": "numeric.problem.problem",
    "MarchenkoPastur": "numeric.laws.marchenko_pastur",
    "power_law": "numeric.laws.power_law",
    "Eigenvalues": "numeric.laws.eigenvalue_list",
    "solve": "numeric.saddle.solve",
    "learning_curve": "numeric.saddle.curve",
    "to_frame": "numeric.studies.data_frame",
    "learned_spectrum": "numeric.studies.spectrum",
    "decompose": "numeric.studies.decompose",
    "scaling_curve": "numeric.studies.scaling",
    "interpolation": "numeric.thresholds.interpolation",
    "recovery": "numeric.thresholds.recovery",
}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    """Return a public name from the module that defines it."""
    if name not in _PUBLIC:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; help({__name__}) lists what it offers"
        )
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    own = (name for name in globals() if name.startswith("__"))
    return sorted({*own, *_PUBLIC})
