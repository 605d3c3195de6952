"""Our commands beside Apache's tools: the same arguments, the same cluster, the same exit code and lines."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from tests.apache.jvm import Finished
from tests.cli.terminal import Piped, Screen, run_in_terminal, run_inside, run_piped
from tests.oracle import Oracle

_TOOLS = "org.apache.kafka.tools"
TOOLS = {
    "topics": f"{_TOOLS}.TopicCommand",
    "configs": "kafka.admin.ConfigCommand",
    "groups": f"{_TOOLS}.GroupsCommand",
    "consumer-groups": f"{_TOOLS}.consumer.group.ConsumerGroupCommand",
    "get-offsets": f"{_TOOLS}.GetOffsetShell",
    "delete-records": f"{_TOOLS}.DeleteRecordsCommand",
    "log-dirs": f"{_TOOLS}.LogDirsCommand",
    "features": f"{_TOOLS}.FeatureCommand",
    "cluster": f"{_TOOLS}.ClusterTool",
    "broker-api-versions": f"{_TOOLS}.BrokerApiVersionsCommand",
    "transactions": f"{_TOOLS}.TransactionsCommand",
    "metadata-quorum": f"{_TOOLS}.MetadataQuorumCommand",
}
_SERVER_FIRST = ("features", "transactions", "metadata-quorum")
"""Tools with sub-commands that take the server before the sub-command."""

Normal = Callable[[str], Any]
"""What is compared of an output; leaves out what may differ."""


def lines(output: str) -> list[str]:
    """Every line as it is."""
    return output.splitlines()


def sorted_lines(output: str) -> list[str]:
    """Every line, in any order."""
    return sorted(output.splitlines())


def one_line_error(command: str, piped: Piped) -> str:
    """The error on standard error, which has to be one line, with nothing on standard output."""
    assert piped.stderr.startswith(f"ottla {command}: "), piped
    assert piped.stderr.count("\n") == 1, piped
    return piped.stderr


class Beside:
    """Runs our command and Apache's tool of that name against one cluster."""

    def __init__(self, bootstrap: str, oracle: Oracle) -> None:
        self.bootstrap = bootstrap
        self._oracle = oracle

    def line(self, command: str, arguments: Sequence[str]) -> list[str]:
        """The arguments with the cluster's address where the tool wants it."""
        if any(argument.startswith(("--bootstrap-", "-b")) for argument in arguments):
            return list(arguments)
        server = ["--bootstrap-server", self.bootstrap]
        return [*server, *arguments] if command in _SERVER_FIRST else [*arguments, *server]

    def ours(self, command: str, *arguments: str) -> Piped:
        """Our command, through pipes."""
        return run_piped(command, *self.line(command, arguments))

    def theirs(self, command: str, *arguments: str) -> Finished:
        """Apache's tool."""
        return self._run(command, self.line(command, arguments))

    def _run(self, command: str, arguments: Sequence[str]) -> Finished:
        done = self._oracle.run(TOOLS[command], *arguments)
        if done.stderr.endswith("ended the JVM"):  # what it said has gone with the JVM
            return self._oracle.run(TOOLS[command], *arguments, fresh=True)
        return done

    def bare(self, command: str, *arguments: str) -> tuple[Piped, Finished]:
        """Both with these very arguments, without the cluster's address."""
        return run_piped(command, *arguments), self._run(command, arguments)

    def document(self, command: str, *arguments: str) -> Any:
        """What our command says with --json; it has to succeed."""
        done = self.ours(command, *arguments, "--json")
        assert done.code == 0, done
        return json.loads(done.stdout)

    def screen(self, command: str, *arguments: str, columns: int = 200) -> Screen:
        """Our command in a terminal; it has to succeed."""
        screen = run_in_terminal(command, *self.line(command, arguments), columns=columns)
        assert screen.code == 0, screen.text
        assert "Traceback" not in screen.text
        return screen

    def same(self, command: str, *arguments: str, normal: Normal = lines) -> str:
        """Both succeed and print the same; returns what ours prints."""
        ours, theirs = self.ours(command, *arguments), self.theirs(command, *arguments)
        assert (ours.code, theirs.returncode) == (0, 0), f"ours {ours}\n\ntheirs {theirs}"
        assert normal(ours.stdout) == normal(theirs.stdout), f"{ours.stdout}\n{theirs.stdout}"
        return ours.stdout

    def same_or_refused(self, command: str, *arguments: str) -> str:
        """As `same`, or both are told that the node does not do such a thing; then returns nothing."""
        theirs = self.theirs(command, *arguments)
        if theirs.returncode == 0:
            return self.same(command, *arguments)
        assert "The node does not support" in theirs.stderr, theirs
        ours = self.ours(command, *arguments)
        assert ours.code == theirs.returncode
        assert "The node does not support" in one_line_error(command, ours)
        return ""

    def same_failure(self, text: str, command: str, *arguments: str) -> str:
        """Both fail with the same code and for the same reason ``text``; returns our one line."""
        ours, theirs = run_inside(command, *self.line(command, arguments)), self.theirs(command, *arguments)
        assert ours.code == theirs.returncode, f"ours {ours}\n\ntheirs {theirs}"
        assert text in " ".join((theirs.stdout + theirs.stderr).split()), theirs
        line = one_line_error(command, ours)
        assert text in line
        return line
