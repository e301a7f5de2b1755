"""Exceptions of the whole project: invalid input, questions without an answer, files that cannot be
written.
"""

import re
from typing import Self

_MAX_LENGTH = 60  # characters of a value that messages show in full


class InvalidParameter(ValueError):
    """Invalid input. The command line prints its one line on stderr and exits with code 2.

    Attributes:
        name: name of a Python parameter ("lambda_"), of an option ("--lambda") or of a key in a
            file.
        value: the invalid value.
        rule: what is wrong, or what is allowed.
        hint: what to do.
    """

    def __init__(self, name: str, value: object, rule: str, hint: str) -> None:
        super().__init__(name, value, rule, hint)  # all four: pickle needs them
        self.name, self.value, self.rule, self.hint = name, value, rule, hint

    def __str__(self) -> str:
        if self._is_python_name():
            subject = f"{self.name} = {shorten(repr(self.value))}"
        else:
            subject = " ".join(filter(None, (self.name, shorten(self.value))))
        return f"{subject}: {self.rule}; {self.hint}"

    def as_option(self) -> Self:
        """Return the error with a Python parameter replaced by the option that sets it."""
        if not self._is_python_name():
            return self
        option = f"--{self.name.rstrip('_').replace('_', '-')}"
        return type(self)(option, self.value, self.rule, self.hint)

    def _is_python_name(self) -> bool:
        return re.fullmatch(r"[\w+\[\]]+", self.name) is not None


class NoAnswer(ArithmeticError):
    """No reliable result exists; the message gives the reason, the values and a remedy.

    The command line prints the message on stderr and exits with code 1.
    """


class NotWritten(OSError):
    """A file could not be written: errno, reason and path. Its notes list what is not lost."""


def shorten(value: object) -> str:
    """Return the value as text, truncated if it is long."""
    text = str(value)
    return text if len(text) <= _MAX_LENGTH else f"{text[:40]}... ({len(text)} characters)"
