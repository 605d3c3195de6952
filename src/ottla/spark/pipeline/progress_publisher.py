"""Progress for programs: JSON records in a topic, keyed by the pipeline's name, so that a console can show them.

``{"pipeline", "query", "run", "state": "running" | "stopped" | "failed", "error", "batch_id", "timestamp", "rows",
"rows_per_second", "batch_ms", "lag", "watermark", "state_rows", "rescued_records", "rescued_fields"}``. Publishing
never stops a pipeline: what cannot be sent is dropped, and said once.
"""

import json
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ottla.common.errors import KafkaError
from ottla.spark.pipeline.batch_progress import BatchProgress
from ottla.spark.pipeline.job import Job

if TYPE_CHECKING:
    from ottla.clients.sync import Producer

logger = logging.getLogger(__name__)

_CONFIGS: Final = {"cleanup.policy": "delete", "retention.ms": str(7 * 24 * 3600 * 1000)}
_LIMITS: Final = {"max.block.ms": "2000", "buffer.memory": "1048576", "delivery.timeout.ms": "10000"}
_TIMEOUTS: Final = {"request.timeout.ms": "5000", "linger.ms": "0"}
_CLOSE_MS: Final = 2000


class ProgressPublisher:
    """New → ``publish`` … → ``close``; the producer is made for the first record."""

    def __init__(self, job: Job, run: str) -> None:
        self._job = job
        self._run = run
        self._producer: Producer | None = None
        self._is_broken = job.progress_topic is None
        self._last: dict[str, BatchProgress] = {}

    def publish(self, query: str, state: str, progress: BatchProgress | None = None, error: str | None = None) -> None:
        """A query is in this state; with the figures of its last batch."""
        if self._is_broken:
            return
        if progress is not None:
            self._last[query] = progress
        told = self._last.get(query)
        document = {
            "pipeline": self._job.name,
            "query": query,
            "run": self._run,
            "state": state,
            "error": error,
            **({key: value for key, value in told.document().items() if key != "query"} if told else {}),
        }
        try:
            producer = self._producer or self._start()
            producer.send(str(self._job.progress_topic), json.dumps(document).encode(), key=self._job.name.encode())
        except KafkaError as failure:
            self._is_broken = True
            logger.warning("progress is not published: %s", failure)

    def close(self) -> None:
        """Send what is on its way."""
        if self._producer is not None:
            with suppress(KafkaError):
                self._producer.close(timeout_ms=_CLOSE_MS)
            self._producer = None

    def _start(self) -> "Producer":
        from ottla.clients.admin.topics import NewTopic
        from ottla.clients.sync import Admin, Producer

        topic = str(self._job.progress_topic)
        with Admin(self._job.admin_properties()) as admin:
            if topic not in admin.list_topics():
                admin.create_topics([NewTopic(topic, num_partitions=1, configs=_CONFIGS)])
        producer = Producer({**self._job.producer_properties(), **_LIMITS, **_TIMEOUTS})
        producer.start()
        self._producer = producer
        return producer
