"""What commands print: tables on a terminal, Apache's lines in a pipe, one JSON document with ``--json``.

Scripts written for Kafka's tools read their lines, so in a pipe a command prints the very same; people get a table.
rich is imported when the first table is drawn.
"""

import json
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

MISSING: Final = "-"


class Table(NamedTuple):
    """Rows under headings; None is shown as missing, and a column of numbers is set to the right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    title: str = ""


class Output:
    """Where the answer of a command goes."""

    __slots__ = ("as_json", "terminal")

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.terminal = not as_json and sys.stdout.isatty()

    @classmethod
    def of(cls, options: Namespace) -> "Output":
        """The output that the line asks for."""
        return cls(as_json=getattr(options, "json", False))

    def show(self, document: object, lines: Iterable[str], tables: Iterable[Table] | None = None) -> None:
        """Print the answer in the form that is wanted: ``document``, ``lines``, or ``tables`` if there are any."""
        if self.as_json:
            self.document(document)
        elif self.terminal and tables is not None:
            self.tables(tables)
        else:
            sys.stdout.writelines(f"{line}\n" for line in lines)
            sys.stdout.flush()

    def note(self, line: str) -> None:
        """A line that goes with the answer, and is not part of a document."""
        if not self.as_json:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()

    def warn(self, line: str) -> None:
        """A line on standard error, for people."""
        sys.stdout.flush()
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    def document(self, document: object) -> None:
        """One JSON document: on one line for programs, indented on a terminal."""
        sys.stdout.write(json.dumps(document, indent=2 if sys.stdout.isatty() else None) + "\n")
        sys.stdout.flush()

    def tables(self, tables: Iterable[Table]) -> None:
        """Draw tables."""
        from rich import box
        from rich.console import Console
        from rich.table import Table as RichTable
        from rich.text import Text

        console = Console(highlight=False)
        for table in tables:
            drawn = RichTable(
                box=box.SIMPLE_HEAD, title=Text(table.title) if table.title else None, title_justify="left"
            )
            for index, column in enumerate(table.columns):
                numbers = all(isinstance(row[index], int | float | None) for row in table.rows)
                drawn.add_column(column, justify="right" if numbers and table.rows else "left", overflow="fold")
            for row in table.rows:
                drawn.add_row(*(Text(MISSING, "dim") if cell is None else Text(str(cell)) for cell in row))
            console.print(drawn)


def tabbed_lines(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """The table that Apache's transactions and metadata-quorum print: padded cells, a tab after each."""
    cells = [list(columns), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[index]) for row in cells) for index in range(len(columns))]
    return ["".join(f"{cell:<{width}}\t" for cell, width in zip(row, widths, strict=True)) for row in cells]
