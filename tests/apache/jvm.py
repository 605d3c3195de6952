"""Java programs: compiled once into the user's cache, and run in one long-lived JVM or in one of their own."""

import hashlib
import json
import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ottla.spark.cache import cached_directory
from tests.apache.commands import run_or_unavailable
from tests.apache.jars import Jars

HERE = Path(__file__).parent / "programs"
_COMMON_ARGS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",  # programs of seconds, on few cores: the second compiler costs more than it brings
    "-Dfile.encoding=UTF-8",
    "-Dstdout.encoding=UTF-8",
    "-Dstderr.encoding=UTF-8",
)


class Finished(NamedTuple):
    """What a Java program left behind."""

    returncode: int
    stdout: str
    stderr: str


def java_command(
    java: str, classpath: str, main_class: str, *args: str, log4j: str, jvm_args: Sequence[str]
) -> list[str]:
    """Return the command line of a JVM of its own; `log4j` names the configuration file beside our Java sources."""
    logging = f"-Dlog4j2.configurationFile={HERE / log4j}"
    return [java, *_COMMON_ARGS, logging, *jvm_args, "-cp", classpath, main_class, *args]


def compile_sources(java: str, jars: Jars, sources: Sequence[Path]) -> Path:
    """Return a directory with the classes of `sources`, compiled together and only once, against Kafka's jars."""
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    digest.update(jars.classpath.encode() + jars.compiler.encode())

    def build(directory: Path) -> None:
        classpath = os.pathsep.join(str(jar) for jar in sorted(Path(jars.classpath).parent.glob("*.jar")))
        options = ["-17", "-proc:none", "-nowarn", "-encoding", "UTF-8", "-cp", classpath, "-d", str(directory)]
        run_or_unavailable([java, "-jar", jars.compiler, *options, *map(str, sources)], timeout_s=120)

    return cached_directory("classes", digest.hexdigest(), build)


class Workbench:
    """One JVM that runs main classes one after another; it starts at the first call and again after it died.

    See java/Workbench.java for the protocol.
    """

    def __init__(self, java: str, classpath: str) -> None:
        self._command = java_command(
            java, classpath, "Workbench", log4j="tools-log4j2.properties", jvm_args=("-Xmx512m",)
        )
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, main_class: str, args: Sequence[str], classes: Sequence[str], timeout_s: float) -> Finished:
        """Run `main_class` with `args`, its classes found on Kafka's class path or in the directories `classes`."""
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is None:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
            )
        process = self._process
        assert process.stdin is not None
        request = {"main": main_class, "args": list(args), "classes": [f"{directory}/" for directory in classes]}
        process.stdin.write(json.dumps(request).encode() + b"\n")
        try:
            return self._read_answer(process, main_class, time.monotonic() + timeout_s)
        except EOFError:
            return Finished(process.wait(), "", f"{main_class} ended the JVM")

    def _read_answer(self, process: subprocess.Popen[bytes], main_class: str, deadline: float) -> Finished:
        received = bytearray()
        while b"\n" not in received:
            received += self._receive(process, main_class, deadline)
        line, _, rest = bytes(received).partition(b"\n")
        status, out_bytes, err_bytes = map(int, line.split())
        received = bytearray(rest)
        while len(received) < out_bytes + err_bytes:
            received += self._receive(process, main_class, deadline)
        return Finished(status, received[:out_bytes].decode(), received[out_bytes:].decode())

    def _receive(self, process: subprocess.Popen[bytes], main_class: str, deadline: float) -> bytes:
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(max(0.0, deadline - time.monotonic())):
                self.close()
                raise TimeoutError(f"{main_class} did not finish in time")
        received = os.read(process.stdout.fileno(), 1 << 20)
        if not received:
            raise EOFError
        return received

    def close(self) -> None:
        """End the JVM, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            self._process = None
