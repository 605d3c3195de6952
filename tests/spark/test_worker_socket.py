"""The socket between Spark's JVM and a Python worker: nothing waits for an acknowledgement that is kept back."""

import os
import socket
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from ottla.spark import worker_socket
from ottla.spark.worker_socket import make_prompt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

linux_only = pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="Linux alone can be asked")
LEN_BYTES = 64


@pytest.fixture
def connection() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A worker's socket, and the JVM's."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as jvm:
        worker, _ = server.accept()
        with worker:
            yield worker, jvm


def run_task(outfile: IO[bytes]) -> None:
    """Call make_prompt as Spark's worker calls a task."""
    module: dict[str, Any] = {"__name__": "pyspark.worker", "make_prompt": make_prompt}
    exec("def main(infile, outfile):\n    make_prompt()", module)
    module["main"](None, outfile)


def option(sock: socket.socket, name: int) -> int:
    return sock.getsockopt(socket.IPPROTO_TCP, name)


def exchange(worker: socket.socket, jvm: socket.socket) -> None:
    """Answer questions, until Linux keeps acknowledgements back: five will do, where no answer takes 40 ms."""
    for number in range(250):
        if number >= 5 and option(worker, socket.TCP_QUICKACK) == 0:
            break
        jvm.sendall(b"?" * LEN_BYTES)
        worker.recv(LEN_BYTES, socket.MSG_WAITALL)
        worker.sendall(b"!" * LEN_BYTES)
        jvm.recv(LEN_BYTES, socket.MSG_WAITALL)


def test_a_task_writes_without_delay(connection: tuple[socket.socket, socket.socket]) -> None:
    worker, _ = connection
    assert option(worker, socket.TCP_NODELAY) == 0
    with os.fdopen(os.dup(worker.fileno()), "wb") as outfile:
        run_task(outfile)
        assert option(worker, socket.TCP_NODELAY) != 0


@linux_only
def test_what_comes_after_a_task_is_acknowledged_at_once(connection: tuple[socket.socket, socket.socket]) -> None:
    worker, jvm = connection
    for _ in range(2):  # tasks
        exchange(worker, jvm)
        outfile: IO[bytes] | None = os.fdopen(os.dup(worker.fileno()), "wb")
        assert outfile is not None
        run_task(outfile)
        assert option(worker, socket.TCP_QUICKACK) == 0, "not yet: the task still sends"
        outfile = None  # as Spark's worker does when a task has ended
        assert option(worker, socket.TCP_QUICKACK) == 1


def test_no_descriptor_is_left(connection: tuple[socket.socket, socket.socket]) -> None:
    worker, jvm = connection
    jvm.settimeout(20)
    with os.fdopen(os.dup(worker.fileno()), "wb") as outfile:
        run_task(outfile)
    del outfile
    worker.close()
    assert jvm.recv(1) == b"", "the connection ends with the worker's own descriptors"


def test_unix_sockets_and_files_are_left_alone() -> None:
    ours, theirs = socket.socketpair()
    read_end, write_end = os.pipe()
    with ours, theirs, os.fdopen(os.dup(ours.fileno()), "wb") as outfile, os.fdopen(write_end, "wb") as pipe:
        run_task(outfile)
        run_task(pipe)
    os.close(read_end)


def test_outside_of_a_task_nothing_happens() -> None:
    make_prompt()


def test_the_socket_of_a_real_worker_is_found(spark: "SparkSession") -> None:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        list(batches)
        make_prompt()
        outfile = worker_socket._file_to_jvm()
        assert outfile is not None, "PySpark's worker looks different now"
        with socket.socket(fileno=os.dup(outfile.fileno())) as sock:
            found = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
        yield pa.record_batch({"found": [found]})

    assert [row.found for row in spark.range(0, 2, 1, 2).mapInArrow(task, "found boolean").collect()] == [True, True]
