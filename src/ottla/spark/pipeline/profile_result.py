"""What a topic is like, added up from its slices, and what that means. Pure.

A slice gives ``{"cells": [[partition, time bucket, size bucket, records, key bytes, value bytes, null keys,
tombstones], …], "keys": [[base64 of the key, partition, records], …], "keys_floor": n}``; the last is how many records
a key has at most that is not among the slice's.
"""

import base64
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

HOT_RATIO: Final = 2.0
"""A partition with so many times the mean is hot."""
_LARGE_BYTES: Final = 1 << 20
_KEYS_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class TimeScale:
    """Buckets of ``width_ms`` from ``start_ms`` on; what lies outside is in the first or the last."""

    start_ms: int
    width_ms: int
    count: int

    def at(self, bucket: int) -> int:
        """When a bucket begins."""
        return self.start_ms + bucket * self.width_ms


WIDTHS_MS: Final = tuple(
    unit * step
    for unit, steps in (
        (1, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (1000, (1, 2, 5, 10, 15, 30)),
        (60_000, (1, 2, 5, 10, 15, 30)),
        (3_600_000, (1, 2, 3, 6, 12)),
        (86_400_000, (1, 2, 7, 14, 30, 91, 365, 3650)),
    )
    for step in steps
)


def time_scale(first_ms: int, last_ms: int, most: int = 120) -> TimeScale:
    """At most so many buckets of a width that people know, over the whole time."""
    for width in WIDTHS_MS:
        start = first_ms - first_ms % width
        count = (last_ms - start) // width + 1
        if count <= most:
            return TimeScale(start, width, max(count, 1))
    return TimeScale(first_ms, max((last_ms - first_ms) // most + 1, 1), most)


@dataclass(slots=True)
class PartitionProfile:
    """One partition's records."""

    partition: int
    records: int = 0
    key_bytes: int = 0
    value_bytes: int = 0
    null_keys: int = 0
    tombstones: int = 0


@dataclass(frozen=True, slots=True)
class KeyProfile:
    """A key with many records: at least so many, in (one of) its partitions."""

    key: bytes
    partition: int
    records: int


@dataclass(frozen=True, slots=True)
class Profile:
    """A topic, added up."""

    topic: str
    partitions: list[PartitionProfile]
    scale: TimeScale
    rates: dict[tuple[int, int], int]
    """Records by partition and bucket of time."""
    sizes: dict[int, int]
    """Records by size: bucket n has those of 2ⁿ⁻¹ to 2ⁿ - 1 bytes of key and value."""
    keys: list[KeyProfile]
    keys_floor: int
    distinct_keys: int
    findings: list[str] = field(default_factory=list)

    @property
    def records(self) -> int:
        """How many there are."""
        return sum(each.records for each in self.partitions)

    @property
    def size_in_bytes(self) -> int:
        """Keys and values."""
        return sum(each.key_bytes + each.value_bytes for each in self.partitions)

    def over_time(self) -> list[int]:
        """Records by bucket of time."""
        totals = [0] * self.scale.count
        for (_, bucket), records in self.rates.items():
            totals[bucket] += records
        return totals

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {
            "topic": self.topic,
            "records": self.records,
            "bytes": self.size_in_bytes,
            "distinct_keys": self.distinct_keys,
            "partitions": [
                {
                    "partition": each.partition,
                    "records": each.records,
                    "key_bytes": each.key_bytes,
                    "value_bytes": each.value_bytes,
                    "null_keys": each.null_keys,
                    "tombstones": each.tombstones,
                }
                for each in self.partitions
            ],
            "keys": [
                {"key": shown_key(each.key), "partition": each.partition, "records": each.records} for each in self.keys
            ],
            "sizes": [
                {"below_bytes": 1 << bucket, "records": records} for bucket, records in sorted(self.sizes.items())
            ],
            "rates": {
                "start_ms": self.scale.start_ms,
                "width_ms": self.scale.width_ms,
                "records": self.over_time(),
            },
            "findings": self.findings,
        }


def records_of_slice(found: Mapping[str, Any]) -> int:
    """How many records a slice has."""
    return sum(records for _, _, _, records, *_ in found["cells"])


def merge(
    topic: str, partitions: int, scale: TimeScale, slices: Iterable[Mapping[str, Any]], *, distinct_keys: int, top: int
) -> Profile:
    """The profile of all slices together."""
    by_partition = [PartitionProfile(number) for number in range(partitions)]
    rates: Counter[tuple[int, int]] = Counter()
    sizes: Counter[int] = Counter()
    keys: Counter[str] = Counter()
    places: dict[str, int] = {}
    floor = 0
    for each in slices:
        for partition, bucket, size, records, key_bytes, value_bytes, null_keys, tombstones in each["cells"]:
            into = by_partition[partition]
            into.records += records
            into.key_bytes += key_bytes
            into.value_bytes += value_bytes
            into.null_keys += null_keys
            into.tombstones += tombstones
            rates[partition, bucket] += records
            sizes[size] += records
        for key, partition, records in each["keys"]:
            keys[key] += records
            places[key] = partition
        floor += each["keys_floor"]
    found = [KeyProfile(base64.b64decode(key), places[key], records) for key, records in keys.most_common(top)]
    profile = Profile(topic, by_partition, scale, dict(rates), dict(sizes), found, floor, distinct_keys)
    profile.findings.extend(findings(profile))
    return profile


def findings(profile: Profile) -> list[str]:
    """What somebody should know who looks after the topic, the worst first."""
    if not profile.records:
        return ["the topic is empty"]
    found = [*_hot_partitions(profile), *_hot_keys(profile)]
    null_keys = sum(each.null_keys for each in profile.partitions)
    if null_keys and null_keys < profile.records:
        found.append(f"{_share(null_keys, profile.records)} of the records have no key, the others have")
    tombstones = sum(each.tombstones for each in profile.partitions)
    if tombstones:
        found.append(f"{_share(tombstones, profile.records)} of the records are tombstones (no value)")
    large = sum(records for bucket, records in profile.sizes.items() if (1 << bucket) > _LARGE_BYTES)
    if large:
        found.append(f"{large:,} records are of 1 MiB or more")
    empty = [each.partition for each in profile.partitions if not each.records]
    if empty:
        found.append(f"{_listed(empty)} {'is' if len(empty) == 1 else 'are'} empty")
    totals = profile.over_time()
    busy = [total for total in totals if total]
    peak, mean = max(busy), sum(busy) / len(busy)
    if len(busy) > 3 and peak > 3 * mean:
        found.append(f"the rate peaks at {peak / mean:.1f} times its mean")
    return found or ["records are spread evenly"]


def _hot_partitions(profile: Profile) -> list[str]:
    mean = profile.records / len(profile.partitions)
    hot = sorted((each for each in profile.partitions if each.records >= HOT_RATIO * mean), key=lambda p: -p.records)
    if len(profile.partitions) < 2:
        return []
    return [
        f"partition {each.partition} is hot: {_share(each.records, profile.records)} of all records, "
        f"{each.records / mean:.1f} times the mean"
        for each in hot
    ]


def _hot_keys(profile: Profile) -> list[str]:
    hot = [each for each in profile.keys if is_hot_key(profile, each)]
    found = []
    for each in hot[:_KEYS_NAMED]:
        of_partition = profile.partitions[each.partition].records
        found.append(
            f"key {shown_key(each.key)} alone has {_share(each.records, profile.records)} of all records and "
            f"{_share(min(each.records, of_partition), of_partition)} of partition {each.partition}: more partitions "
            "do not help, a salted key (key#0 … key#n) or a partitioner of its own does"
        )
    if len(hot) > _KEYS_NAMED:
        found.append(f"{len(hot) - _KEYS_NAMED} further keys have more records than a partition's fair share")
    return found


def is_hot_key(profile: Profile, key: KeyProfile) -> bool:
    """Whether it alone has more records than a partition's fair share."""
    return len(profile.partitions) > 1 and key.records * len(profile.partitions) > profile.records


def _share(part: int, whole: int) -> str:
    share = 100 * part / whole if whole else 0.0
    return f"{share:.0f} %" if share >= 10 else f"{share:.1f} %"


def _listed(numbers: Sequence[int]) -> str:
    names = ", ".join(map(str, numbers[:8])) + (" …" if len(numbers) > 8 else "")
    return f"partition {names}" if len(numbers) == 1 else f"partitions {names}"


def shown_key(key: bytes, limit: int = 40) -> str:
    """A key for people: text if it is text, else hexadecimal."""
    from ottla.spark.pipeline.verify_result import shown

    return shown(key, limit) or "''"
