"""``ottla pipeline backfill|mirror|profile|verify`` as they are typed: lines that cannot be meant, and no broker."""

from pathlib import Path
from typing import Any

import pytest

from ottla.cli.main import main
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.mirror import Mirror
from ottla.spark.pipeline.record_mapping import LANDED_RAW, RecordMapping
from ottla.spark.pipeline.verify_command import VerifyRequest
from ottla.spark.pipeline.verify_result import Comparison, Side

SERVERS = ("--bootstrap-server", "127.0.0.1:1")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["backfill", "--topic", "t"], 'Missing required argument "[table]"'),
        (["backfill", "--table", "d"], 'Missing required argument "[topic]"'),
        (["backfill", "--table", "d", "--topic", "t", "--header", "x"], "--header takes NAME=SOMETHING, not 'x'"),
        (["backfill", "--table", "d", "--topic", "t", "--option", "=x"], "--option takes NAME=SOMETHING"),
        (["backfill", "--table", "d", "--topic", "t", "--skip-lost"], "unrecognized arguments: --skip-lost"),
        (["mirror"], 'Missing required argument "[topic]"'),
        (["mirror", "--topic", "a,b", "--to", "c"], "--to names the copy of a single topic"),
        (["mirror", "--topic", "a"], "topic a would be mirrored to a, which is read, too"),
        (["mirror", "--topic", "a,b", "--to-command-config", "no-such"], "no-such: No such file"),
        (["profile"], 'Missing required argument "[topic]"'),
        (["verify", "--with", "b"], 'Missing required argument "[topic]"'),
        (["verify", "--topic", "a"], "give --with TOPIC or --table PATH, and not both"),
        (["verify", "--topic", "a", "--with", "b", "--table", "d"], "and not both"),
        (["verify", "--topic", "a", "--with", "b", "--dead-letters", "c"], "--dead-letters goes with --table"),
        (
            ["verify", "--topic", "a", "--with", "b", "--compare", "offset"],
            "--compare takes some of key, value, headers",
        ),
    ],
)
def test_a_line_that_cannot_be_meant_is_refused_in_one(
    capfd: pytest.CaptureFixture[str], line: list[str], words: str
) -> None:
    assert main(["pipeline", line[0], *SERVERS, *line[1:]]) == 1
    said = capfd.readouterr()
    assert words in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


@pytest.mark.parametrize(
    "line",
    [
        ["backfill", "--table", "d", "--topic", "t"],
        ["mirror", "--topic", "a", "--to", "b"],
        ["profile", "--topic", "a"],
        ["verify", "--topic", "a", "--with", "b"],
    ],
)
def test_brokers_that_do_not_answer_are_told_before_spark_starts(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, line: list[str]
) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text("default.api.timeout.ms=300\nrequest.timeout.ms=300\n")
    assert main(["pipeline", *line, *SERVERS, "--command-config", str(properties)]) == 1
    said = capfd.readouterr().err
    assert said.startswith("ottla pipeline: ")
    assert "`ottla doctor` finds out" in said


def test_the_options_of_a_mirror_arrive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[Any] = []

    def mirror(job: Job, work: Mirror, *, say: object) -> int:
        seen.append((job, work))
        return 7

    monkeypatch.setattr("ottla.spark.pipeline.mirror.mirror", mirror)
    properties = tmp_path / "there.properties"
    properties.write_text("bootstrap.servers=there:9092\nsecurity.protocol=SASL_SSL\n")
    line = ["--topic", "a,b", "--prefix", "copy.", "--to-command-config", str(properties), "--no-timestamps", "--once"]
    line.append("--skip-lost")
    assert main(["pipeline", "mirror", *SERVERS, *line, "--max-offsets", "5", "--from", "latest"]) == 7
    ((job, work),) = seen
    assert work.names == {"a": "copy.a", "b": "copy.b"}
    assert work.target.client == {"bootstrap.servers": "there:9092", "security.protocol": "SASL_SSL"}
    assert (work.keeps_partitions, work.keeps_timestamps, work.max_offsets) == (True, False, 5)
    assert (job.once, job.name, work.starting_offsets) == (True, "mirror-a", "latest")
    assert job.read_options()["failOnDataLoss"] == "false"
    assert isinstance(work, Mirror)


def test_the_options_of_a_comparison_arrive_and_its_answer_is_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    seen: list[VerifyRequest] = []
    answers = [(Comparison(Side("a", 1), Side("b", 1), ("key",)), 0), (None, 143)]
    answers.append((Comparison(Side("a", 2), Side("b", 1), ("key",), only_left=1), 0))

    def verify(job: Job, request: VerifyRequest, *, say: object) -> tuple[Comparison | None, int]:
        seen.append(request)
        return answers.pop()

    monkeypatch.setattr("ottla.spark.pipeline.verify_command.verify", verify)
    line = ["pipeline", "verify", *SERVERS, "--topic", "a"]
    assert main([*line, "--table", "/t", "--key", "k", "--header", "h=x", "--compare", "key,headers"]) == 1
    assert main([*line, "--table", "/t"]) == 143
    assert main([*line, "--table", "/t", "--landed", "--json"]) == 0
    assert seen[0].mapping == RecordMapping(key="k", header={"h": "x"})
    assert seen[0].parts == ("key", "headers")
    assert seen[1].mapping is None
    assert seen[2].mapping == LANDED_RAW
    said = capfd.readouterr()
    assert "only in a: 1" in said.out
    assert '"same": true' in said.out
    assert "the same command goes on where it was" in said.err
