"""Solvers of the generated equations: learning curves, thresholds and spectra of attention heads in
high dimensions.

    >>> import numeric
    >>> target = numeric.MarchenkoPastur(0.5)
    >>> problem = numeric.Problem(alpha=1.0, target=target, lambda_=0.01, noise=1.0)
    >>> solution = numeric.solve(problem).unwrap()

The problem
    Problem             sample ratio, target, weight decay, label noise, width, tokens, temperatures
    Parametrisation     factors of S, or S itself, symmetric or general
    MarchenkoPastur     target S0 = W0 W0^T/sqrt(m0 d) of a rank ratio kappa0
    power_law           target with eigenvalues proportional to k^-gamma
    finite_rank         target with a few eigenvalues in dimension d
    Eigenvalues         target with any list of eigenvalues and weights
    AlignedCovariance   target of tokens with a covariance that has the same eigenvectors
    PowerLawCovariance  power laws of target and covariance on common eigenvectors
    MatrixCovariance    target and covariance of the tokens as matrices of a finite dimension
    IndependentCovariance   random target of tokens with a covariance of given eigenvalues

Order parameters and errors, each with an error bar and a status
    solve               one point: a Solution
    learning_curve      along the sample ratio
    branches            all solutions along the sample ratio or the weight decay, through folds
    optimal_lambda      the weight decay of least test error
    samples_for         the sample ratio at which the curve reaches an error
    Solution, Status    values, and whether the solver converged
    NotConverged        raised by Solution.unwrap() if there is no solution
    to_frame            solutions as a pandas table
    sweep               any parameters over lists of values: an xarray Dataset or a Zarr folder
    ThisProcess         engine of a sweep without workers, for small ones

Thresholds with proven digits, of a target or of an exact law such as
`exact_marchenko_pastur(Fraction(1, 3))`
    interpolation       sample ratio below which the training loss can be zero
    recovery            sample ratio above which labels without noise determine the target
    bayes_recovery      recovery threshold of the Bayes-optimal estimator
    weak_recovery       sample ratio from which labels without a sign tell anything
    capacity            sample ratio up to which all labels that are classes can be predicted

Spectra and errors
    learned_spectrum    law of the learned eigenvalues: bulk, outliers, mass at zero
    decompose           test error split into overfitting, underfitting, approximation, mismatch
    reliability         how often a predicted class is right, by its stated probability
    bayes_error         least estimation error of any estimator
    bayes_curve         least estimation and test error, and errors at the best weight decay

Message passing step by step
    FirstMessage        start of messages
    state_evolution     order parameters after each step, of risk minimisation
    bayes_evolution     order parameters after each step of Bayes-optimal messages

Scaling laws of power-law targets
    scaling_curve       risk, local slope and learned features along the samples
    width_curve         risk, local slope and learned features along the width
    sequential_recovery samples at which each feature leaves the bulk
    feature_overlaps    strength of the first features in S, inside the bulk and outside
    regimes             the derived phase diagram: exponents and their cells
    width_regimes       phase diagram with the number of hidden units as a third axis

Everything is loaded on first use. docs/development/architecture.md describes the subpackages.
"""

from importlib import import_module
from typing import Any

_PUBLIC = {
    "Problem": "problem.problem",
    "Parametrisation": "problem.problem",
    "MarchenkoPastur": "laws.marchenko_pastur",
    "power_law": "laws.power_law",
    "finite_rank": "laws.eigenvalue_list",
    "Eigenvalues": "laws.eigenvalue_list",
    "AlignedCovariance": "laws.covariance.aligned",
    "IndependentCovariance": "laws.covariance.independent",
    "MatrixCovariance": "laws.covariance.matrix",
    "PowerLawCovariance": "laws.covariance.power_law",
    "solve": "saddle.solve",
    "learning_curve": "saddle.curve",
    "branches": "saddle.continuation",
    "optimal_lambda": "studies.optimal_decay",
    "samples_for": "studies.samples",
    "Solution": "problem.solution",
    "Status": "problem.solution",
    "NotConverged": "problem.solution",
    "to_frame": "studies.data_frame",
    "sweep": "sweeps.sweep",
    "ThisProcess": "engines.this_process",
    "interpolation": "thresholds.interpolation",
    "recovery": "thresholds.recovery",
    "bayes_recovery": "thresholds.bayes_recovery",
    "weak_recovery": "thresholds.weak_recovery",
    "exact_marchenko_pastur": "proven_laws.rational",
    "learned_spectrum": "studies.spectrum",
    "decompose": "studies.decompose",
    "capacity": "studies.capacity",
    "reliability": "studies.reliability",
    "bayes_error": "studies.bayes_estimation_error",
    "bayes_curve": "studies.bayes_comparison",
    "FirstMessage": "messages.stages",
    "state_evolution": "messages.state_evolution",
    "bayes_evolution": "messages.bayes_evolution",
    "scaling_curve": "studies.scaling",
    "width_curve": "studies.scaling",
    "sequential_recovery": "studies.sequential_recovery",
    "feature_overlaps": "studies.sequential_recovery",
    "regimes": "studies.regimes",
    "width_regimes": "studies.regimes",
}


def __getattr__(name: str) -> Any:
    """A public name, from the module that it stands in."""
    if name not in _PUBLIC:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; help({__name__}) lists what it offers"
        )
    return getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)


def __dir__() -> list[str]:
    return sorted(
        {*globals(), *_PUBLIC}
    )  # and no __all__: help() would then print every class whole
