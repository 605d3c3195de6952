"""What a job was when it first ran, kept with its checkpoint: a later run that means something else is refused."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ottla.common.errors import KafkaError
from ottla.spark.pipeline.hadoop_files import HadoopFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME: Final = "ottla.json"
_VERSION: Final = 1


class ChangedJobError(KafkaError):
    """A checkpoint that belongs to another job; the message says what differs."""


def difference(earlier: Mapping[str, object], now: Mapping[str, object]) -> str | None:
    """What one says and the other does not, in words; None if they are the same. Pure."""
    for name in sorted({*earlier, *now}):
        if earlier.get(name) != now.get(name):
            return f"{name.replace('_', ' ')} was {_text(earlier.get(name))} and is now {_text(now.get(name))}"
    return None


def settle_document(spark: "SparkSession", checkpoint: str, document: Mapping[str, object]) -> bool:
    """Write the document down, or compare it with the one that is there; whether there was one.

    ChangedJobError if they differ.
    """
    files = HadoopFiles(spark, checkpoint)
    told = {"version": _VERSION, **document}
    text = files.read(NAME)
    if text is None:
        files.write(NAME, json.dumps(told, indent=2, sort_keys=True) + "\n")
        return False
    try:
        earlier = json.loads(text)
    except ValueError:
        raise ChangedJobError(f"{checkpoint}/{NAME} cannot be understood") from None
    changed = difference(earlier, json.loads(json.dumps(told)))
    if changed is not None:
        raise ChangedJobError(f"the checkpoint {checkpoint} is of another job: {changed}; give another --checkpoint")
    return True


def _text(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) < 80 else text[:79] + "…"
