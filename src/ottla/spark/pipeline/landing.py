"""What a landing is: the topic, the table, and how the one becomes the other. Kept with the table, and pure.

The first run writes it down; each later run must say the same or nothing at all, so that a table never changes its
shape halfway, and a topic is never landed twice in one table.
"""

import json
from dataclasses import asdict, dataclass, replace
from typing import Final, Self

from ottla.common.errors import KafkaError

DIRECTORY: Final = "_ottla"
DOCUMENT: Final = "landing.json"
_VERSION: Final = 1
PARTITIONINGS: Final = ("hour", "day", "month", "none")
TABLE_FORMATS: Final = ("delta", "parquet")
VALUES: Final = ("json", "avro", "raw")
_WORDS: Final = {
    "cluster": "the source cluster",
    "topic": "the topic",
    "table_format": "the format",
    "value": "the kind of values",
    "schema": "the schema",
    "reader_schema": "the reader's schema",
    "confluent": "the framing of Avro values",
    "partition_by": "the partitioning",
    "time_field": "the time field",
    "checkpoint": "the checkpoint",
    "rescue": "the column for fields that the schema lacks",
}


class LandingError(KafkaError):
    """A table that cannot be landed in so; the message says why."""


@dataclass(frozen=True, slots=True)
class Landing:
    """How a topic is landed in a table; ``schema`` is empty until it is known, and for raw values.

    ``cluster`` is the id of the topic's, for addresses may change; empty until it is known. ``rescue`` is the column
    for fields that the schema lacks, empty for none, None as long as nothing is said; ``rescued_later``: earlier rows
    do not have it.
    """

    topic: str
    table_format: str
    value: str
    partition_by: str
    time_field: str | None
    checkpoint: str
    schema: str = ""
    confluent: bool = False
    cluster: str = ""
    reader_schema: str = ""
    """Of Avro values, if they are read by another schema than the one by which they were written."""
    rescue: str | None = None
    rescued_later: bool = False

    def document(self) -> str:
        """As it is written down."""
        return json.dumps({"version": _VERSION, **asdict(self)}, indent=2) + "\n"

    @classmethod
    def parse(cls, text: str, path: str) -> Self:
        """What ``document`` wrote; LandingError if it is something else."""
        try:
            document = json.loads(text)
            version = document.pop("version")
            if version != _VERSION:
                raise LandingError(f"{path} was landed by a newer Ottla (its document has version {version})")
            return cls(**document)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise LandingError(f"{path}/{DIRECTORY}/{DOCUMENT} cannot be understood") from None

    def resumed_from(self, earlier: "Landing", path: str) -> "Landing":
        """The landing where ``earlier`` has been: the same, with its schema; LandingError if they differ.

        A column for what the schema lacks may come later, and then stays.
        """
        rescue = earlier.rescue if self.rescue is None else self.rescue
        is_later = earlier.rescued_later or bool(rescue and not earlier.rescue)
        mine = replace(
            self,
            schema=self.schema or earlier.schema,
            reader_schema=self.reader_schema or earlier.reader_schema,
            rescue=rescue,
            rescued_later=is_later,
        )
        if not earlier.rescue:
            earlier = replace(earlier, rescue=rescue)
        for name, words in _WORDS.items():
            was, now = getattr(earlier, name), getattr(mine, name)
            if was != now:
                raise LandingError(
                    f"{words} of the table {path} was {_short(was)} and cannot become {_short(now)}: "
                    "land in another directory"
                )
        return mine


def _short(value: object) -> str:
    text = "none" if value is None or value == "" else str(value)
    return text if len(text) < 80 else text[:79] + "…"


def dead_letters_of(topic: str) -> str:
    """The topic for values that do not fit, unless another is named."""
    return f"{topic}.dead-letters"


def partition_columns(partition_by: str) -> tuple[str, ...]:
    """The columns that a table is partitioned by."""
    return {
        "hour": ("kafka_date", "kafka_hour"),
        "day": ("kafka_date",),
        "month": ("kafka_month",),
        "none": (),
    }[partition_by]
