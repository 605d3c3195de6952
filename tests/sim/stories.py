"""What a broker does between two crashes, one story each.

A story is a generator: what it does before its first ``yield`` is done without a crash, after it the power may go off
at every change of the disk. The machine knows what must be left in every case.
"""

from collections.abc import Callable, Iterator

from tests.sim import compaction_stories, log_stories, recovery_stories
from tests.sim.machine import Machine

Story = Callable[[Machine], Iterator[None]]

STORIES: dict[str, Story] = {
    story.__name__: story
    for story in (
        log_stories.first_start,
        log_stories.append_and_flush,
        log_stories.roll,
        log_stories.delete_records,
        log_stories.retention,
        log_stories.truncate,
        compaction_stories.truncate_compacted,
        log_stories.truncate_within_a_segment,
        log_stories.truncate_fully,
        compaction_stories.compaction_swap,
        *map(compaction_stories.interrupted_swap, (2, 5, 9, 12)),
        compaction_stories.compaction_before_flush,
        log_stories.delete_records_before_flush,
        log_stories.clean_stop,
        log_stories.clean_shutdown_marker,
        log_stories.stop_unflushed,
        log_stories.delete_log,
        log_stories.replace_current_with_future,
        recovery_stories.recovery_of_a_compacted_log,
        recovery_stories.recovery,
        recovery_stories.recovery_of_indexes,
        recovery_stories.recovery_of_everything_lost,
    )
}
