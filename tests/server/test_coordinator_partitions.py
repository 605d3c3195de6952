"""The partitions of the coordinators on a disk that fails."""

import pytest

from ottla.common.errors import KafkaStorageError
from ottla.runtime.inline import run
from ottla.server.coordinator_partitions import CoordinatorPartitions
from tests.log.log_machine import A, B
from tests.replication.replica_machine import T0, Broker


def test_a_read_that_fails_takes_its_directory_offline() -> None:
    broker = Broker(A, B)
    broker.create()
    broker.append(count=3)
    partitions = CoordinatorPartitions(broker.replicas, commit_timeout_ms=5000)
    files = broker.machine.files
    before = len(files.journal)
    assert run(partitions.read(T0, 0, 1000))
    reads = [operation for operation in files.journal[before:] if operation.name == "pread"]
    files.fail_next("pread", f"{A}/topic-0/*.log", skip=len(reads) - 1)  # the last is of the records
    with pytest.raises(KafkaStorageError, match="Error while loading a coordinator for topic-0 in dir /data/a"):
        run(partitions.read(T0, 0, 1000))
    assert broker.log_manager.directories.offline_paths == [A]
