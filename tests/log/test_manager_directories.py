"""The data directories of a broker: whose they are, who may use them, which one a log goes to."""

import pytest

from ottla.common.errors import InvalidConfigError, KafkaStorageError, LogDirNotFoundError
from ottla.common.uuid import Uuid
from ottla.log.log_dir import LogDirLockedError
from ottla.log.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from ottla.runtime.inline import run
from tests.log.log_machine import NOW_MS, T0, T1, T2, T3, A, B, Machine, append

CLUSTER = "RkbIyRFGTuuXRtbdN1JwXw"


def write_identity(
    machine: Machine, path: str, cluster_id: str = CLUSTER, node_id: int = 1, directory_id: Uuid | None = None
) -> None:
    machine.files.make_dir(path)
    write_meta_properties(machine.files, path, MetaProperties(cluster_id, node_id, directory_id), NOW_MS)


def test_a_new_log_goes_to_the_emptiest_directory() -> None:
    manager = Machine(A, B).start()
    manager.get_or_create_log(T0, directory=B)
    manager.get_or_create_log(T1, directory=B)
    assert [manager.get_or_create_log(partition).data_directory for partition in (T2, T3)] == [A, A]
    assert manager.get_or_create_log(T0).data_directory == B, "a log that is there is not made again"


def test_whose_a_file_is() -> None:
    nested = f"{A}/nested"
    directories = Machine(A, nested).manager().directories
    assert directories.holding(f"{A}/topic-0/00000000000000000000.log").path == A
    assert directories.holding(f"{nested}/topic-0/00000000000000000000.log").path == nested


def test_a_directory_of_somebody_else_is_no_place_for_a_log() -> None:
    manager = Machine(A).start()
    with pytest.raises(LogDirNotFoundError, match="/elsewhere is not found in the config"):
        manager.get_or_create_log(T0, directory="/elsewhere")


def test_directories_get_an_id_each_and_keep_it() -> None:
    machine = Machine(A, B)
    manager = machine.start(CLUSTER, 1)
    ids = [directory.directory_id for directory in manager.directories]
    assert None not in ids
    assert len(set(ids)) == 2
    assert read_meta_properties(machine.files, A) == MetaProperties(CLUSTER, 1, ids[0])
    run(manager.stop())
    assert [directory.directory_id for directory in machine.start(CLUSTER, 1).directories] == ids


def test_a_directory_from_before_directory_ids_gets_one() -> None:
    machine = Machine(A)
    write_identity(machine, A)
    (directory,) = machine.start(CLUSTER, 1).directories
    assert directory.directory_id is not None
    assert read_meta_properties(machine.files, A) == MetaProperties(CLUSTER, 1, directory.directory_id)


def test_a_directory_without_meta_properties_stays_without_where_nobody_knows_the_cluster() -> None:
    machine = Machine(A)
    (directory,) = machine.start().directories
    assert directory.directory_id is None
    assert machine.names(A) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"version=1\nnode.id=1\n", ": cluster.id was not found"),
        (b"version=7\n", ": version is 7, and only 0 and 1 are known"),
        (b"version=1\ncluster.id=c\nnode.id=one\n", ": node.id is not a number: 'one'"),
        (b"\x00\xff\x13", " names neither a cluster nor a node"),
        (b"", " names neither a cluster nor a node"),
    ],
)
def test_a_damaged_meta_properties_takes_its_directory_offline(
    content: bytes, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine(A, B)
    machine.write(f"{B}/meta.properties", content)
    manager = machine.start(CLUSTER, 1)
    assert [directory.path for directory in manager.directories.online] == [A]
    assert machine.failed_directories == [B]
    assert f"Log directory {B} is offline: {B}/meta.properties{message}" in caplog.text
    append(manager.get_or_create_log(T0))


@pytest.mark.parametrize(
    ("cluster_id", "node_id", "message"),
    [
        ("another", 1, f"cluster.id is another, but this node belongs to cluster {CLUSTER}"),
        (CLUSTER, 2, "node.id is 2, but this node has node.id=1"),
    ],
)
def test_a_directory_of_another_cluster_or_node_is_left_alone(
    cluster_id: str, node_id: int, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine(A, B)
    write_identity(machine, A, cluster_id, node_id)
    before = machine.files.read(f"{A}/meta.properties")
    manager = machine.start(CLUSTER, 1)
    assert manager.directories.offline_paths == [A]
    assert message in caplog.text
    assert machine.files.read(f"{A}/meta.properties") == before


def test_a_copy_of_a_directory_is_not_used_beside_it(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(A, B)
    directory_id = Uuid.random(machine.rng)
    write_identity(machine, A, directory_id=directory_id)
    write_identity(machine, B, directory_id=directory_id)
    manager = machine.start(CLUSTER, 1)
    assert manager.directories.offline_paths == [B]
    assert "One of them is a copy" in caplog.text


def test_no_directory_at_all_is_the_end() -> None:
    machine = Machine(A, B)
    machine.write(f"{A}/meta.properties", b"version=9")
    machine.write(B, b"a file")
    with pytest.raises(KafkaStorageError, match=r"None of the log directories can be used: /data/a: .*; /data/b: .*"):
        machine.start(CLUSTER, 1)


@pytest.mark.parametrize("twice", ["/data/a", "/data/a/", "/data/./a", "/data//a"])
def test_one_directory_twice_is_a_mistake(twice: str) -> None:
    with pytest.raises(InvalidConfigError, match=r"log\.dirs names a directory twice"):
        Machine(A, twice).manager()


def test_a_directory_has_one_user() -> None:
    machine = Machine(A)
    manager = machine.start()
    with pytest.raises(LogDirLockedError, match=r"Failed to acquire lock on file \.lock in /data/a"):
        machine.start()
    run(manager.stop())
    assert not machine.files.exists(f"{A}/.lock")
    machine.start()


def test_a_start_that_fails_gives_up_the_locks_it_has() -> None:
    machine = Machine(A)
    manager = machine.start()
    other = Machine(B, A)
    other.files, other.runtime = machine.files, machine.runtime
    with pytest.raises(LogDirLockedError):
        other.start()
    run(manager.stop())
    other.start()


def test_a_directory_that_is_offline_is_not_locked() -> None:
    machine = Machine(A, B)
    machine.write(f"{B}/meta.properties", b"version=9")
    machine.start(CLUSTER, 1)
    machine.files.remove(f"{B}/meta.properties")
    repaired = Machine(B)
    repaired.files, repaired.runtime = machine.files, machine.runtime
    repaired.start(CLUSTER, 1)
