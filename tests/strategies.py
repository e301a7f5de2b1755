"""Domains that the physics tests draw from."""

from hypothesis import strategies as st

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    """Floats spread evenly over the orders of magnitude between the bounds."""
    import math

    return st.floats(math.log(low), math.log(high)).map(math.exp)


kappa0s = log_uniform(0.02, 5.0)
laws = st.builds(MarchenkoPastur, kappa0s)
variances = log_uniform(1e-3, 30.0)
thresholds = st.floats(-2.0, 5.0)

# A box in which a cold solve converges within the step limit; every test of it takes tenths of a second.
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
