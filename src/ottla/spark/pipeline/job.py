"""What every pipeline is told from outside: which cluster, which Spark, its checkpoint, its name."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.config.definition import ConfigTable

PROGRESS_TOPIC: Final = "__ottla_pipelines"
"""Where the progress of pipelines is published, by default."""
CHECKPOINTS: Final = "ottla-checkpoints"
"""Where jobs without a checkpoint of their own keep theirs, below the working directory."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a pipeline; ``client`` are Kafka's properties for any client, as a file of --command-config has them.

    Without a ``master`` Spark runs in this machine. ``once`` ends the run when all is done that was there at its start.
    """

    name: str
    client: Mapping[str, str]
    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    checkpoint: str | None = None
    progress_topic: str | None = PROGRESS_TOPIC
    once: bool = False
    skip_lost: bool = False
    """Records that are gone before they were read are passed over; else they end the run."""
    patience_s: float = 120.0
    """How long a stop waits for the batches in flight; what they have not committed is done again by the next run."""
    log: str | None = None
    """The file that takes what the JVM prints; without it one in the user's cache is made."""

    @property
    def bootstrap_servers(self) -> str:
        """The brokers, as the user named them."""
        return self.client.get("bootstrap.servers", "")

    @property
    def checkpoint_path(self) -> str:
        """Where the job keeps how far it is."""
        return self.checkpoint or os.path.abspath(f"{CHECKPOINTS}/{self.name}")

    def admin_properties(self) -> dict[str, str]:
        """The properties that the admin client knows."""
        from ottla.config.admin_keys import ADMIN_CONFIG

        return _known(self.client, ADMIN_CONFIG)

    def producer_properties(self) -> dict[str, str]:
        """The properties that a producer knows."""
        from ottla.config.producer_keys import PRODUCER_CONFIG

        return _known(self.client, PRODUCER_CONFIG)

    def consumer_properties(self) -> dict[str, str]:
        """The properties that a consumer knows."""
        from ottla.config.consumer_keys import CONSUMER_CONFIG

        return _known(self.client, CONSUMER_CONFIG)

    def read_options(self) -> dict[str, str]:
        """What ``spark.read.format("ottla")`` is told of the cluster: ``kafka.bootstrap.servers`` and so on.

        Only what is committed is read, unless the properties say otherwise.
        """
        properties = {"isolation.level": "read_committed", **self.consumer_properties()}
        options = {f"kafka.{key}": value for key, value in properties.items()}
        return {**options, "failOnDataLoss": "false"} if self.skip_lost else options

    def write_options(self) -> dict[str, str]:
        """What ``df.write.format("ottla")`` is told of the cluster."""
        return {f"kafka.{key}": value for key, value in self.producer_properties().items()}


def _known(properties: Mapping[str, str], table: "ConfigTable") -> dict[str, str]:
    """A file may serve several clients: each takes what it knows."""
    return {key: value for key, value in properties.items() if key in table}
