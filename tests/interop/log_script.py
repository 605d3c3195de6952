"""Scripts for two logs, ours and Apache's own (tests/java/LogScript.java), which must answer and leave the same.

A command is a tuple of a name and its arguments, as the head of LogScript.java lists them; bytes are records.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.config.broker import BrokerLogConfig
from ottla.config.topic import LogConfig
from ottla.log.cleaner.log_cleaner import LogCleaner
from ottla.log.loader import load_log
from ottla.log.log import Log
from ottla.log.log_context import LogContext
from ottla.log.offset_lookup import offset_for_timestamp
from ottla.log.producer_config import ProducerStateManagerConfig
from ottla.log.producer_snapshot import decode_snapshot
from ottla.records.append_info import AppendInfo
from ottla.records.append_origin import AppendOrigin
from ottla.runtime.inline import InlineRuntime, ManualClock, run
from tests.oracle import Oracle

Command = tuple[object, ...]
LOG_SCRIPT = Path(__file__).parents[1] / "java" / "LogScript.java"
COMPARED = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", "leader-epoch-checkpoint")
_SNAPSHOT_ENTRY_BYTES = 46


def perform_by_apache(oracle: Oracle, script: Sequence[Command], directory: Path, scratch: Path) -> list[str]:
    """Let Apache's log do the script in ``directory`` and return its answers."""
    file = scratch / "script.txt"
    file.write_text("".join(f"{_line(command, directory)}\n" for command in script))
    done = oracle.run_source(LOG_SCRIPT, file)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def _line(command: Command, directory: Path) -> str:
    name, *args = command
    if name == "open":
        configs, *rest = args
        assert isinstance(configs, dict)
        args = [directory, ";".join(f"{key}={value}" for key, value in configs.items()), *rest]
    texts = [
        arg.hex() if isinstance(arg, bytes) else arg.name if isinstance(arg, AppendOrigin) else str(arg) for arg in args
    ]
    return "|".join([str(name), *(text.lower() if text in ("True", "False") else text for text in texts)])


def perform_by_ottla(script: Sequence[Command], directory: Path) -> list[str]:
    """Do the script with our log in ``directory`` and return its answers."""
    performer = _Performer(str(directory))
    return [performer.answer(command) for command in script]


class _Performer:
    """Our log under the script."""

    log: Log

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._clock = ManualClock()
        self._runtime = InlineRuntime(clock=self._clock, rng=Random(7))
        self._logs: dict[TopicPartition, Log] = {}
        parent = directory.rpartition("/")[0]
        self._cleaner = LogCleaner(self._runtime, BrokerLogConfig(), self._logs, [parent])
        self._commands: dict[str, Callable[..., object]] = {
            "now": self._clock.set_now_ms,
            "open": self._open,
            "append": self._append,
            "follow": lambda epoch, records: _info(self.log.append_as_follower(records, epoch)),
            "elect": lambda epoch: self.log.assign_epoch_start_offset(epoch, self.log.log_end_offset),
            "roll": lambda: self.log.roll(),
            "flush": lambda: run(self.log.flush()),
            "retention": lambda: f"deleted {self.log.delete_old_segments()}",
            "high_watermark": lambda offset: self.log.update_high_watermark(offset),
            "stable": lambda: str(self.log.last_stable_offset),
            "log_start": lambda offset: self.log.maybe_increment_log_start_offset(offset, "the script"),
            "truncate": lambda offset: self.log.truncate_to(offset),
            "truncate_fully": lambda offset: self.log.truncate_fully_and_start_at(offset),
            "time": self._time,
            "clean": self._clean,
            "close": lambda: self.log.close(),
            "abandon": lambda: self.log.close_handlers(),
        }

    def answer(self, command: Command) -> str:
        name, *args = command
        try:
            told = self._commands[str(name)](*args)
            fact = told if isinstance(told, str) else "ok"
        except KafkaError as error:
            fact = f"error {error.code}"
        if name in ("close", "abandon"):
            self._logs.clear()
        state: tuple[int, ...] = ()
        for log in self._logs.values():
            state = (log.log_start_offset, log.high_watermark, log.log_end_offset, len(log.segments), log.size_in_bytes)
        return f"{fact}|{' '.join(map(str, state))}"

    def _open(self, configs: dict[str, str], clean: bool, log_start_offset: int, recovery_point: int) -> None:
        context = LogContext(self._runtime, ProducerStateManagerConfig(transaction_verification_enabled=False))
        self.log = load_log(
            context,
            self._directory,
            LogConfig.from_props(configs),
            log_start_offset=log_start_offset,
            recovery_point=recovery_point,
            clean_shutdown=clean,
        )
        self._logs[self.log.topic_partition] = self.log

    def _append(self, origin: AppendOrigin, leader_epoch: int, transaction_version: int, records: bytes) -> str:
        return _info(
            self.log.append_as_leader(bytearray(records), leader_epoch, origin, transaction_version=transaction_version)
        )

    def _time(self, timestamp: int) -> str:
        found = offset_for_timestamp(self.log, timestamp)
        if found is None:
            return "none"
        return f"{found.timestamp} {found.offset} {-1 if found.leader_epoch is None else found.leader_epoch}"

    def _clean(self) -> str:
        stats = run(self._cleaner.clean_filthiest())
        if stats is None:
            return "clean enough"
        return f"cleaned to {self._cleaner.cleaner_checkpoints()[self.log.topic_partition]}"


def _info(info: AppendInfo) -> str:
    return f"{info.first_offset} {info.last_offset} {info.max_timestamp} {info.append_time}"


def compared_files(directory: Path) -> dict[str, bytes]:
    """The files of a partition that must be the same, by name.

    Apache makes some files early and some late that say nothing yet, so empty ones count as missing, except segments.
    The producers of a snapshot come in the order of Java's hash table from Apache and in that of their ids from us, so
    they are sorted, and the checksum over them is checked and left out.
    """
    return {
        path.name: _sorted_snapshot(path.read_bytes()) if path.suffix == ".snapshot" else path.read_bytes()
        for path in sorted(directory.iterdir())
        if path.name.endswith(COMPARED) and (path.suffix == ".log" or path.stat().st_size)
    }


def _sorted_snapshot(data: bytes) -> bytes:
    decode_snapshot(data)
    entries = [data[start : start + _SNAPSHOT_ENTRY_BYTES] for start in range(10, len(data), _SNAPSHOT_ENTRY_BYTES)]
    return data[:2] + data[6:10] + b"".join(sorted(entries))
