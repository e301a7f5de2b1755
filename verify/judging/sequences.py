"""Where, and how, the theory of n ~ d^2 Gaussian indices is asked for token sequences (theory note, section 10)."""

#: Samples for each dimension from which the theory of n ~ d^2 is judged on token sequences. The noise in S, a sum of n products of
#: tokens, is semicircular up to d/n: excess errors are 3 per cent off at n = 2.5 d, 2 at 5 d, .5 at 10 d, whatever d
#: (docs/performance.md).
LEAST_RATIO = 10
LEADING = 8  #: features kept exactly beside sequences: with twice as many the excess error changes by less than 2e-3


def kept_exactly(dim: int) -> int:
    """Number of features whose indices keep their law: some are left for the Gaussian rest."""
    return min(LEADING, dim // 2)
