"""Command `python -m derive new`: write a model file that is a copy of another model, to be
changed.
"""

import argparse
from pathlib import Path
from typing import Any

from attention_erm.cli.messages import fail
from derive.cli.catalogue import process_model
from derive.cli.output import add_command, print_result
from derive.language.errors import ModelError
from derive.models import available

DESCRIPTION = """
Write a model file that is a copy of another model, with a comment on the possible values of each
part. Prints its path and the next commands. An existing file is not overwritten.
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    text = "write a commented copy of a model file, to be changed"
    parser = add_command(
        commands, "new", text, DESCRIPTION, "new soft_threshold --from quadratic_network"
    )
    parser.add_argument(
        "name",
        metavar="NAME",
        help="name of the new model, and of its file in derive/models; or path of its file",
    )
    parser.add_argument(
        "--from", dest="base", metavar="MODEL", required=True, help="model to start from"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the file; return 2 if the name cannot be used."""
    from derive.tools import new_model

    text = process_model(
        arguments.base,
        lambda model: new_model.source(Path(arguments.name).stem, model),
        "reading",
    )
    try:
        path = new_model.write(arguments.name, text)
    except ModelError as error:
        fail(str(error))
    except FileExistsError:
        fail(
            f"NAME {arguments.name}: a model of this name exists; choose a name other than "
            f"{', '.join(available())}"
        )
    name = arguments.name
    print_result(
        arguments,
        {"model": name, "file": str(path)},
        f"{path}: change it, then `python -m derive gen {name}` and `python -m numeric curve "
        f"--model {name} ...`",
    )
    return 0
