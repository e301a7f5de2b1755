"""Command line of the symbolic layer: `python -m derive list | gen | check | diff | explain | tex`."""

import argparse
import json
import os
import sys
from typing import NoReturn

from derive import models
from derive.code import check, emit
from derive.code.printers import latex
from derive.language.errors import ModelError
from derive.language.model import Model
from derive.language.step import DerivationError
from derive.pipeline import derive, functions
from derive.scaling import exponent_tables
from derive.tools.diff import compare
from derive.tools.explain import Unknown, explain


class Parser(argparse.ArgumentParser):
    """ArgumentParser that reports an error in one line on stderr and exits with 2."""

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with 2."""
        fail(f"{self.prog}: {message}; see {self.prog} --help")


def fail(message: str) -> NoReturn:
    """One line on stderr, exit 2: bad input."""
    sys.stderr.write(" ".join(message.split()) + "\n")
    raise SystemExit(2)


def build_parser() -> Parser:
    """All commands and their arguments."""
    parser = Parser(prog="python -m derive", description="Derive equations from model files and generate code.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="{list,gen,check,diff,explain,tex}")

    def add(name: str, text: str, example: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text, epilog=f"example: python -m derive {example}")
        command.add_argument("--json", action="store_true", help="print one JSON document on stdout")
        return command

    add("list", "models and their equations", "list")
    gen = add("gen", "derive and write generated/", "gen")
    gen.add_argument("models", nargs="*", metavar="MODEL", help="models to generate (default all)")
    gen.add_argument("--force", action="store_true", help="overwrite files that were edited by hand")
    gen.add_argument("--reason", metavar="TEXT", help="why reference values change; recorded with them")
    add("check", "prove generated/ current, equal to its source expressions, and right at stored values", "check")
    add("diff", "compare generated/ with the models, equation by equation", "diff")
    add("explain", "the equation behind a name or a generated line", "explain overlaps.m").add_argument(
        "query", metavar="EQUATION|FILE:LINE|exponents"
    )
    add("tex", "the derivation as a LaTeX document on stdout", "tex tied_attention > derivation.tex").add_argument(
        "model", metavar="MODEL"
    )
    return parser


def load(name: str) -> Model:
    """The model of this name, or exit 2."""
    try:
        return models.load(name)
    except KeyError:
        fail(f"MODEL {name}: no such model; known: {', '.join(models.available())}")


def say(arguments: argparse.Namespace, document: object, text: str) -> None:
    """The document as JSON if asked for, else the text."""
    sys.stdout.write((json.dumps(document, indent=1, ensure_ascii=False) if arguments.json else text) + "\n")


def command_list(arguments: argparse.Namespace) -> int:
    """Models, steps and equations."""
    document, lines = {}, []
    for name in models.available():
        model = load(name)
        found = functions(derive(model))
        document[name] = {
            "title": model.title,
            "equations": [i for _, function in found for i in function.equation_ids()],
        }
        lines.append(f"{name}: {model.title}")
        lines += [f"  {step.name:20} {', '.join(function.equation_ids())}" for step, function in found]
    say(arguments, document, "\n".join(lines))
    return 0


def command_gen(arguments: argparse.Namespace) -> int:
    """Write the files of the models."""
    written = {}
    for model in [load(name) for name in arguments.models or models.available()]:
        try:
            written[model.name] = emit.generate(model, force=arguments.force, reason=arguments.reason)
        except emit.HandEdited as error:
            fail(f"generated/{error}: edited by hand, not overwritten; put the change into the model, or use --force")
        except emit.OraclesChanged as error:
            fail(f"reference values change for {error}: give --reason TEXT to say why")
    say(arguments, written, "\n".join(f"{name}: {', '.join(files) or 'up to date'}" for name, files in written.items()))
    return 0


def command_check(arguments: argparse.Namespace) -> int:
    """Say of every model what is proven of its generated files, and name what is not."""
    reports = [check.report(load(name)) for name in models.available()]
    orphans = emit.orphaned_folders(models.available())
    problems = [problem for report in reports for problem in report.problems]
    problems += [check.Problem(f"generated/{name}/", "no model of this name") for name in orphans]
    document = {
        "models": [report.record() for report in reports],
        "problems": [vars(problem) for problem in problems],
    }
    say(arguments, document, "\n".join(map(str, (*problems, *reports))))
    return 1 if problems else 0


def command_diff(arguments: argparse.Namespace) -> int:
    """Compare equations on disk with derived ones."""
    document, lines = {}, []
    for name in models.available():
        model = load(name)
        try:
            changes = compare((emit.folder(name) / "multiprecision.py").read_text(), model.title, derive(model))
        except Exception as error:  # whatever importing or running a damaged file raises
            if isinstance(error, DerivationError | ModelError):
                raise
            fail(
                f"generated/{name}/multiprecision.py: cannot be read ({error}); generate it with `python -m derive gen`"
            )
        document[name] = [vars(change) for change in changes]
        lines += [f"{name} {change}" for change in changes]
    say(arguments, document, "\n".join(lines))
    return 0


def command_explain(arguments: argparse.Namespace) -> int:
    """Explain an equation of the first model that has it, or every scaling exponent of a power-law target."""
    if arguments.query == "exponents":
        model = load(models.available()[0])
        say(arguments, exponent_tables.record(model), exponent_tables.explanation(model))
        return 0
    reasons = []
    for name in [name for name in models.available() if f"{name}/" in arguments.query] or models.available():
        try:
            explanation = explain(arguments.query, load(name))
        except Unknown as error:
            reasons.append(str(error))
            continue
        say(arguments, explanation.record(), explanation.text())
        return 0
    fail(f"EQUATION {arguments.query}: {reasons[0]}")


def command_tex(arguments: argparse.Namespace) -> int:
    """Print the LaTeX document."""
    model = load(arguments.model)
    text = latex.document(model, derive(model))
    say(arguments, {"model": model.name, "tex": text}, text)
    return 0


COMMANDS = {
    "list": command_list,
    "gen": command_gen,
    "check": command_check,
    "diff": command_diff,
    "explain": command_explain,
    "tex": command_tex,
}


def main() -> int:
    """Run the command of sys.argv; its exit code."""
    arguments = build_parser().parse_args()
    try:
        code = COMMANDS[arguments.command](arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever reads the output has stopped, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
    except ModelError as error:
        fail(f"model file: {error}")
    except DerivationError as error:
        fail(f"derivation: {error}; the passes do not cover this model")


if __name__ == "__main__":
    raise SystemExit(main())
