"""Domains that the physics tests draw from, and how many examples of them."""

import math

from hypothesis import settings
from hypothesis import strategies as st

from numeric import model as models
from numeric.laws.covariance.aligned import AlignedCovariance
from numeric.laws.covariance.independent import IndependentCovariance
from numeric.laws.law import Target
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.rational_target import RationalTarget
from numeric.problem.problem import Problem, extra_setting_names


def examples(most: int) -> settings:
    """So many in the repeatable profile, and in proportion to it in any other."""
    share = settings.default.max_examples / settings.get_profile("repeatable").max_examples
    return settings(max_examples=max(1, round(most * share)), deadline=None)


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    """Floats spread evenly over the orders of magnitude between the bounds."""
    return st.floats(math.log(low), math.log(high)).map(math.exp)


kappa0s = log_uniform(0.02, 5.0)
laws = st.builds(MarchenkoPastur, kappa0s)
variances = log_uniform(1e-3, 30.0)
thresholds = st.floats(-2.0, 5.0)

# A box in which a cold solve converges within the step limit; every test of it takes tenths of a
# second.
problems = st.builds(
    Problem,
    alpha=log_uniform(0.1, 5.0),
    target=st.builds(MarchenkoPastur, log_uniform(0.1, 1.5)),
    lambda_=log_uniform(0.005, 0.2),
    noise=st.floats(0.05, 1.5),
    width=st.sampled_from([0.4, 0.75, 1.0]),
    beta=st.floats(0.6, 1.6),
    beta0=st.floats(0.6, 1.6),
)

HEATS = ("beta", "beta0")


def heats_of(model: str) -> tuple[str, ...]:
    """Inverse temperatures that a model has."""
    return tuple(name for name in HEATS if name in models.structure(model).channel_settings)


@st.composite
def targets_of(draw, model: str) -> Target:
    """The target law of a model, at any of its settings."""
    names = models.structure(model).target_settings
    if not models.structure(model).has_negative_eigenvalues and "kappa0" in names:
        return MarchenkoPastur(draw(st.floats(0.2, 1.2)))
    rank = {name: draw(st.floats(0.2, 1.2)) for name in names if name.startswith("kappa")}
    scale = {
        name: {"scale1": 1.0, "scale2": 3.0}.get(name, 1.0) for name in names if "scale" in name
    }
    return RationalTarget.of(model, **rank, **scale, positive=draw(st.floats(0.1, 0.9)))


@st.composite
def problems_of(draw, model: str, **fixed: float) -> Problem:
    """Where a solve is quick and minimisers do not jump: not much less decay than signal."""
    heat = {name: draw(st.floats(0.7, 1.4)) for name in heats_of(model)}
    # Labels without a sign teach matrices of either sign from many samples only.
    fewest = 16.0 if model == "signed_phase_retrieval" else 0.5
    return Problem(
        **{
            "alpha": draw(log_uniform(fewest, 6 * fewest)),
            "target": draw(targets_of(model)),
            "lambda_": draw(log_uniform(0.03, 0.2)),
            "noise": draw(log_uniform(0.1, 1.0)),
            "model": model,
            "extra": tuple(
                (name, draw(log_uniform(0.01, 0.3))) for name in extra_setting_names(model)
            ),
            **heat,
            **fixed,
        }
    )


@st.composite
def covariances(draw):
    """A target of tokens with a covariance: on common eigenvectors, or independent of it."""
    if draw(st.booleans()):
        atoms = draw(st.lists(st.floats(0.3, 3), min_size=1, max_size=3))
        return IndependentCovariance(MarchenkoPastur(draw(st.floats(0.3, 1.2))), atoms)
    count = draw(st.integers(2, 6))
    own = draw(st.lists(st.floats(0.2, 2), min_size=count, max_size=count))
    values = draw(st.lists(st.floats(0.3, 3), min_size=count, max_size=count))
    return AlignedCovariance(own, values)


@st.composite
def problems_with_tokens(draw, model: str) -> Problem:
    """Problems whose tokens have a covariance, other norms than Gaussian ones, or both."""
    norms = draw(st.sampled_from([0.0, 1.0, 2.0, 3.0]))
    isotropic = norms != 2.0 and draw(st.booleans())
    target = draw(targets_of(model) if isotropic else covariances())
    return draw(problems_of(model, target=target, norms=norms))
