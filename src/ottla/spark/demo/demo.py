"""Runs the demo beside a broker: a thread makes click events, Spark runs the pipelines, until it is told to stop."""

import fcntl
import json
import os
import random
import shlex
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from ottla.common.errors import KafkaError
from ottla.spark.demo.click_events import Clickers
from ottla.spark.errors import SparkUnavailableError
from ottla.spark.installed import check_installed
from ottla.spark.jars import Say
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.preflight import create_topics
from ottla.spark.pipeline.stop_request import StopRequest

TOPIC: Final = "clicks"
CLICKS_A_SECOND: Final = 50
PROGRAM: Final = str(Path(__file__).with_name("click_pipelines.py"))
SETTINGS: Final = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}
"""The demo shares a laptop with other things; over it goes what the user sets."""
_PARTITIONS: Final = 4
_TICK_S: Final = 0.1
NEXT: Final = """\
  counts    {ottla} console-consumer --bootstrap-server {servers} --topic page-counts --from-beginning
  letters   {ottla} console-consumer --bootstrap-server {servers} --topic clicks.dead-letters --from-beginning
  progress  {ottla} console-consumer --bootstrap-server {servers} --topic __ottla_pipelines --from-beginning
  visits    {look}
  program   cat {program}
  your own  {ottla} pipeline run --help
after the first batch there are records, and the table of visits, for which Spark starts once more"""
"""What to look at once the pipelines run; a test runs each line as it is printed."""
_LOOK: Final = """\
from ottla.spark.session import spark_session as s; s("look", packages=["delta"]).read.load({table}, "delta").show()"""
_LOCK: Final = ".lock"


def run_demo(job: Job, directory: str, *, ottla: str, say: Say) -> int:
    """Make click events and run the pipelines until a signal asks for a stop; the exit code.

    ``ottla`` is how a shell calls this Ottla. If Spark cannot start one sentence says why, and the click events go on.
    KafkaError if another demo works in the directory.
    """
    with _alone_in(directory):
        create_topics(job, [TOPIC], partitions=_PARTITIONS, say=lambda _: None)
        os.environ["OTTLA_DEMO_DIRECTORY"] = directory
        generator = ClickGenerator(job, say)
        generator.start()
        try:
            say(f"about {CLICKS_A_SECOND} click events a second go to the topic {TOPIC}")
            # What was not committed is done again by the next demo: nobody needs to wait for the batch in flight.
            return _run_pipelines(replace(job, patience_s=0), directory, ottla, say)
        except SparkUnavailableError as error:
            with StopRequest() as stop:
                say(f"the demo's pipelines do not run: {error}")
                while not stop.wait(3600):
                    pass
            return 0
        finally:
            generator.stop()


@contextmanager
def _alone_in(directory: str) -> Iterator[None]:
    """Two demos would write to one checkpoint, and take each other's batches."""
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, _LOCK), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise KafkaError(
                f"another demo works in {directory}: stop it, or give this one another --directory"
            ) from None
        yield


def _run_pipelines(job: Job, directory: str, ottla: str, say: Say) -> int:
    check_installed()
    from ottla.spark.pipeline.pipeline_file import load_pipelines
    from ottla.spark.pipeline.running import run_pipelines

    look = shlex.quote(_LOOK.format(table=json.dumps(f"{directory}/visits")))
    hints = NEXT.format(
        ottla=ottla,
        servers=job.bootstrap_servers,
        look=f"{shlex.quote(sys.executable)} -c {look}",
        program=shlex.quote(PROGRAM),
    )
    return run_pipelines(load_pipelines(PROGRAM), job, say=say, on_start=lambda: say(hints))


class ClickGenerator:
    """A thread that sends clicks: new → ``start`` → ``stop``. While a broker is away it waits, and sends no more."""

    def __init__(self, job: Job, say: Say) -> None:
        from ottla.clients.sync import Producer

        self._producer = Producer({**job.producer_properties(), "linger.ms": "0"})
        self._say = say
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="clicks", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Give up what is on its way, and end."""
        self._stopping.set()
        self._producer.close(timeout_ms=0)
        self._thread.join()

    def _run(self) -> None:
        clickers = Clickers(random.Random())
        try:
            self._producer.start()
            while not self._stopping.wait(_TICK_S):
                clicks = [clickers.click(int(time.time() * 1000)) for _ in range(int(CLICKS_A_SECOND * _TICK_S))]
                for sent in [self._producer.send(TOPIC, click.value, key=click.key) for click in clicks]:
                    sent.result()
        except KafkaError as error:
            if not self._stopping.is_set():
                self._say(f"no more click events: {error}")


def end_with_input(say: Say) -> None:
    """End this process, and with it its JVM, when standard input ends: the node that started it is gone then.

    A stop in order would wait for a node. Exactly-once pipelines lose nothing.
    """

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        say("the node has ended, so the demo does, too; the next one goes on where this one was")
        os._exit(1)

    threading.Thread(target=wait, name="parent", daemon=True).start()
