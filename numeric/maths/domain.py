"""Exceptions for questions without an answer, apart from mistakes of ours, which are never caught on the way."""


class NoAnswer(ArithmeticError):
    """What was asked has no answer that can be trusted; the text says why, at which values, and what would help."""


class OutsideDomain(NoAnswer):
    """A law, an average or a root does not exist at these values, or double precision cannot tell. Solvers take it for divergence."""


class InvalidParameter(ValueError):
    """A parameter outside its domain: its name, its value, the rule and the way out, in one line.

    Command lines say the same of the argument that stated it.
    """

    def __init__(self, name: str, value: object, rule: str, way_out: str) -> None:
        super().__init__(name, value, rule, way_out)  # all four, so that it passes from a worker process to its parent
        self.name, self.value, self.rule, self.way_out = name, value, rule, way_out

    def __str__(self) -> str:
        shown = repr(self.value)
        shown = shown if len(shown) <= 60 else f"{shown[:40]}... ({len(shown)} characters)"
        return f"{self.name} = {shown}: {self.rule}; {self.way_out}"
