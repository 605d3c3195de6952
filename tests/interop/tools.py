"""Apache's own command line tools against a cluster."""

import re
from pathlib import Path

from tests.oracle import Oracle

TOOLS = "org.apache.kafka.tools"
TOPICS = f"{TOOLS}.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
GROUPS = f"{TOOLS}.GroupsCommand"
CONSUMER_GROUPS = f"{TOOLS}.consumer.group.ConsumerGroupCommand"
CONSOLE_CONSUMER = f"{TOOLS}.consumer.ConsoleConsumer"

Row = dict[str, str]
_COLUMN = re.compile(r"\S+(?: \(ID\))?")
_LEFT_BEHIND = re.compile(r"^WARN \[.*Node may not be available.*\n", re.MULTILINE)
"""What a client says that another tool in the same JVM has left, of a broker that is gone."""


class Tools:
    """Each tool gets a JVM of its own, as its script runs it; with `shared` many run in one, which is quicker."""

    def __init__(self, oracle: Oracle, bootstrap: str, *, shared: bool = False) -> None:
        self._oracle = oracle
        self._bootstrap = bootstrap
        self._shared = shared

    def run(self, main_class: str, *arguments: str | Path, stdin: str | None = None) -> str:
        """Run a tool that has to succeed, and return what it prints."""
        status, output = self.attempt(main_class, *arguments, stdin=stdin)
        assert status == 0, output
        return output

    def attempt(self, main_class: str, *arguments: str | Path, stdin: str | None = None) -> tuple[int, str]:
        """Run a tool and return its exit status and all that it prints."""
        server = ("--bootstrap-server", self._bootstrap)
        done = self._oracle.run(main_class, *server, *arguments, stdin=stdin, fresh=not self._shared)
        return done.returncode, _LEFT_BEHIND.sub("", done.stdout + done.stderr)


def table(output: str) -> list[Row]:
    """Read tables of one shape: the lines after each heading, in columns that begin where the heading's begin."""
    rows: list[Row] = []
    columns: list[tuple[str, int, int]] | None = None
    for line in output.splitlines():
        if line.startswith(("GROUP ", "TOPIC ")):
            found = list(_COLUMN.finditer(line))
            ends = [each.start() for each in found[1:]] + [len(line) + 1000]
            columns = [(each[0], each.start(), end) for each, end in zip(found, ends, strict=True)]
        elif not line.strip():
            columns = None
        elif columns is not None:
            rows.append({name: line[start:end].strip() for name, start, end in columns})
    return rows
