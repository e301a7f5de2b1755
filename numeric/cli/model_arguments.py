"""Arguments that choose the learning problem: a generated model, and the settings that only it has."""

import argparse
from fractions import Fraction

from numeric import model
from numeric.cli.arguments import BadInput, number

COMMON = (
    "lambda_",
    "kappa",
    "Delta",
    "beta",
    "beta0",
    "kappa0",
    "scale",
)  # have arguments of their own, or a value for all
DEFAULTS = {"positive": Fraction(1, 2)}


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add --model: which problem is solved."""
    parser.add_argument(
        "--model",
        metavar="NAME",
        help=f"learning problem (default {model.DEFAULT}); `python -m derive list` shows all; --settings states what only it has",
    )


def chosen_model(arguments: argparse.Namespace) -> str:
    """The model asked for.

    Raises:
        BadInput: there is none of this name.
    """
    name = getattr(arguments, "model", None) if not arguments.law_of_model else None
    if name is not None and name not in model.available():
        way_out = f"use one of {', '.join(model.available())}, or generate it by python -m derive gen {name}"
        raise BadInput("--model", repr(name), "is not a generated model", way_out)
    return name or model.DEFAULT


def own_settings(text: str | None, name: str) -> dict[str, Fraction]:
    """Values, from `--settings` as given, of the settings that only this model has.

    Raises:
        BadInput: one that it does not have, or lacks.
    """
    shape = model.structure(name)
    own = [setting for setting in shape["settings"] if setting not in COMMON]
    given: dict[str, Fraction] = {}
    has = f"{name} has " + (", ".join(own) if own else "none beside the arguments of the command")
    for part in text.split(",") if text else []:
        setting, separator, text = part.partition("=")
        if not separator or setting not in own or setting in given:
            raise BadInput("--settings", repr(text), f"must set each of its own settings once: {has}", "change it")
        given[setting] = _parse(setting, shape["settings"][setting], text)
    values = DEFAULTS | given
    if missing := [setting for setting in own if setting not in values]:
        meanings = ", ".join(f"{setting} ({shape['settings'][setting]['meaning']})" for setting in missing)
        example = ",".join(f"{setting}=1/10" for setting in missing)
        raise BadInput("--model", name, f"needs its settings {meanings}", f"add --settings {example}")
    return {setting: values[setting] for setting in own}


def _parse(setting: str, described: dict[str, str], text: str) -> Fraction:
    """The value, inside the domain that the notation states."""
    domain = described["domain"]
    low, high = (Fraction(end) if "inf" not in end else None for end in domain.strip("()").split(","))

    def inside(value: Fraction) -> bool:
        return (low is None or low < value) and (high is None or value < high)

    return number(f"--settings {setting} =", f"must lie in {domain}", inside, f"it is the {described['meaning']}")(text)
