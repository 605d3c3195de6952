"""Who reads and writes: Spark's own connector as it comes, the same as well tuned as we can, and Ottla as it comes."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Contender(NamedTuple):
    """A format and its options."""

    name: str
    format: str
    reading: Mapping[str, str]
    writing: Mapping[str, str]


STOCK: Final = Contender("stock", "kafka", {}, {})
TUNED: Final = Contender(
    "stock, tuned",
    "kafka",
    {
        "kafka.max.partition.fetch.bytes": str(8 * 1024 * 1024),
        "kafka.fetch.max.bytes": str(64 * 1024 * 1024),
        "kafka.max.poll.records": "20000",
        "kafka.receive.buffer.bytes": str(1024 * 1024),
    },
    {"kafka.linger.ms": "20", "kafka.batch.size": "262144"},
)
"""Larger fetches, and more records a poll, bring nearly all of it; a smaller or larger number of either is slower."""
OTTLA: Final = Contender("ottla", "ottla", {}, {})
READY: Final = Contender("Spark alone", "ready", {}, {})
"""The same rows from memory instead of a broker (``ready``): what is left is Spark's own, so nobody can be faster."""
ALL: Final = (STOCK, TUNED, OTTLA)
