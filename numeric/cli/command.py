"""Runner of the commands: check outputs, compute, write files, print, warn, return the exit
code.
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attention_erm.runtime.text_table import table_text
from numeric.cli.output import outputs, print_at_end, save, write_table


@dataclass(frozen=True)
class Result:
    """Result of a command.

    Attributes:
        document: JSON document ; "parameters" are also in the table.
        rows: rows of the table, printed and written to --csv.
        text: text to print; by default the table of the rows and `footer`.
        footer: text below the table.
        draw: returns the figure, made with the package numeric.plotting, and the keys of the JSON
            file next to the figure that differ from `document` (figures have extra points).
        table_parameters: parameters in the table, if they are not those of the document.
        timed: append the time in seconds to the document.
        finish: prints warnings on stderr and returns the exit code.
    """

    document: dict[str, Any]
    rows: Sequence[Mapping[str, object]] = ()
    text: str | None = None
    footer: str = ""
    draw: Callable[[Any], tuple[Any, Mapping[str, object]]] | None = None
    table_parameters: Mapping[str, object] = field(default_factory=dict)
    timed: bool = True
    finish: Callable[[], int] = lambda: 0


@dataclass(frozen=True)
class Command:
    """Command of `python -m numeric`.

    Attributes:
        name: name on the command line.
        help: one line in the list of commands.
        description: text of --help.
        example: a complete example.
        add_options: adds the options to the parser.
        compute: returns the result, or the exit code if there is nothing to print or write.
    """

    name: str
    help: str
    description: str
    example: str
    add_options: Callable[[argparse.ArgumentParser], None]
    compute: Callable[[argparse.Namespace], Result | int]

    def add(self, commands: Any) -> None:
        """Add the command to the subparsers of a command line."""
        parser = commands.add_parser(
            self.name,
            help=self.help,
            description=self.description,
            epilog=f"example: {self.example}",
        )
        self.add_options(parser)
        parser.set_defaults(run=self.run)

    def run(self, arguments: argparse.Namespace) -> int:
        """Run the command and return its exit code."""
        table, figure = outputs(arguments)
        started = time.perf_counter()
        result = self.compute(arguments)
        if isinstance(result, int):
            return result
        document = result.document
        if result.timed:
            document["seconds"] = time.perf_counter() - started

        def show() -> None:
            text = result.text
            sys.stdout.write(table_text(result.rows) + result.footer if text is None else text)

        with print_at_end(arguments, document, show):
            if table and result.rows:
                write_table(table, result.rows, result.table_parameters or document["parameters"])
            if figure and result.draw:
                from numeric import plotting  # slow import

                drawing, data = result.draw(plotting)
                save(drawing, figure, {**document, **data})
        return result.finish()
