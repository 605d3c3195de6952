"""A node and its limit of open files: idle connections and many partitions, and a restart after each.

`python -m bench partitions` tells the second story with 5,000 partitions and a limit of 20,000.
"""

import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from ottla.common.error_code import ErrorCode
from tests.server.limited_node import LimitedBroker, create_many, delete, topic_error, try_to_create
from tests.server.records_on_wire import append_on, read_values
from tests.server.wire import Wire, create_topic, eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

CONNECTIONS = 400
PARTITIONS, LIMIT = 400, 800
SMALL_SEGMENTS = (("segment.bytes", str(1 << 20)), ("retention.ms", "-1"))
PROPERTIES = {
    "socket.listen.backlog.size": "500",
    "log.flush.offset.checkpoint.interval.ms": "200",
    "log.flush.start.offset.checkpoint.interval.ms": "200",
    "log.initial.task.delay.ms": "0",
    "log.retention.check.interval.ms": "200",
}
"""All can wait at once; and what a broker writes now and then, it writes while there are few files to be had."""
VALUE = bytes(700_000)


@contextmanager
def idle_connections(node: LimitedBroker) -> Iterator[None]:
    """Clients that connect and say nothing; returns when the node takes no more."""
    with ExitStack() as stack:
        for _ in range(CONNECTIONS):
            idle = socket.socket()
            stack.enter_context(idle)
            idle.setblocking(False)
            idle.connect_ex(("127.0.0.1", node.ports.broker))
        most, since = 0, time.monotonic()
        for _ in eventually():
            open_files = node.descriptors()
            if open_files > most:
                most, since = open_files, time.monotonic()
            elif time.monotonic() - since > 0.5:
                break
        yield


def test_idle_connections_leave_files_to_the_logs(tmp_path: Path) -> None:
    """400 of them at a limit of 400: others go on, segments roll, checkpoints and metadata are written."""
    with LimitedBroker(tmp_path, PROPERTIES, open_files=400) as node:
        create_topic(node.bootstrap, "t", configs=SMALL_SEGMENTS)
        create_topic(node.bootstrap, "gone")
        with Wire(node.bootstrap) as early:
            values = []
            with idle_connections(node):
                open_files = min(node.descriptors() for _ in range(20))  # now and then a checkpoint is open, too
                assert 300 < open_files <= 400 - 40, "the reserve is kept"
                for number in range(12):
                    values.append(b"%d" % number + VALUE)
                    append_on(early, "t", values[-1])
                assert len(list(node.partition_dir("t").glob("*.log"))) >= 12, "it has rolled each time"
                assert delete(early, "gone") == 0
                refused = try_to_create(early, "more", 50)
                assert refused.error_code == ErrorCode.POLICY_VIOLATION
                assert "50 more partitions need as many open files" in refused.error_message
                assert "of 400 open files are in use" in refused.error_message
                assert topic_error(early, "more") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            with Wire(node.bootstrap) as late:
                append_on(late, "t", b"late")
            for _ in eventually():
                if try_to_create(early, "more", 50).error_code == 0:
                    break
        assert read_values(node.bootstrap, "t") == [*values, b"late"]
        assert node.failures() == []
        assert len([line for line in node.log_lines() if "have to wait" in line]) <= 3, "one line in ten seconds"
        node.stop()
        node.start()
        assert read_values(node.bootstrap, "t") == [*values, b"late"]
        assert any("since clean shutdown file was found" in line for line in node.log_lines())
        assert node.failures() == []


def test_many_partitions_and_restarts(tmp_path: Path) -> None:
    """One file for each, refused before there are too many; after a stop, after a kill, and with too low a limit."""
    with LimitedBroker(tmp_path, {}, open_files=LIMIT) as node:
        create_topic(node.bootstrap, "first")
        alone = node.descriptors()
        with Wire(node.bootstrap) as wire:
            names = create_many(wire, PARTITIONS)
            for _ in eventually():
                if node.partition_dir(names[-1], PARTITIONS % 250 - 1).is_dir():
                    break
            for number in range(100):
                append_on(wire, names[0], b"%d" % number + VALUE[:5_000])
                append_on(wire, names[0], b"0", partition=number)
            refused = try_to_create(wire, "more", 400)
            assert refused.error_code == ErrorCode.POLICY_VIOLATION
            assert topic_error(wire, "more") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert (node.descriptors() - alone) / PARTITIONS <= 1.05
        assert node.descriptors() / PARTITIONS <= 1.3

        expected = read_values(node.bootstrap, names[0])
        node.stop()
        node.open_files = 300
        failed = node.run_to_its_end()
        assert failed.returncode == 1
        assert "401 of them for segments, but the limit is 300. Raise the limit" in failed.stderr.splitlines()[-1]
        assert "None of the log directories" not in failed.stderr
        node.open_files = LIMIT
        node.start()
        assert f"Skipping recovery of {PARTITIONS + 1} logs" in node.server_log.read_text()
        assert read_values(node.bootstrap, names[0]) == expected
        assert node.descriptors() / PARTITIONS <= 1.3

        node.kill()
        node.start()
        assert read_values(node.bootstrap, names[0]) == expected
        assert node.descriptors() / PARTITIONS <= 1.3
        assert node.failures() == []
        node.stop()


def test_the_start_says_what_to_do(tmp_path: Path) -> None:
    """A limit that not even an empty node can live with."""
    node = LimitedBroker(tmp_path, {}, open_files=400)
    node.format()
    node.open_files = 20
    failed = node.run_to_its_end()
    assert failed.returncode == 1
    assert "0 of them for segments, but the limit is 20. Raise the limit" in failed.stderr.splitlines()[-1]
