"""Command `python -m derive explain`: show the equation behind a name or a line of generated
code.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from attention_erm.cli.messages import fail
from derive.cli.catalogue import process_or_refuse, require_model
from derive.cli.output import add_command, log_if_slow, log_refusal, print_result
from derive.models import available

if TYPE_CHECKING:
    from derive.language.model import Model
    from derive.tools.explain import Explanation

DESCRIPTION = """
Show the equation with a given name, or the one behind a line of generated code: its formula, its
derivation step, and its location in the generated files. `exponents` shows the balance behind every
scaling exponent of a power-law target.
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "explain",
        "show the equation behind a name or a generated line",
        DESCRIPTION,
        "explain overlaps.m",
    )
    parser.add_argument(
        "query",
        metavar="EQUATION|FILE:LINE|exponents",
        help="name of an equation, line of a generated file, or the balances behind the exponents",
    )
    parser.add_argument(
        "--model", metavar="MODEL", help="model, by name or file (default the first that has it)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Explain an equation of the first model that has it, or every scaling exponent of a power-law
    target.
    """
    from derive.scaling import exponent_tables
    from derive.tools import explain

    model_name, _, equation = arguments.query.partition(".")
    if model_name in available() and equation:  # the model may be written before the equation
        arguments.model, arguments.query = model_name, equation
    chosen = (require_model("--model", arguments.model),) if arguments.model else ()
    if arguments.query == "exponents":
        names = chosen or available()
        readable = (process_or_refuse(name, lambda model: model).value for name in names)
        with log_if_slow("deriving the exponents"):
            model = next(
                (
                    model
                    for model in readable
                    if model is not None and (chosen or exponent_tables.has_exponents(model))
                ),
                None,
            )
            if model is None:
                fail(f"--model {arguments.model}: cannot be read; correct its file")
            if reason := exponent_tables.missing(model):
                fail(f"--model {arguments.model}: has no exponents: {reason}; name another model")
            record, text = exponent_tables.record(model), exponent_tables.explanation(model)
        print_result(arguments, record, text)
        return 0

    def answer(model: Model) -> Explanation | str:
        try:
            return explain.explain(arguments.query, model)
        except explain.UnknownEquation as error:
            return str(error)

    reasons = []
    with log_if_slow(f"deriving the equation of {arguments.query}"):
        named = [name for name in available() if f"{name}/" in arguments.query]
        for name in chosen or named or available():
            result = process_or_refuse(name, answer)
            if result.refusal:
                log_refusal(result.refusal)
            elif isinstance(result.value, explain.Explanation):
                print_result(arguments, result.value.record(), result.value.text())
                return 0
            else:
                reasons.append(result.value)
    if not reasons:
        fail(f"EQUATION {arguments.query}: no model can be read; correct their files")
    if len(reasons) > 1:
        listed = "`python -m derive list MODEL` lists the equations of a model"
        fail(f"EQUATION {arguments.query}: no model has such an equation; {listed}")
    fail(f"EQUATION {arguments.query}: {reasons[0]}")
