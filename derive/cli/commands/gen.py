"""Command `python -m derive gen`: derive the models and write generated/."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attention_erm.cli.messages import fail
from derive.cli.catalogue import process_models, selected_models
from derive.cli.output import add_command, print_result
from derive.code.manifest import is_current
from derive.code.orphans import SHARED, delete_unused

if TYPE_CHECKING:
    from derive.language.model import Model

DESCRIPTION = """
Derive the models whose files are stale, and write their code, LaTeX and reference values. Without
arguments, also delete shared files that no model uses. Prints the files that were written for each
model. Files edited by hand are overwritten only with --force, and reference values change only with
--reason.
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands, "gen", "derive and write generated/", DESCRIPTION, "gen quadratic_network"
    )
    parser.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="models to generate, names or paths of model files (default all)",
    )
    parser.add_argument(
        "--into",
        metavar="FOLDER",
        help="where generated/ of a model file is written (default beside the file)",
    )
    parser.add_argument(
        "--force", action="store_true", help="overwrite files that were edited by hand"
    )
    parser.add_argument(
        "--reason", metavar="TEXT", help="why reference values change; recorded with them"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the files of the models; return 2 if a model is refused, after the others are
    written.
    """
    names = selected_models(arguments.models, arguments.into)
    stale = [name for name in names if not is_current(name)]
    written, refused = _written(arguments, stale) if stale else ({}, {})
    current: dict[str, list[str]] = {name: [] for name in names if name not in stale}
    document = {name: (current | written | refused)[name] for name in names}
    deleted = [] if arguments.models else delete_unused()  # shared files of deleted models
    if deleted:
        document[SHARED] = [f"{name.removeprefix(f'{SHARED}/')} (deleted)" for name in deleted]
    lines = (
        f"{name}: {', '.join(files) or 'up to date'}"
        for name, files in document.items()
        if name not in refused
    )
    if len(refused) < len(document) or arguments.json:
        print_result(arguments, document, "\n".join(lines))
    return 2 if refused else 0


def _written(
    arguments: argparse.Namespace, names: Sequence[str]
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the files written for each model, and the reasons for refusals."""
    from derive.code import emit

    written, refused = dict[str, list[str]](), dict[str, list[str]]()
    for name, files, refusal in process_models(names, build_files, "deriving"):
        if files is None:
            refused[name] = [f"refused: {refusal}"]  # already logged by `each`
            continue
        try:
            written[name] = emit.write(name, files, force=arguments.force, reason=arguments.reason)
        except emit.HandEdited as error:
            fail(
                f"generated/{error}: edited by hand, not overwritten; put the change into the "
                "model, or use --force"
            )
        except emit.OraclesChanged as error:
            fail(f"reference values of {name} change for {error}: give --reason TEXT to say why")
    return written, refused


def build_files(model: Model) -> dict[str, str]:
    """Return all files of a model by name, in a form that can be sent between processes."""
    from derive.code.files import build

    return dict(build(model))
