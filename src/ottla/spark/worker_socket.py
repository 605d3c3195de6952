"""The socket between a Python worker of Spark's and its JVM, without the waits of 40 ms that it comes with.

Neither end of it switches Nagle's algorithm off: a small write that follows another waits for the acknowledgement of
what was sent before, which the other end keeps back for 40 ms, in the hope of something to send it with. That happens
when the JVM sends a task's input behind its command, and when the worker sends the rest of its output: 60 ms a task
(docs/decisions/0023).

Our writes need not wait, then (TCP_NODELAY). The JVM's do not if we acknowledge at once, which Linux does for those who
have not sent anything since they asked for it (TCP_QUICKACK): so we ask when a task's output is all sent.
"""

import os
import socket
import sys
import weakref
from types import FrameType
from typing import IO


def make_prompt() -> None:
    """To be called in each task; where Spark speaks through a Unix socket, and outside of a task, nothing happens."""
    outfile = _file_to_jvm()
    if outfile is None:
        return
    sock = _tcp_socket(os.dup(outfile.fileno()))
    if sock is None:
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Spark flushes a task's file, and then forgets it.
    weakref.finalize(outfile, _acknowledge_at_once, sock).atexit = False


def _acknowledge_at_once(sock: socket.socket) -> None:
    with sock:
        if hasattr(socket, "TCP_QUICKACK"):  # Linux's alone
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


def _file_to_jvm() -> IO[bytes] | None:
    """What the ``main`` of PySpark's worker writes to, which is below us on the stack."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "main" and frame.f_globals.get("__name__") == "pyspark.worker":
            return frame.f_locals.get("outfile")
        frame = frame.f_back
    return None


def _tcp_socket(descriptor: int) -> socket.socket | None:
    """The socket with this descriptor; None, and the descriptor is closed, if it is anything else."""
    try:
        sock = socket.socket(fileno=descriptor)
    except OSError:
        os.close(descriptor)
        return None
    if sock.family in (socket.AF_INET, socket.AF_INET6):
        return sock
    sock.close()
    return None
