"""Bit flips in the files of a data directory itself: checkpoints, identity, clean-shutdown marker, then a start.

None of these files has a checksum. The start never fails, no batch is ever altered, and the directory beside it does
not notice.
"""

from functools import cache
from random import Random

import pytest

from ottla.log.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    OffsetCheckpoint,
)
from ottla.log.clean_shutdown import CLEAN_SHUTDOWN_FILE
from ottla.log.manager import LogManager
from ottla.log.meta_properties import META_PROPERTIES_FILE
from ottla.runtime.inline import run
from tests.log.log_machine import T0, T1, T2, A, B, Machine, append
from tests.log.partition_disk import stored_batches
from tests.sim.crash_files import CrashFiles, CrashPolicy

CLUSTER, NODE = "Mk3OEYBSD34fcwNTJENDM2", 7
FLIPS_A_FILE = 150

CHECKPOINTS = (
    RECOVERY_POINT_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    CLEANER_OFFSET_CHECKPOINT,
)
CASES = [
    *(("unclean", name) for name in (*CHECKPOINTS, META_PROPERTIES_FILE)),
    *(("clean", name) for name in (*CHECKPOINTS, META_PROPERTIES_FILE, CLEAN_SHUTDOWN_FILE)),
]


def tree(files: CrashFiles, path: str) -> dict[str, bytes]:
    """All files below a directory, by path."""
    found: dict[str, bytes] = {}
    for name in files.list_dir(path):
        if files.is_dir(f"{path}/{name}"):
            found |= tree(files, f"{path}/{name}")
        else:
            found[f"{path}/{name}"] = files.read(f"{path}/{name}")
    return found


@cache
def stopped(how: str) -> dict[str, bytes]:
    """Two data directories with logs of several segments, as a stop or a crash left them."""
    machine = Machine(A, B)
    machine.overrides["topic"] = {"internal.segment.bytes": 400, "index.interval.bytes": 100}
    manager = machine.start(CLUSTER, NODE)
    for partition in (T0, T1, T2):
        log = manager.get_or_create_log(partition)
        for _ in range(8):
            append(log, 3)
        run(log.flush())
        append(log, 2)
    manager.logs[T0].maybe_increment_log_start_offset(2, "a test")
    for directory in (A, B):
        partitions = [partition for partition, log in manager.logs.items() if log.data_directory == directory]
        for name in (CLEANER_OFFSET_CHECKPOINT, REPLICATION_OFFSET_CHECKPOINT):
            OffsetCheckpoint(machine.files, f"{directory}/{name}").write(dict.fromkeys(partitions, 12))
    run(manager.checkpoint_recovery_points())
    run(manager.checkpoint_log_start_offsets())
    if how == "clean":
        run(manager.stop(broker_epoch=3))
    else:
        machine.crash(CrashPolicy.KEEP_ALL)
    return tree(machine.files, A) | tree(machine.files, B)


def start(contents: dict[str, bytes]) -> LogManager:
    machine = Machine(A, B)
    machine.overrides["topic"] = {"internal.segment.bytes": 400, "index.interval.bytes": 100}
    for path, data in contents.items():
        machine.files.make_dir(path.rpartition("/")[0])
        file = machine.files.open(path, create=True)
        file.pwrite(data, 0)
        file.close()
    machine.files.sync_all()
    return machine.start(CLUSTER, NODE)


@pytest.mark.parametrize(("how", "name"), CASES)
def test_start_after_a_bit_flip(how: str, name: str) -> None:
    sound = stopped(how)
    expected = {partition: stored_batches(log) for partition, log in start(sound).logs.items()}
    assert len(expected) == 3
    damaged_directory = next(path for path in (A, B) if f"{path}/{name}" in sound)
    path = f"{damaged_directory}/{name}"
    for number in range(FLIPS_A_FILE):
        rng = Random(f"{how} {name} {number}")
        data = bytearray(sound[path])
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        manager = start({**sound, path: bytes(data)})
        directories = {directory.path: directory for directory in manager.directories}
        other = B if damaged_directory == A else A
        assert directories[other].is_online
        if not directories[damaged_directory].is_online:
            # Only a wrong identity keeps a directory out, and says so.
            assert name == META_PROPERTIES_FILE
            assert META_PROPERTIES_FILE in str(directories[damaged_directory].failure)
        for partition, batches in expected.items():
            log = manager.logs.get(partition)
            if log is None:
                assert not directories[damaged_directory].is_online
                continue
            # A start offset that is too high hides records, or all of them; no file here can alter one.
            found = stored_batches(log)
            if name == LOG_START_OFFSET_CHECKPOINT:
                assert found in (batches, [])
            else:
                assert found == batches
