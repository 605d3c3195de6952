"""Processes that copy the input topic to the output topic in transactions: killed, and started again."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from tests.oracle import Oracle

INPUT, OUTPUT, GROUP = "input", "output", "copiers"
BOUND_S = 60
_ROOT = Path(__file__).parents[2]

_TIMED_OUT = ("claimed by another process", "ProducerFenced", "InvalidProducerEpoch", "InvalidTxnState")
_GAVE_UP = ("Timeout (0:00:30)!", "ConsumerFailedError")

NewCommand = Callable[[str, int], list[str]]
"""(bootstrap, number of the worker) -> command line; a worker is always started with the same one."""


KINDS = ("copier", "copier-group", "loop", "loop-consumer")


def new_command(kind: str, oracle: Oracle, seed: int) -> NewCommand:
    """How copiers of that kind are started."""
    if kind.startswith("copier"):
        return apache_copier(oracle, group_mode=kind == "copier-group")
    return confluent_loop("consumer" if kind == "loop-consumer" else "classic", seed)


def apache_copier(oracle: Oracle, *, group_mode: bool) -> NewCommand:
    """Apache's own TransactionalMessageCopier: it subscribes, or copies the partition of its number.

    The latter asks for its offset before it ends what it left open when it was killed, so only the transaction's
    timeout lets it go on.
    """

    def command(bootstrap: str, number: int) -> list[str]:
        options = {
            "--broker-list": bootstrap,
            "--transactional-id": f"copier-{number}",
            "--consumer-group": GROUP,
            "--input-topic": INPUT,
            "--input-partition": str(number),
            "--output-topic": OUTPUT,
            "--transaction-size": "20",
            "--transaction-timeout": "60000" if group_mode else "8000",
        }
        return oracle.command(
            "org.apache.kafka.tools.TransactionalMessageCopier",
            *(text for option in options.items() for text in option),
            "--use-group-metadata",
            "--enable-random-aborts",
            *(["--group-mode"] if group_mode else []),
            log4j="tools-log4j2.properties",
            jvm_args=("-Xmx128m",),
        )

    return command


def confluent_loop(protocol: str, seed: int) -> NewCommand:
    """A consume-transform-produce loop with confluent-kafka (copy_loop.py); `protocol` is the group's."""

    def command(bootstrap: str, number: int) -> list[str]:
        options = {
            "--bootstrap": bootstrap,
            "--transactional-id": f"loop-{number}",
            "--group": GROUP,
            "--protocol": protocol,
            "--input": INPUT,
            "--output": OUTPUT,
            "--seed": str(seed + number),
        }
        options_as_texts = (text for option in options.items() for text in option)
        return [sys.executable, "-m", "tests.exactly_once.copy_loop", *options_as_texts]

    return command


class Worker:
    """One of those processes.

    stopped → start() → starting → (it tells something: it is in, and what it left open before is over) → ready →
    kill() or its own end → stopped
    """

    def __init__(self, command: list[str], log: Path) -> None:
        self._command = command
        self._log = log
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self.ready = False
        self.processed = 0
        """How many records it has brought through since its start."""

    def start(self) -> None:
        """Start it again."""
        self.ready, self.processed = False, 0
        with self._log.open("a") as log:
            process = self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, cwd=_ROOT, text=True
            )
        self._reader = threading.Thread(target=self._listen, args=(process,), daemon=True)
        self._reader.start()

    def kill(self) -> None:
        """SIGKILL."""
        assert self._process is not None
        self._process.kill()
        self._ended()

    def stop(self) -> None:
        """SIGTERM, and wait, if it runs."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._ended()

    def own_end(self) -> int | None:
        """The status with which it ended by itself, if it has."""
        if self._process is None or self._process.poll() is None:
            return None
        return self._ended()

    def _ended(self) -> int:
        assert self._process is not None
        assert self._reader is not None
        status = self._process.wait(BOUND_S)
        self._reader.join(BOUND_S)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None
        return status

    def _listen(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("{"):
                try:
                    self.processed = json.loads(line)["totalProcessed"]
                except ValueError:
                    continue  # cut off by a kill
                self.ready = True

    def timed_out(self) -> bool:
        """Whether it gave up because the broker had been away for so long that its transaction was ended for it."""
        return any(name in self.last_words() for name in _TIMED_OUT)

    def gave_up(self) -> bool:
        """Whether it ended because its library failed it (copy_loop.py)."""
        return any(text in self.last_words() for text in _GAVE_UP)

    def last_words(self) -> str:
        """The end of what it wrote to its standard error."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])
