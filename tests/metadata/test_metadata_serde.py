"""Frames of metadata records, and the versions in which records are written."""

import pytest

from ottla.common.uuid import Uuid
from ottla.metadata import records as r
from ottla.metadata.metadata_version import LATEST_PRODUCTION, MetadataVersion
from ottla.metadata.serde import MetadataParseError, MetadataRecordSerde, decode_record, encode_record, record_version

DIRECTORY = Uuid.from_halves(1, 2)


def test_a_frame_is_three_varints_and_the_message() -> None:
    frame = encode_record(r.FeatureLevelRecord(name="metadata.version", feature_level=30), 0)
    assert frame == b"\x01\x0c\x00" + b"\x11metadata.version" + b"\x00\x1e" + b"\x00"
    assert decode_record(frame) == r.FeatureLevelRecord(name="metadata.version", feature_level=30)


@pytest.mark.parametrize(
    ("record", "level", "version"),
    [
        (r.RegisterBrokerRecord(), 30, 4),
        (r.RegisterBrokerRecord(), 29, 3),
        (r.RegisterBrokerRecord(), 16, 2),
        (r.RegisterBrokerRecord(), 7, 1),
        (r.PartitionRecord(), 30, 2),
        (r.PartitionChangeRecord(), 22, 1),
        (r.PartitionChangeRecord(), 16, 0),
        (r.TopicRecord(), 30, 0),
        (r.BrokerRegistrationChangeRecord(fenced=1), 30, 0),
        (r.BrokerRegistrationChangeRecord(in_controlled_shutdown=1), 30, 1),
        (r.BrokerRegistrationChangeRecord(log_dirs=[DIRECTORY]), 30, 2),
        (r.BrokerRegistrationChangeRecord(cordoned_log_dirs=[]), 30, 3),
    ],
)
def test_a_record_is_written_in_the_version_of_its_level(record: r.MetadataRecord, level: int, version: int) -> None:
    assert record_version(record, MetadataVersion(level)) == version


def test_the_serde_follows_its_level_and_needs_none_for_the_first_records() -> None:
    levels: list[MetadataVersion] = []
    serde = MetadataRecordSerde(lambda: levels[-1])
    assert serde.write(r.FeatureLevelRecord(name="a", feature_level=1))[2] == 0
    for level, version in ((MetadataVersion.IBP_3_3_IV3, 0), (LATEST_PRODUCTION, 2)):
        levels.append(level)
        assert serde.write(r.PartitionRecord())[2] == version
    assert serde.read(serde.write(r.NoOpRecord())) == r.NoOpRecord()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (b"", "frame"),
        (b"\x01", "frame"),
        (b"\xff\xff\xff\xff\xff\xff", "frame"),
        (b"\x00\x0c\x00", "frame version 0"),
        (b"\x02\x0c\x00", "frame version 2"),
        (b"\x01\x06\x00", "type 6"),
        (b"\x01\x0c\x01", "version 1"),
        (b"\x01\x0c\x00\x11metadata", "type 12"),
        (b"\x01\x14\x00\x00\x00", "left over"),
    ],
)
def test_anything_else_is_refused(frame: bytes, message: str) -> None:
    with pytest.raises(MetadataParseError, match=message):
        decode_record(frame)
