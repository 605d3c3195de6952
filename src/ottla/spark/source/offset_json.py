"""Offsets by partition, as users write them in options and as Spark keeps them: ``{"orders": {"0": 23}}``. Pure."""

import json
from collections.abc import Mapping
from typing import Final

from ottla.common.errors import InvalidConfigError
from ottla.common.topic_partition import TopicPartition

Offsets = dict[TopicPartition, int]
_OFFSETS_EXAMPLE: Final = '{"orders": {"0": 23, "1": -1}}'
_PARTITIONS_EXAMPLE: Final = '{"orders": [0, 1]}'


def offsets_of(nested: Mapping[str, Mapping[str, int]]) -> Offsets:
    """What Spark kept, by partition."""
    return {TopicPartition(topic, int(index)): offset for topic, of in nested.items() for index, offset in of.items()}


def nested_of(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """What Spark keeps: always in the same order, since it compares the text."""
    nested: dict[str, dict[str, int]] = {}
    for partition in sorted(offsets):
        nested.setdefault(partition.topic, {})[str(partition.partition)] = offsets[partition]
    return nested


def parse_offsets(option: str, text: str) -> Offsets:
    """An option's number for each partition; InvalidConfigError if it is something else."""
    try:
        nested = json.loads(text)
        if not all(type(number) is int for of in nested.values() for number in of.values()):
            raise ValueError
        parsed = offsets_of(nested)
    except (ValueError, AttributeError, TypeError):
        raise InvalidConfigError(f"Option '{option}' is JSON such as {_OFFSETS_EXAMPLE}, not {text!r}") from None
    if not parsed:
        raise InvalidConfigError(f"Option '{option}' names no partition")
    return parsed


def parse_partitions(option: str, text: str) -> frozenset[TopicPartition]:
    """An option's list of partitions of each topic; InvalidConfigError if it is something else, or none."""
    try:
        nested = json.loads(text)
        if not all(type(index) is int and index >= 0 for indexes in nested.values() for index in indexes):
            raise ValueError
        parsed = frozenset(TopicPartition(topic, index) for topic, indexes in nested.items() for index in indexes)
    except (ValueError, AttributeError, TypeError):
        raise InvalidConfigError(f"Option '{option}' is JSON such as {_PARTITIONS_EXAMPLE}, not {text!r}") from None
    if not parsed:
        raise InvalidConfigError(f"Option '{option}' names no partition")
    return parsed
