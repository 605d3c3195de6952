"""``ottla metadata-shell`` and Apache's: the same lines and exit codes for the same snapshot and the same log."""

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from ottla.metadata import records as r
from ottla.metadata.image.configs import ConfigResourceType
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.metadata_version import LATEST_PRODUCTION
from ottla.metadata.serde import encode_record, record_version
from ottla.records.builder import build_batch
from ottla.records.record import SimpleRecord
from tests.apache.jvm import Finished
from tests.cli.terminal import run_piped
from tests.metadata.metadata_histories import History
from tests.oracle import Oracle

MAIN = "org.apache.kafka.shell.MetadataShell"
TIME_MS = 1_794_838_219_740
ATTEMPTS = 20
"""Apache's shell answers from what it has read so far: it does not wait for the end of its file."""

PATHS = [
    ("ls",),
    ("ls", ""),
    ("ls", "/image/*", "/local"),
    ("ls", "image/topics/byName/*", "/image/topics/byName/alpha/{0,name}"),
    ("find", "image", "nowhere"),
    ("find", "/image/cluster/../topics"),
    ("cat", "/image/features/{metadataVersion,finalized_*}", "image/provenance"),
    ("cat", "/image/*/..", "/image/features/[m]*", "/image/{topics", "/image/features", "/nowhere"),
    ("tree", "/image/topics/by?ame", "/image/provenance", "image/nowhere"),
]
KINDS = (
    "BrokerRegistration(id=", "ControllerRegistration(id=", "PartitionRegistration(replicas=", "StandardAcl[",
    "ScramCredentialData(salt=", "DelegationTokenDatatokenId=", "clientId(", "Optional[4.3-IV0]",
)  # fmt: skip
MISTAKES = [("nonsense",), ("l",), ("t", "/"), ("cd", "/"), ("pwd",), ("help",), ("cat",), ("tree",)]


@pytest.fixture(scope="module")
def segment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A segment of a log of some hundred records, in batches."""
    return _written(tmp_path_factory.mktemp("log") / "00000000000000000000.log", _history(3), a_batch=7)


def _history(seed: int) -> MetadataImage:
    history = History(Random(seed))
    for _ in history.deltas(30, 12):
        pass
    return history.image


def _shown_by_apache(record: r.MetadataRecord) -> bool:
    """Not a quota of a default: Apache's shell has no name for it, and its ``find`` fails there; no unknown config."""
    if isinstance(record, r.ConfigRecord):
        return record.resource_type == ConfigResourceType.BROKER
    return not isinstance(record, r.ClientQuotaRecord) or all(each.entity_name for each in record.entity)


def _written(path: Path, image: MetadataImage, a_batch: int = 1 << 20) -> Path:
    records = [record for record in image.records(LATEST_PRODUCTION) if _shown_by_apache(record)]
    records.append(
        r.ConfigRecord(resource_type=ConfigResourceType.TOPIC, resource_name="t", name="retention.ms", value="7")
    )
    values = [encode_record(record, record_version(record, LATEST_PRODUCTION)) for record in records]
    path.write_bytes(
        b"".join(
            build_batch(
                [SimpleRecord(TIME_MS, None, value) for value in values[first : first + a_batch]],
                base_offset=first,
                leader_epoch=1,
            )
            for first in range(0, len(values), a_batch)
        )
    )
    return path


def _theirs(oracle: Oracle, *arguments: str, is_done: Callable[[Finished], bool] = lambda _: True) -> Finished:
    for _ in range(ATTEMPTS):
        done = oracle.run(MAIN, *arguments)
        if done.stderr.endswith("ended the JVM"):
            done = oracle.run(MAIN, *arguments, fresh=True)
        if is_done(done):
            break
    return done


def _same(oracle: Oracle, source: Path, *words: str) -> str:
    ours = run_piped("metadata-shell", "--snapshot", str(source), *words)
    theirs = _theirs(oracle, "--snapshot", str(source), *words, is_done=lambda done: done.stdout == ours.stdout)
    assert (ours.code, ours.stderr) == (theirs.returncode, "")
    assert ours.stdout == theirs.stdout
    return ours.stdout


def test_every_kind_of_metadata(oracle: Oracle, tmp_path: Path) -> None:
    shown = "".join(
        _same(oracle, _written(tmp_path / f"{seed}.checkpoint", _history(seed)), "tree", "/image") for seed in range(4)
    )
    for text in KINDS:
        assert text in shown


@pytest.mark.parametrize("words", PATHS, ids=" ".join)
def test_paths(oracle: Oracle, segment: Path, words: tuple[str, ...]) -> None:
    assert _same(oracle, segment, *words)


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_mistakes(oracle: Oracle, segment: Path, words: tuple[str, ...]) -> None:
    assert _same(oracle, segment, *words).count("\n") == 1


@pytest.mark.parametrize("arguments", [(), ("--snapshot",), ("--snapshot", "/no/such/file", "ls"), ("--bogus",)])
def test_refused_lines(oracle: Oracle, arguments: tuple[str, ...]) -> None:
    ours, theirs = run_piped("metadata-shell", *arguments), _theirs(oracle, *arguments)
    assert (ours.code, ours.stdout) == (theirs.returncode, theirs.stdout) == (1, "")
    assert ours.stderr.count("\n") == 1


def test_typed(oracle: Oracle, segment: Path) -> None:
    typed = (
        "cd image/cluster\nls\npwd\npwd x\nnonsense\nl\nhistory\nman x\nman\ncd nowhere\ncd /image/provenance\n"
        "cat\nls ''\n\nhistory 2\n  cd ..\npwd\ncd\npwd\nexit 1\nexit\n"
    )
    ours = run_piped("metadata-shell", "--snapshot", str(segment), stdin=typed)
    theirs = oracle.run(MAIN, "--snapshot", str(segment), stdin=typed)
    assert ours.code == theirs.returncode == 0
    _, _, said = theirs.stdout.partition("[ Kafka Metadata Shell ]\n")
    assert ours.stdout == re.sub(r"^(>> )+\n?", "", said, flags=re.MULTILINE)
