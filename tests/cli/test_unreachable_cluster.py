"""Every command without a cluster: Apache's exit code, and one line that says what to look at."""

import json
from collections.abc import Callable

import pytest

from tests.cli.beside import TOOLS, one_line_error
from tests.cli.terminal import run_piped
from tests.oracle import Oracle

NOBODY = "localhost:1"
LINES = {
    "topics": ["--bootstrap-server", NOBODY, "--list"],
    "configs": ["--bootstrap-server", NOBODY, "--describe", "--topic", "t"],
    "groups": ["--bootstrap-server", NOBODY, "--list"],
    "consumer-groups": ["--bootstrap-server", NOBODY, "--list", "--timeout", "1500"],
    "get-offsets": ["--bootstrap-server", NOBODY],
    "delete-records": ["--bootstrap-server", NOBODY, "--offset-json-file", "FILE"],
    "log-dirs": ["--bootstrap-server", NOBODY, "--describe"],
    "features": ["--bootstrap-server", NOBODY, "describe"],
    "cluster": ["cluster-id", "--bootstrap-server", NOBODY],
    "broker-api-versions": ["--bootstrap-server", NOBODY],
    "transactions": ["--bootstrap-server", NOBODY, "list"],
    "metadata-quorum": ["--bootstrap-server", NOBODY, "describe", "--status"],
}
_CONFIG_FIRST = ("features", "transactions", "metadata-quorum")


def test_every_tool_is_tried() -> None:
    assert set(LINES) == set(TOOLS)


@pytest.mark.parametrize("command", LINES)
def test_nobody_answers(oracle: Oracle, hasty: str, written: Callable[[str, str], str], command: str) -> None:
    partitions = {"partitions": [{"topic": "t", "partition": 0, "offset": 1}]}
    path = written("offsets.json", json.dumps(partitions))
    line = [path if argument == "FILE" else argument for argument in LINES[command]]
    config = ["--command-config", hasty]
    line = [*config, *line] if command in _CONFIG_FIRST else [*line, *config]
    ours, theirs = run_piped(command, *line), oracle.run(TOOLS[command], *line)
    assert ours.code == theirs.returncode, (ours, theirs)
    assert ours.stdout in ("", theirs.stdout[: len(ours.stdout)])
    said = one_line_error(command, ours)
    assert NOBODY in said
    assert "is the server running, and is its address right? `ottla doctor` finds out" in said
    assert run_piped(command, *line, "--json").code == 1


@pytest.mark.parametrize("command", ["topics", "consumer-groups", "cluster"])
def test_a_name_that_nobody_knows(oracle: Oracle, command: str) -> None:
    line = ["no-such-host.invalid:9092" if argument == NOBODY else argument for argument in LINES[command]]
    ours, theirs = run_piped(command, *line), oracle.run(TOOLS[command], *line)
    assert ours.code == theirs.returncode
    assert "No resolvable bootstrap urls given in bootstrap.servers" in theirs.stderr
    assert "No resolvable bootstrap urls given in bootstrap.servers" in one_line_error(command, ours)
