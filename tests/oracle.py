"""Apache Kafka 4.3.1 itself, to ask it what is true: its tools, its broker, and Java programs against its classes.

Tests take the session fixture `oracle` (tests/conftest.py). Everything it needs is found on the machine or fetched into
the user's cache; OracleUnavailableError says why it cannot be had.
"""

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.apache.broker import ApacheBroker
from tests.apache.commands import OracleUnavailableError, Say
from tests.apache.dump import DumpedBatch, DumpedFile, DumpedRecord, DumpResult, parse_dump
from tests.apache.jars import KAFKA_VERSION, find_jars
from tests.apache.java import find_java
from tests.apache.jvm import HERE, Finished, Workbench, compile_sources, java_command
from tests.apache.properties import Ports

__all__ = [
    "KAFKA_VERSION",
    "ApacheBroker",
    "DumpResult",
    "DumpedBatch",
    "DumpedFile",
    "DumpedRecord",
    "Finished",
    "Oracle",
    "OracleUnavailableError",
]

DUMPABLE = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint")


class Oracle:
    """Apache Kafka's classes on a Java that runs them."""

    def __init__(self, say: Say = lambda _: None) -> None:
        self.java = find_java(say)
        self._jars = find_jars(self.java, say)
        self._classes = compile_sources(self.java, self._jars, sorted(HERE.glob("*.java")))
        self.classpath = os.pathsep.join([self._jars.classpath, str(self._classes)])
        self._workbench = Workbench(self.java, self.classpath)

    def close(self) -> None:
        """End the long-lived JVM."""
        self._workbench.close()

    def run(
        self,
        main_class: str,
        *args: str | Path,
        timeout_s: float = 120,
        stdin: str | None = None,
        jvm_args: Sequence[str] = (),
        fresh: bool = False,
    ) -> Finished:
        """Run a main class of Kafka's jars and return its status and output.

        It runs in a JVM that lives as long as the oracle, so a second call costs milliseconds. With `stdin`, `jvm_args`
        or `fresh` it gets a JVM of its own (one or two seconds).
        """
        return self._run(main_class, args, (), timeout_s, stdin, jvm_args, fresh)

    def run_source(
        self,
        source: str | Path,
        *args: str | Path,
        timeout_s: float = 120,
        stdin: str | None = None,
        jvm_args: Sequence[str] = (),
        fresh: bool = False,
        beside: Sequence[Path] = (),
    ) -> Finished:
        """Compile one Java file (Java 17, no package, a public class named as the file), once, and `run` it.

        `beside` are files that it shares with others.
        """
        path = Path(source)
        classes = compile_sources(self.java, self._jars, [path, *beside])
        return self._run(path.stem, args, (str(classes),), timeout_s, stdin, jvm_args, fresh)

    def source_command(self, source: str | Path, *args: str, jvm_args: Sequence[str] = ()) -> list[str]:
        """Compile one Java file as `run_source` does, and return the command line that runs it in a JVM of its own."""
        path = Path(source)
        classes = compile_sources(self.java, self._jars, [path])
        classpath = os.pathsep.join([self.classpath, str(classes)])
        return java_command(self.java, classpath, path.stem, *args, log4j="tools-log4j2.properties", jvm_args=jvm_args)

    def dump_log(
        self, files: Iterable[str | Path], *, deep: bool = True, extra: Sequence[str] = (), timeout_s: float = 300
    ) -> DumpResult:
        """Run Apache's DumpLogSegments over `files` and parse what it prints.

        `deep` decompresses, walks every record and brings its key and value. `extra` are further options of the tool;
        a decoder among them (`--cluster-metadata-decoder`, …) makes keys and values text instead of bytes.
        """
        args = ["--files", ",".join(str(file) for file in files), *extra]
        own_decoder = any(option.endswith(("-decoder", "-decoder-class")) for option in extra)
        if deep and not own_decoder:
            args += ["--print-data-log", "--key-decoder-class", "HexDecoder", "--value-decoder-class", "HexDecoder"]
        done = self.run("org.apache.kafka.tools.DumpLogSegments", *args, timeout_s=timeout_s)
        return parse_dump(done.stdout, done.stderr, done.returncode, hexadecimal=not own_decoder)

    def dump_directory(self, directory: str | Path, *, deep: bool = True, extra: Sequence[str] = ()) -> DumpResult:
        """Dump every file of a partition directory that DumpLogSegments can read, by name."""
        return self.dump_log(
            sorted(path for path in Path(directory).iterdir() if path.suffix in DUMPABLE), deep=deep, extra=extra
        )

    def broker(
        self, directory: str | Path, properties: Mapping[str, str] | None = None, ports: Ports | None = None
    ) -> ApacheBroker:
        """Return a single KRaft node that keeps its files under `directory`; a context manager that starts it."""
        return ApacheBroker(self, Path(directory), properties or {}, ports)

    def command(self, main_class: str, *args: str, log4j: str, jvm_args: Sequence[str] = ()) -> list[str]:
        """Return the command line that runs a main class in a JVM of its own."""
        return java_command(self.java, self.classpath, main_class, *args, log4j=log4j, jvm_args=jvm_args)

    def _run(
        self,
        main_class: str,
        args: Sequence[str | Path],
        classes: Sequence[str],
        timeout_s: float,
        stdin: str | None,
        jvm_args: Sequence[str],
        fresh: bool,
    ) -> Finished:
        texts = [str(arg) for arg in args]
        if stdin is None and not jvm_args and not fresh:
            return self._workbench.run(main_class, texts, classes, timeout_s)
        classpath = os.pathsep.join([self.classpath, *classes])
        command = java_command(
            self.java, classpath, main_class, *texts, log4j="tools-log4j2.properties", jvm_args=jvm_args
        )
        done = subprocess.run(
            command, input=stdin or "", capture_output=True, text=True, timeout=timeout_s, check=False
        )
        return Finished(done.returncode, done.stdout, done.stderr)
