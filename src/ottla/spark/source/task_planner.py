"""Which task reads which offsets: small ranges together in one, large ones in pieces over many. Pure.

A task costs Spark some 20 ms and a Python worker; a micro-batch of a few thousand records is best read by one. What is
large is read by as many tasks as there are cores to run them, whatever the number of Kafka's partitions.
"""

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from ottla.spark.scan.offset_range import OffsetRange

DEFAULT_MIN_RECORDS: Final = 65_536
"""Partitions share a task until it has so many."""
DEFAULT_MAX_RECORDS: Final = 2_000_000
"""A range of more is read by several tasks, unless the user says how many a task may have."""

Task = tuple[OffsetRange, ...]


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """``min_tasks``: about so many at least, if there are as many offsets (``minPartitions``).

    ``max_records``: no task spans more offsets than this (``maxRecordsPerPartition``); None if that is left to us.
    ``min_records``: ranges share a task as long as they have no more than this together; 1 for a task for each.
    """

    min_tasks: int = 1
    max_records: int | None = None
    min_records: int = DEFAULT_MIN_RECORDS


def plan_tasks(ranges: Iterable[OffsetRange], settings: PlanSettings) -> list[Task]:
    """Tasks that together read every offset of the ranges once; none if there is nothing to read.

    Ranges without offsets are left out. The order is always the same.
    """
    pieces = [piece for each in sorted(ranges) for piece in _in_pieces(each, _parts(each, settings))]
    if len(pieces) < settings.min_tasks:
        pieces = _in_more_pieces(pieces, settings.min_tasks)
    return _together(pieces, settings)


def size_of(offset_range: OffsetRange) -> int:
    """How many offsets; there may be fewer records."""
    return offset_range.end_offset - offset_range.start_offset


def _parts(offset_range: OffsetRange, settings: PlanSettings) -> int:
    return -(-size_of(offset_range) // (settings.max_records or DEFAULT_MAX_RECORDS))


def _in_pieces(offset_range: OffsetRange, parts: int) -> list[OffsetRange]:
    """Equal pieces, as far as possible; none that is empty."""
    size = size_of(offset_range)
    if size <= 0:
        return []
    parts = min(parts, size)
    edges = [offset_range.start_offset + size * number // parts for number in range(parts + 1)]
    return [offset_range._replace(start_offset=first, end_offset=last) for first, last in pairwise(edges)]


def _in_more_pieces(pieces: Sequence[OffsetRange], min_tasks: int) -> list[OffsetRange]:
    """About ``min_tasks`` pieces, by dividing the large ones in proportion to their size; as the stock connector does.

    Those that are too small to be divided are left out of the proportions, so that they cost the others no part.
    """
    total = sum(map(size_of, pieces))
    is_small = [_share(size_of(piece), total, min_tasks) == 1 for piece in pieces]
    large_total = total - sum(size_of(piece) for piece, small in zip(pieces, is_small, strict=True) if small)
    large_tasks = max(min_tasks - sum(is_small), 1)
    more: list[OffsetRange] = []
    for piece, small in zip(pieces, is_small, strict=True):
        more += [piece] if small else _in_pieces(piece, _share(size_of(piece), large_total, large_tasks))
    return more


def _share(size: int, total: int, tasks: int) -> int:
    return max(math.floor(size / total * tasks + 0.5), 1)


def _together(pieces: Sequence[OffsetRange], settings: PlanSettings) -> list[Task]:
    """Pieces in as few tasks as the settings allow, of sizes as equal as can be had."""
    total = sum(map(size_of, pieces))
    most = settings.max_records or DEFAULT_MAX_RECORDS
    wanted = max(settings.min_tasks, -(-total // min(settings.min_records, most)))
    if wanted >= len(pieces):
        return [(piece,) for piece in pieces]
    # The largest goes first to the task that has least; one that has no room for it gets a new one beside it.
    tasks: list[list[OffsetRange]] = [[] for _ in range(wanted)]
    loads = [(0, number) for number in range(wanted)]
    for piece in sorted(pieces, key=lambda each: (-size_of(each), each)):
        load, number = loads[0]
        if load and load + size_of(piece) > most:
            heapq.heappush(loads, (size_of(piece), len(tasks)))
            tasks.append([piece])
        else:
            heapq.heapreplace(loads, (load + size_of(piece), number))
            tasks[number].append(piece)
    return sorted(tuple(sorted(task)) for task in tasks if task)
