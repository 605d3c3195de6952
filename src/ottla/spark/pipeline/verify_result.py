"""What a comparison found. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ottla.spark.pipeline.record_hash import SUMS

Sums = dict[int, tuple[int, ...]]


def merged(documents: Iterable[Mapping[str, Any]]) -> Sums:
    """Buckets of several units, added up; a unit gives ``{"buckets": [[bucket, n, a, b, c, d], …]}``."""
    total: dict[int, list[int]] = {}
    for document in documents:
        for bucket, *sums in document["buckets"]:
            into = total.setdefault(bucket, [0] * len(SUMS))
            for index, value in enumerate(sums):
                into[index] += value
    return {bucket: tuple(sums) for bucket, sums in total.items()}


def records_in(sums: Sums) -> int:
    """How many records there are."""
    return sum(each[0] for each in sums.values())


def differing(left: Sums, right: Sums) -> list[int]:
    """The buckets that do not hold the same records."""
    return sorted(bucket for bucket in left.keys() | right.keys() if left.get(bucket) != right.get(bucket))


@dataclass(frozen=True, slots=True)
class Side:
    """One of both: what it is called, and how many records it has."""

    what: str
    records: int


@dataclass(frozen=True, slots=True)
class Sample:
    """A record that one side has more often than the other."""

    only_in: str
    times: int
    place: str
    key: str | None
    value: str | None
    headers: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was compared, and what differs."""

    left: Side
    right: Side
    parts: tuple[str, ...]
    only_left: int = 0
    only_right: int = 0
    samples: list[Sample] = field(default_factory=list)
    advice: str = ""
    """What may explain the difference."""

    @property
    def is_same(self) -> bool:
        """Whether both hold the same records, each as often."""
        return not self.only_left and not self.only_right

    def lines(self) -> list[str]:
        """For people."""
        lines = [f"{side.what}: {side.records:,} records" for side in (self.left, self.right)]
        if self.is_same:
            return [*lines, f"the same records, by {', '.join(self.parts)}"]
        for side, count in ((self.left, self.only_left), (self.right, self.only_right)):
            if count:
                lines.append(f"only in {side.what}: {count:,}")
        for sample in self.samples:
            times = f" ({sample.times} times more)" if sample.times > 1 else ""
            headers = f" headers {', '.join(sample.headers)}" if sample.headers else ""
            lines.append(f"  {sample.only_in} {sample.place}: key {sample.key} value {sample.value}{headers}{times}")
        return [*lines, self.advice] if self.advice else lines

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {
            "same": self.is_same,
            "compared": list(self.parts),
            "left": {"what": self.left.what, "records": self.left.records, "only_here": self.only_left},
            "right": {"what": self.right.what, "records": self.right.records, "only_here": self.only_right},
            "samples": [
                {
                    "only_in": sample.only_in,
                    "times": sample.times,
                    "place": sample.place,
                    "key": sample.key,
                    "value": sample.value,
                    "headers": list(sample.headers),
                }
                for sample in self.samples
            ],
        }


def shown(data: bytes | None, limit: int = 60) -> str | None:
    """Bytes for people: text if they are text, else hexadecimal; cut if they are long."""
    if data is None:
        return None
    text = data[: limit + 1].decode("utf-8", "replace")
    if "\ufffd" in text or not text.isprintable():
        text = data[: limit // 2 + 1].hex()
        return text if len(data) <= limit // 2 else text[:limit] + "…"
    return text if len(text) <= limit else text[:limit] + "…"
