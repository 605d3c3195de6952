"""Runs the demo beside a broker: a thread makes click events, Spark runs the pipelines, until it is told to stop."""

import os
import random
import sys
import threading
import time
from pathlib import Path
from typing import Final

from ottla.common.errors import KafkaError
from ottla.common.extras import how_to_install
from ottla.spark.demo.click_events import Clickers
from ottla.spark.errors import SparkUnavailableError
from ottla.spark.jars import Say
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.preflight import check_topics
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
  counts    ottla console-consumer --bootstrap-server {servers} --topic page-counts
  visits    python -c "from ottla.spark.session import spark_session as s; \
s('look', packages=['delta']).read.load('{directory}/visits', 'delta').show()"
  letters   ottla console-consumer --bootstrap-server {servers} --topic clicks.dead-letters --from-beginning
  progress  ottla console-consumer --bootstrap-server {servers} --topic __ottla_pipelines
  program   {program}; `ottla pipeline run FILE` runs one of yours"""
"""What to look at once the pipelines run."""


def run_demo(job: Job, directory: str, *, say: Say) -> int:
    """Make click events and run the pipelines until a signal asks for a stop; the exit code.

    If Spark cannot start one sentence says why, and the click events go on.
    """
    check_topics(job, reads=[], writes=[TOPIC], new_partitions=_PARTITIONS, say=lambda _: None)
    os.environ["OTTLA_DEMO_DIRECTORY"] = directory
    generator = ClickGenerator(job, say)
    generator.start()
    try:
        say(f"{CLICKS_A_SECOND} click events a second go to the topic {TOPIC}; Spark is starting, which takes a while")
        return _run_pipelines(job, directory, say)
    except SparkUnavailableError as error:
        with StopRequest() as stop:
            say(f"the demo's pipelines do not run: {error}")
            while not stop.wait(3600):
                pass
        return 0
    finally:
        generator.stop()


def _run_pipelines(job: Job, directory: str, say: Say) -> int:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise SparkUnavailableError(f"PySpark is not installed: {how_to_install('spark')}") from None
    from ottla.spark.pipeline.pipeline_file import load_pipelines
    from ottla.spark.pipeline.running import run_pipelines

    hints = NEXT.format(servers=job.bootstrap_servers, directory=directory, program=os.path.relpath(PROGRAM))
    return run_pipelines(load_pipelines(PROGRAM), job, say=say, on_start=lambda: say(hints))


class ClickGenerator:
    """A thread that sends clicks: new → ``start`` → ``stop``. A broker that is away for a while is waited for."""

    def __init__(self, job: Job, say: Say) -> None:
        self._job = job
        self._say = say
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="clicks", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Send what is on its way, and end."""
        self._stopping.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        from ottla.clients.sync import Producer

        clickers = Clickers(random.Random())
        try:
            with Producer({**self._job.producer_properties(), "linger.ms": "20"}) as producer:
                while not self._stopping.wait(_TICK_S):
                    for _ in range(int(CLICKS_A_SECOND * _TICK_S)):
                        click = clickers.click(int(time.time() * 1000))
                        producer.send(TOPIC, click.value, key=click.key)
        except KafkaError as error:
            if not self._stopping.is_set():
                self._say(f"no more click events: {error}")


def stop_at_end_of_input() -> None:
    """Ask this process to stop when its standard input ends: whoever started it is gone then."""
    import signal

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="parent", daemon=True).start()
