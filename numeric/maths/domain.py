"""Exceptions for questions without an answer, apart from mistakes of ours, which are never caught on the way."""


class NoAnswer(ArithmeticError):
    """What was asked has no answer that can be trusted; the text says why, at which values, and what would help."""


class OutsideDomain(NoAnswer):
    """A law, an average or a root does not exist at these values, or double precision cannot tell. Solvers take it for divergence."""
