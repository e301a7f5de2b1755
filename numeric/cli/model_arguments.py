"""Arguments that choose the learning problem: a generated model, and the settings that only it
has.
"""

import argparse
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction

from attention_erm.cli.messages import nearest
from attention_erm.runtime.errors import InvalidParameter
from numeric import model
from numeric.cli.arguments import exact_texts, number
from numeric.model_files import resolved

# Have arguments of their own, or a value for all.
_COMMON = (*model.COMMON, "kappa0", "scale")
DEFAULTS = {"positive": Fraction(1, 2)}


def add_model_name(parser: argparse.ArgumentParser) -> None:
    """Add --model, which problem is solved."""
    parser.add_argument(
        "--model",
        metavar="NAME",
        default=model.DEFAULT,
        help=f"learning problem (default {model.DEFAULT}): a name of `python -m derive list`, or "
        "the path of a model file",
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add --model, which problem is solved, and --settings, what only some models have."""
    add_model_name(parser)
    parser.add_argument(
        "--settings",
        metavar="LIST",
        help="several of the settings below at once, e.g. kappa1=1/5,scale1=1",
    )
    parser.set_defaults(own_settings=True)


def add_own_settings(parser: argparse.ArgumentParser) -> None:
    """Add an argument for each setting that only some models have, after all others: one of the
    same name keeps it.
    """
    for setting, (described, having) in _all_own().items():
        meaning = f"{described.meaning}, in {described.domain}"
        default = f"; default {DEFAULTS[setting]}" if setting in DEFAULTS else ""
        with suppress(argparse.ArgumentError):
            parser.add_argument(
                f"--{setting}",
                dest=f"own_{setting}",
                type=_in_domain(f"--{setting}", described.domain),
                metavar="X",
                help=f"{meaning} ({', '.join(having)}{default})",
            )


def _own(name: str) -> list[str]:
    """Settings that have no argument common to all models."""
    return [setting for setting in model.structure(name).settings if setting not in _COMMON]


def _all_own() -> dict[str, tuple[model.SettingDescription, list[str]]]:
    """Settings of single models: what they are, and the models that have them."""
    found: dict[str, tuple[model.SettingDescription, list[str]]] = {}
    for name in model.available():
        for setting in _own(name):
            found.setdefault(setting, (model.structure(name).settings[setting], []))[1].append(name)
    return found


def _in_domain(argument: str, domain: str) -> Callable[[str], Fraction]:
    """Argument type: an exact number in a domain of the notation, e.g. "(0, inf)" or "[0, 1)"."""
    low, high = (text.strip() for text in domain[1:-1].split(","))

    def holds(value: Fraction) -> bool:
        above = (
            low == "-inf" or value > Fraction(low) or (domain[0] == "[" and value == Fraction(low))
        )
        return above and (
            high == "inf"
            or value < Fraction(high)
            or (domain[-1] == "]" and value == Fraction(high))
        )

    return number(argument, f"must lie in {domain}", holds, "choose another")


def chosen_model(arguments: argparse.Namespace) -> str:
    """The model asked for.

    Raises:
        InvalidParameter: there is none of this name, or its file was changed since it was
            generated.
    """
    return require_generated(arguments.model)


def require_generated(model_or_file: str) -> str:
    """Refuse a model before its settings are looked at, which may be none, or those of before.

    Returns:
        The name of the model, also of one given by its file.

    Raises:
        InvalidParameter: there is none of this name, or its file was changed since it was
            generated.
    """
    name = resolved(model_or_file)
    if name not in model.available():
        known = nearest(name, model.available()) or "one of `python -m derive list`"
        way_out = f"use {known}, or generate it by `python -m derive gen {name}`"
        raise InvalidParameter("--model", repr(name), "is not a generated model", way_out)
    model.require_up_to_date(name)
    return name


def own_settings(arguments: argparse.Namespace, name: str, listed: bool) -> dict[str, Fraction]:
    """Values of the settings that only this model has, without those of its target law where
    eigenvalues are `listed` instead.

    Raises:
        InvalidParameter: one that it does not have, has twice, or lacks.
    """
    replaced = model.structure(name).target_settings if listed else ()
    own = [setting for setting in _own(name) if setting not in replaced]
    has = f"{name}{' with listed eigenvalues' if replaced else ''} has " + (
        ", ".join(own) if own else "no settings besides the arguments of the command"
    )
    given = {
        setting: value
        for setting in _all_own()
        if (value := getattr(arguments, f"own_{setting}", None)) is not None
    }
    for setting in given:
        if setting not in own:
            raise InvalidParameter(
                f"--{setting}",
                given[setting],
                f"unknown setting of this model: {has}",
                "leave it out",
            )
    described = model.structure(name).settings
    domains = {setting: described[setting].domain for setting in own if setting not in given}
    values = DEFAULTS | given | listed_settings(arguments.settings, domains, has)
    if missing := [setting for setting in own if setting not in values]:
        meanings = ", ".join(f"{setting} ({described[setting].meaning})" for setting in missing)
        example = ",".join(f"{setting}=1/10" for setting in missing)
        raise InvalidParameter(
            "--model", name, f"needs its settings {meanings}", f"add --settings {example}"
        )
    return {setting: values[setting] for setting in own}


def stated_settings(
    arguments: argparse.Namespace, name: str, *arguments_of_problem: str
) -> dict[str, str]:
    """Return those of the common arguments that the model has, as exact texts by option."""
    structure = model.structure(name)
    names = {"kappa": "width", "Delta": "noise"}
    had = {names.get(setting, setting) for setting in structure.settings}
    had |= {"tokens"} if structure.takes_tokens else set()
    return exact_texts(arguments, *(one for one in arguments_of_problem if one in had))


def listed_settings(text: str | None, domains: Mapping[str, str], has: str) -> dict[str, Fraction]:
    """Values of --settings name=value,name=value, each of a name with a domain; `has` says which
    there are.

    Raises:
        InvalidParameter: another name, one given twice, or a value outside its domain.
    """
    given: dict[str, Fraction] = {}
    for part in text.split(",") if text is not None else []:
        setting, separator, value = part.partition("=")
        if not separator or setting not in domains or setting in given:
            rule = f"must set each model-specific setting once: {has}"
            raise InvalidParameter("--settings", repr(text), rule, "change it")
        given[setting] = _in_domain(f"--settings {setting} =", domains[setting])(value)
    return given
