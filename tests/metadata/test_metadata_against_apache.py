"""Our metadata records, levels and images beside Apache's own classes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from ottla.common.uuid import Uuid
from ottla.metadata.features import FEATURES, default_level, supported_features
from ottla.metadata.image import EMPTY_IMAGE, MetadataDelta, MetadataProvenance
from ottla.metadata.metadata_version import LATEST_PRODUCTION, MetadataVersion
from ottla.metadata.records import (
    RECORD_CLASSES,
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    RegisterBrokerRecord,
)
from ottla.metadata.serde import decode_record, encode_record, record_version
from tests.apache.schemas import Comparison, read_schemas
from tests.metadata.metadata_histories import History, replayed
from tests.metadata.metadata_messages import ask
from tests.oracle import Oracle
from tests.random_messages import random_message

BROKER_ID = 2
NOTHING_TO_DO = "|||"


def test_every_record_is_declared_as_in_apaches_schemas(oracle: Oracle) -> None:
    schemas = {schema["apiKey"]: schema for schema in read_schemas(oracle, "kafka-metadata", "common/metadata")}
    assert set(schemas) == set(RECORD_CLASSES)
    for api_key, cls in RECORD_CLASSES.items():
        Comparison(schemas[api_key]).check(cls)


def test_apache_reads_our_records_and_writes_the_same_bytes(oracle: Oracle, tmp_path: Path) -> None:
    rng = Random(7)
    frames = []
    for cls in RECORD_CLASSES.values():
        for version in range(cls.schema.versions.lowest, cls.schema.versions.highest + 1):
            for _ in range(12):
                record = random_message(cls, version, rng)
                frame = encode_record(record, version)
                assert decode_record(frame) == record
                frames.append(frame.hex())
    answers = ask(oracle, tmp_path, *(f"record|{frame}" for frame in frames))
    assert [answer.rpartition("\t")[2] for answer in answers] == frames


def test_the_levels_are_apaches(oracle: Oracle, tmp_path: Path) -> None:
    lines = ask(oracle, tmp_path, "versions")
    assert lines == [
        f"{level:d}|{level.version}|{level.release}|{str(level.did_metadata_change).lower()}"
        f"|{level.register_broker_record_version}|{level.partition_record_version}|{level.partition_record_version}"
        f"|{level.fetch_request_version}|{level.list_offset_request_version}"
        for level in MetadataVersion
    ]


def test_the_features_are_apaches(oracle: Oracle, tmp_path: Path) -> None:
    lines = ask(oracle, tmp_path, "features")
    expected = []
    for name, levels in FEATURES.items():
        defaults = ",".join(str(default_level(name, level)) for level in MetadataVersion)
        supported = supported_features({name: len(levels) - 1})[name]
        dependencies = ", ".join(f"{other}={level:d}" for other, level in levels[-1].dependencies.items())
        expected.append(f"{name}|{supported.lowest}|{supported.highest}|{defaults}|{{{dependencies}}}")
    assert lines == expected


def _hex(record: MetadataRecord) -> str:
    if isinstance(record, BrokerRegistrationChangeRecord):
        return encode_record(record, 3).hex()  # all its fields, where a controller would set one
    return encode_record(record, record_version(record, LATEST_PRODUCTION)).hex()


def _compare_histories(
    oracle: Oracle, directory: Path, histories: list[list[list[MetadataRecord]]], *, ignore: Sequence[str] = ()
) -> None:
    """Replay histories, each a list of deltas, here and there: the same image, and the same to do for a broker."""
    questions = ["/".join(",".join(map(_hex, records)) for records in history) for history in histories]
    answers = ask(oracle, directory, *(f"history|{BROKER_ID}|{question}" for question in questions))
    for history, answer in zip(histories, answers, strict=True):
        frames, _, local = answer.partition("\t")
        their_records = [decode_record(bytes.fromhex(frame)) for frame in frames.split(",")]
        theirs = replayed(EMPTY_IMAGE, their_records)
        image, delta = EMPTY_IMAGE, MetadataDelta(EMPTY_IMAGE)
        for records in history:
            delta = MetadataDelta(image)
            for record in records:
                delta.replay(record)
            image = delta.apply(MetadataProvenance())
        assert replace(image, **{name: getattr(theirs, name) for name in ignore}) == theirs
        assert _directories(list(image.records())) == _directories(their_records)
        assert _local(delta) == (local or NOTHING_TO_DO)


def test_apache_replays_the_same_records_into_the_same_images(oracle: Oracle, tmp_path: Path) -> None:
    histories = [
        [[record] for records in History(Random(seed)).deltas(2, 20) for record in records] for seed in range(40)
    ]
    _compare_histories(oracle, tmp_path, histories)


def test_apache_replays_the_same_deltas_into_the_same_images(oracle: Oracle, tmp_path: Path) -> None:
    # In one delta Apache loses a SCRAM credential that is added after the last one of its mechanism was taken away, and
    # keeps the configuration of a topic that was made and removed.
    histories = [list(History(Random(seed)).deltas(3, 25)) for seed in range(60)]
    _compare_histories(oracle, tmp_path, histories, ignore=("configs", "scram"))


def _directories(records: list[MetadataRecord]) -> dict[int, list[Uuid]]:
    """The directories of brokers, in the order in which they are written."""
    return {record.broker_id: list(record.log_dirs) for record in records if isinstance(record, RegisterBrokerRecord)}


def _local(delta: MetadataDelta) -> str:
    if delta.topics_delta is None:
        return NOTHING_TO_DO
    changes = delta.topics_delta.local_changes(BROKER_ID)
    parts = (changes.deletes, changes.elected_leaders, changes.leaders, changes.followers)
    return "|".join(",".join(sorted(map(str, part))) for part in parts)
