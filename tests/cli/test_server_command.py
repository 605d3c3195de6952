"""``ottla server`` as somebody runs it who has read nothing: no file, no format, one command."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.apache.properties import free_ports
from tests.cli.terminal import run_piped

BOUND_S = 30


def _start(directory: Path) -> tuple["subprocess.Popen[str]", str]:
    ports = free_ports()
    address = f"localhost:{ports.broker}"
    listeners = f"listeners=PLAINTEXT://{address},CONTROLLER://localhost:{ports.controller}"
    command = [sys.executable, "-m", "ottla", "server", "--log-level", "WARNING", "--override", listeners]
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, text=True)
    return process, address


def _lines(process: "subprocess.Popen[str]") -> list[str]:
    """What is said, up to the last line of the hints."""
    assert process.stdout is not None
    lines: list[str] = []
    while not lines or "stop  " not in lines[-1]:
        line = process.stdout.readline()
        assert line, f"the server ended after saying {lines}"
        lines.append(line.rstrip("\n"))
    return lines


@pytest.mark.parametrize("starts", [2])
def test_the_first_lines_say_how_to_use_it(tmp_path: Path, starts: int) -> None:
    for start in range(starts):
        process, address = _start(tmp_path)
        try:
            lines = _lines(process)
            ready = next(number for number, line in enumerate(lines) if line.startswith("Ottla is ready"))
            assert (ready == 0) == (start > 0), "only the first start has a directory to format"
            assert lines[ready].endswith(f"on {address}")
            assert [line.split()[0] for line in lines[ready + 1 :] if not line.startswith(" " * 12)] == [
                "produce",
                "consume",
                "Python",
                "stop",
            ]
            assert all(address in line for line in lines[ready + 1 : -1])
            assert lines[-1].endswith(f"{tmp_path}/ottla-data")
            _produce_and_consume(address, b"%d" % start, start)
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(BOUND_S) == 0
            assert process.stdout is not None
            process.stdout.close()


def _produce_and_consume(address: str, value: bytes, offset: int) -> None:
    producer = Producer({"bootstrap.servers": address})
    producer.produce("demo", value)
    assert producer.flush(BOUND_S) == 0
    consumer = Consumer({"bootstrap.servers": address, "group.id": "nobody", "enable.auto.commit": False})
    consumer.assign([TopicPartition("demo", 0, offset)])
    message = consumer.poll(BOUND_S)
    consumer.close()
    assert message is not None
    assert message.value() == value


def test_a_file_that_is_not_there() -> None:
    done = run_piped("server", "/no/such.properties")
    assert (done.code, done.stderr) == (1, "ottla server: /no/such.properties: No such file or directory\n")
