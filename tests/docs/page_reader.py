"""A reader who does what a page says: pastes its blocks in order, in one directory, beside one node.

Nothing is changed but ``localhost:9092`` and its like, which may be somebody else's here. That means a broker that runs
already, with its data in ``ottla-data``, as after ``ottla server``; in a configuration with listeners, and once the
page has started it, the node of its own.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from ottla.cli.server_properties import DEFAULTS
from ottla.config.admin_keys import ADMIN_CONFIG
from ottla.config.broker_keys import BROKER_CONFIG
from ottla.config.consumer_keys import CONSUMER_CONFIG
from ottla.config.environment import environment_properties
from ottla.config.kafka_config import KafkaConfig
from ottla.config.producer_keys import PRODUCER_CONFIG
from ottla.config.properties import parse
from ottla.testing import Broker
from tests.apache.properties import free_port
from tests.cli.terminal import heed_ctrl_c
from tests.docs.pages import ROOT, Block
from tests.readiness import readable

BOUND_S: Final = 60
SECOND: Final = "localhost:9192"
SPARK_BOUND_S: Final = 1800
UNTIL: Final = {
    r"ottla server .*\n$": "Ottla is ready",
    r"ottla console-consumer (?!.*--(max-messages|timeout-ms)).*\n$": "\n",
    r"ottla cat -C (?!.*-e\b).*\n$": "\n",
}
"""Commands that go on until they are stopped, and what they say once they work. They are stopped as the page ends."""
_PRINTED: Final = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)


_ENVIRONMENT: Final = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


class _Running(NamedTuple):
    block: Block
    process: "subprocess.Popen[bytes]"


class PageReader:
    """As a context manager: entered with a directory, left when what the page started has stopped as it should."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._broker = Broker(directory=directory / "ottla-data")
        self._addresses: dict[str, str] = {}
        self._own = {f"localhost:{port}": f"localhost:{free_port()}" for port in (9092, 9093)}
        self._running: list[_Running] = []

    def __enter__(self) -> Self:
        self._broker.start()
        self._addresses = {"localhost:9092": self._broker.bootstrap_servers}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for block, process in reversed(self._running):
            os.killpg(process.pid, signal.SIGINT)
            code = process.wait(BOUND_S)
            if kind is None:
                assert code in (0, 130, -signal.SIGINT), f"{block.place}: {code} after Ctrl-C"
        self._broker.close()

    def _here(self, block: Block) -> str:
        """Its text with the addresses that are meant here."""
        text = block.text
        for address, ours in (self._own if "listeners=" in text else self._addresses).items():
            text = text.replace(address, ours)
        return text

    def paste(self, block: Block) -> None:
        """Do with a block what a reader does; AssertionError if it does not do what the page says."""
        text = self._here(block)
        if block.file_name is not None:
            (self._directory / block.file_name).write_text(text)
        match block.language:
            case "python" if "def test_" in text:
                self._check(
                    block, [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", self._saved(block, text)]
                )
            case "python":
                printed = self._check(block, [sys.executable, self._saved(block, text)])
                promised = "".join(f"{line}\n" for line in _PRINTED.findall(text))
                assert printed == promised or not promised, f"{block.place} prints {printed!r}"
            case "sh":
                self._paste_shell(block, text)
            case "properties":
                _check_properties(block, text)
            case "yaml":
                variables = dict(re.findall(r"^ *(KAFKA_\w+): \"?(.*?)\"?$", text, re.MULTILINE))
                assert variables, f"{block.place} has nothing that is known here"
                KafkaConfig.from_props({**DEFAULTS, **environment_properties(variables, DEFAULTS)})

    def paste_in_one_session(self, blocks: Sequence[Block]) -> None:
        """The same for blocks that need Spark, in one process; those of all pages share the directory and the node."""
        with Broker() as second:  # which some pages have at another port
            self._addresses[SECOND] = second.bootstrap_servers
            self._paste_in_one_session(blocks)

    def _paste_in_one_session(self, blocks: Sequence[Block]) -> None:
        steps = [(block.page, block.place, block.language, self._here(block), block.file_name) for block in blocks]
        done = subprocess.run(
            [sys.executable, "-m", "tests.docs.one_session"],
            cwd=self._directory,
            env={**_ENVIRONMENT, "PYTHONPATH": str(ROOT)},
            input=json.dumps(steps),
            capture_output=True,
            text=True,
            timeout=SPARK_BOUND_S,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"

    def _saved(self, block: Block, text: str) -> str:
        name = block.file_name or "test_pasted.py"
        (self._directory / name).write_text(text)
        return name

    def _check(self, block: Block, command: list[str]) -> str:
        done = subprocess.run(
            command,
            cwd=self._directory,
            env=_ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            check=False,
        )
        assert done.returncode == 0, f"{block.place} ends with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        assert block.language != "python" or done.stderr == "", f"{block.place} complains:\n{done.stderr}"
        return done.stdout

    def _paste_shell(self, block: Block, text: str) -> None:
        script = ["bash", "-euo", "pipefail", "-c", text]
        awaited = [said for pattern, said in UNTIL.items() if re.search(pattern, text)]
        if not awaited:
            self._check(block, script)
            return
        process = subprocess.Popen(
            script,
            cwd=self._directory,
            env=_ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=heed_ctrl_c,
        )
        self._running.append(_Running(block, process))
        if "ottla server " in text:
            self._addresses = self._own
        assert process.stdout is not None
        said = b""
        while awaited[0].encode() not in said:
            assert readable([process.stdout.fileno()], BOUND_S), f"{block.place} says only {said!r}"
            received = os.read(process.stdout.fileno(), 1 << 16)
            assert received, f"{block.place} ended, and had said only {said!r}"
            said += received


def _check_properties(block: Block, text: str) -> None:
    """Every key is a broker's or a client's, and has a value that it may have."""
    properties = parse(text)
    kinds = (BROKER_CONFIG, PRODUCER_CONFIG, CONSUMER_CONFIG, ADMIN_CONFIG)
    unknown = [key for key in properties if not any(key in kind for kind in kinds)]
    assert unknown == [], f"{block.place}: {unknown}"
    for kind in kinds:
        kind.parse({key: value for key, value in properties.items() if key in kind}, warn=False)
