"""partition.metadata, meta.properties, the mark of a clean shutdown and the lock of a data directory."""

from pathlib import Path
from random import Random

import pytest

from ottla.common.errors import InconsistentTopicIdError, KafkaStorageError
from ottla.common.uuid import Uuid
from ottla.log.clean_shutdown import CleanShutdownFile
from ottla.log.log_dir import LogDirLock, LogDirLockedError, make_log_dir
from ottla.log.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from ottla.log.partition_metadata import PartitionMetadata, PartitionMetadataFile
from ottla.runtime.posix import PosixFiles
from tests.sim.crash_files import CrashFiles, CrashPolicy, SyncSite

DROP = CrashPolicy.DROP_UNSYNCED
METADATA_PATH = "/data/partition.metadata"

# What Apache Kafka 4.3.1 left in its data directory.
APACHE_PARTITION_METADATA = b"version: 0\ntopic_id: 0yr_FGBlQziqOrBMzFrjRQ"
APACHE_TOPIC_ID = Uuid.from_string("0yr_FGBlQziqOrBMzFrjRQ")
APACHE_CLEAN_SHUTDOWN = b'{"version":0,"brokerEpoch":11}'
APACHE_META_PROPERTIES = (
    b"#\n#Mon Nov 16 01:43:54 UTC 2026\nnode.id=1\ndirectory.id=2UIG_No1flRW3WIYlUkNJg\nversion=1\n"
    b"cluster.id=AAAAAAAAAAAAAAAAAAAAAQ\n"
)
APACHE_META_TIME_MS = 1_794_793_434_000
META = MetaProperties("AAAAAAAAAAAAAAAAAAAAAQ", 1, Uuid.from_string("2UIG_No1flRW3WIYlUkNJg"))


def disk(path: str = "", content: bytes = b"") -> CrashFiles:
    files = CrashFiles()
    files.make_dir("/data")
    if path:
        files.open(path, create=True).pwrite(content, 0)
    files.sync_all()
    return files


def test_partition_metadata_is_apaches() -> None:
    files = disk(METADATA_PATH, APACHE_PARTITION_METADATA)
    assert PartitionMetadataFile(files, METADATA_PATH).read() == (0, APACHE_TOPIC_ID)
    assert PartitionMetadata(0, APACHE_TOPIC_ID).encode() == APACHE_PARTITION_METADATA


def test_a_topic_id_is_durable_once_flushed() -> None:
    files = disk()
    metadata = PartitionMetadataFile(files, METADATA_PATH)
    assert metadata.read_or_none() is None
    metadata.maybe_flush()
    assert not metadata.exists()
    metadata.record(APACHE_TOPIC_ID)
    metadata.record(APACHE_TOPIC_ID)
    with pytest.raises(InconsistentTopicIdError):
        metadata.record(Uuid.random(Random(1)))
    metadata.maybe_flush()
    files.crash(Random(1), policy=DROP)
    assert files.read(METADATA_PATH) == APACHE_PARTITION_METADATA
    metadata.delete()
    assert not metadata.exists()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        *[(b"", "Line 1"), (b"version 0\n", "Line 1"), (b"version: x\n", "Line 1"), (b"version: -1\n", "Line 1")],
        *[(b"version: 0\n", "Line 2"), (b"version: 0\ntopic_id: short", "Line 2"), (b"\xff\xfe", "Line 1")],
        (b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", "zero id"),
    ],
)
def test_damaged_partition_metadata_names_the_line(content: bytes, complaint: str) -> None:
    metadata = PartitionMetadataFile(disk(METADATA_PATH, content), METADATA_PATH)
    with pytest.raises(KafkaStorageError, match=complaint):
        metadata.read()
    assert metadata.read_or_none() is None


def test_partition_metadata_of_a_newer_kafka_is_read() -> None:
    newer = b"version: 1\ntopic_id: 0yr_FGBlQziqOrBMzFrjRQ\nmore: x\n"
    assert PartitionMetadata.decode(newer, METADATA_PATH) == (1, APACHE_TOPIC_ID)


def test_meta_properties_are_apaches() -> None:
    files = disk("/data/meta.properties", APACHE_META_PROPERTIES)
    assert read_meta_properties(files, "/data") == META
    assert META.encode(APACHE_META_TIME_MS) == APACHE_META_PROPERTIES


def test_meta_properties_are_durable() -> None:
    files = disk()
    assert read_meta_properties(files, "/data") is None
    without_id = MetaProperties("c", 3)
    write_meta_properties(files, "/data", without_id, 0)
    assert b"directory.id" not in files.read("/data/meta.properties")
    assert META.directory_id is not None
    write_meta_properties(files, "/data", without_id.with_directory_id(META.directory_id), 0)
    files.crash(Random(1), policy=DROP)
    assert read_meta_properties(files, "/data") == MetaProperties("c", 3, META.directory_id)


def test_version_0_is_read() -> None:
    assert MetaProperties.decode(b"version=0\nbroker.id=4\n", "p") == MetaProperties(None, 4, None, 0)
    assert MetaProperties.decode(b"", "p") == MetaProperties(None, None, None, 0)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        *[(b"version=x", "version is not a number"), (b"version=2", "only 0 and 1"), (b"version=1", "node.id was not")],
        *[(b"version=1\nnode.id=1", "cluster.id was not"), (b"version=1\nnode.id=one", "node.id is not a number")],
        (b"version=1\nnode.id=1\ncluster.id=c\ndirectory.id=short", "directory.id"),
        (b"version=1\nnode.id=1\ncluster.id=\\u00", "malformed"),
    ],
)
def test_bad_meta_properties_name_the_key(content: bytes, complaint: str) -> None:
    with pytest.raises(KafkaStorageError, match=complaint) as caught:
        read_meta_properties(disk("/data/meta.properties", content), "/data")
    assert "/data/meta.properties" in str(caught.value)


def test_a_directory_of_another_cluster_or_node() -> None:
    META.verify("p", cluster_id=META.cluster_id, node_id=1)
    META.verify("p")
    with pytest.raises(KafkaStorageError, match="cluster other"):
        META.verify("p", cluster_id="other")
    with pytest.raises(KafkaStorageError, match=r"node\.id=2"):
        META.verify("p", node_id=2)


def test_the_clean_shutdown_mark_is_apaches() -> None:
    files = disk()
    mark = CleanShutdownFile(files, "/data")
    assert (mark.exists(), mark.read(), mark.delete()) == (False, None, False)
    mark.write(11)
    files.crash(Random(1), policy=DROP)
    assert files.read("/data/.kafka_cleanshutdown") == APACHE_CLEAN_SHUTDOWN
    assert (mark.exists(), mark.read()) == (True, 11)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"{}", b'{"brokerEpoch":null}', b'{"brokerEpoch":true}', b"\xff"]
)
def test_a_mark_that_tells_no_epoch_is_still_a_mark(content: bytes) -> None:
    mark = CleanShutdownFile(disk("/data/.kafka_cleanshutdown", content), "/data")
    assert (mark.exists(), mark.read()) == (True, None)


def test_a_deleted_mark_does_not_come_back() -> None:
    def marks_after_deletion(ignored: SyncSite | None) -> tuple[set[bool], set[SyncSite]]:
        outcomes, sites = set(), set()
        for seed in range(20):
            files = disk("/data/.kafka_cleanshutdown", APACHE_CLEAN_SHUTDOWN)
            files.ignore_sync_at(lambda site: site == ignored)
            assert CleanShutdownFile(files, "/data").delete()
            sites |= files.sync_sites
            files.crash(Random(seed))
            outcomes.add(files.exists("/data/.kafka_cleanshutdown"))
        return outcomes, sites

    outcomes, sites = marks_after_deletion(None)
    assert outcomes == {False}
    (site,) = sites
    assert marks_after_deletion(site)[0] == {True, False}


def test_a_new_data_directory_is_durable() -> None:
    files = disk()
    make_log_dir(files, "/data/a/b")
    make_log_dir(files, "/data/a/b")
    files.crash(Random(1), policy=DROP)
    assert files.is_dir("/data/a/b")
    files.open("/data/f", create=True)
    with pytest.raises(KafkaStorageError, match="/data/f"):
        make_log_dir(files, "/data/f")


def test_a_data_directory_has_one_owner(tmp_path: Path) -> None:
    files, log_dir = PosixFiles(), str(tmp_path)
    lock = LogDirLock.acquire(files, log_dir)
    with pytest.raises(LogDirLockedError, match=log_dir):
        LogDirLock.acquire(files, log_dir)
    assert files.list_dir(log_dir) == [".lock"]
    lock.release()
    assert files.list_dir(log_dir) == [], "Apache Kafka removes it, too"
    LogDirLock.acquire(files, log_dir).release()
