"""`python -m derive gen`: derive and write generated/."""

import argparse
from typing import Any

from attention_erm.commandline.refusal import fail
from derive.cli.catalogue import chosen, each
from derive.cli.output import command, say
from derive.code import emit
from derive.code.files import build
from derive.language.model import Model

DESCRIPTION = """
Derive the models whose files are not current and write their code, LaTeX and reference values. Prints the files written of each. Files
edited by hand are not overwritten without --force, reference values do not change without --reason.
"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = command(commands, "gen", "derive and write generated/", DESCRIPTION, "gen quadratic_network")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="models to generate (default all)")
    parser.add_argument("--force", action="store_true", help="overwrite files that were edited by hand")
    parser.add_argument("--reason", metavar="TEXT", help="why reference values change; recorded with them")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the files of the models; exit 2 if one of them is refused, when the others are written."""
    written, refused = dict[str, list[str]](), dict[str, str]()
    for name, files, refusal in each(chosen(arguments.models), built, "deriving"):
        if files is None:
            refused[name] = refusal  # which `each` has said
            continue
        try:
            written[name] = emit.write(name, files, force=arguments.force, reason=arguments.reason) if files else []
        except emit.HandEdited as error:
            fail(f"generated/{error}: edited by hand, not overwritten; put the change into the model, or use --force")
        except emit.OraclesChanged as error:
            fail(f"reference values of {name} change for {error}: give --reason TEXT to say why")
    document = {**written, **{name: [f"refused: {refusal}"] for name, refusal in refused.items()}}
    if written or arguments.json:
        lines = (f"{name}: {', '.join(files) or 'up to date'}" for name, files in written.items())
        say(arguments, document, "\n".join(lines))
    return 2 if refused else 0


def built(model: Model) -> dict[str, str]:
    """All files of a model by name, as another process can hand them over; none where those on disk are current."""
    return {} if emit.is_current(model) else dict(build(model))
