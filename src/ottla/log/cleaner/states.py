"""Who is being cleaned, and who must not be: the state of each partition.

=============  =======================================  ==========================================================
state          becomes                                  because
=============  =======================================  ==========================================================
(none)         in progress, paused once                 a cleaning or deletion begins; somebody pauses it
in progress    (none), aborted                          it is done; somebody aborts it
aborted        paused once                              the run has noticed and ended
paused n ≥ 1   paused n + 1, paused n - 1 or (none)     somebody else pauses it, too; one of them resumes it
=============  =======================================  ==========================================================
"""

from enum import Enum

from ottla.common.topic_partition import TopicPartition


class Cleaning(Enum):
    """A partition that somebody works on."""

    IN_PROGRESS = "in progress"
    ABORTED = "aborted"


class CleaningStates:
    """The state of each partition that has one; any other transition than those above is a bug."""

    def __init__(self) -> None:
        self._states: dict[TopicPartition, Cleaning | int] = {}

    def __contains__(self, topic_partition: TopicPartition) -> bool:
        """Whether it is being worked on or paused."""
        return topic_partition in self._states

    def is_aborted(self, topic_partition: TopicPartition) -> bool:
        """Whether its run should end."""
        return self._states.get(topic_partition) is Cleaning.ABORTED

    def is_paused(self, topic_partition: TopicPartition) -> bool:
        """Whether it is paused, by however many."""
        return isinstance(self._states.get(topic_partition), int)

    def start(self, topic_partition: TopicPartition) -> None:
        """Begin to clean it, or to delete segments of it."""
        assert topic_partition not in self._states, self._tell(topic_partition, "be started")
        self._states[topic_partition] = Cleaning.IN_PROGRESS

    def done(self, topic_partition: TopicPartition) -> bool:
        """End the work; False if it was aborted, so that it is paused now."""
        state = self._states.get(topic_partition)
        assert isinstance(state, Cleaning), self._tell(topic_partition, "be done")
        if state is Cleaning.ABORTED:
            self._states[topic_partition] = 1
            return False
        del self._states[topic_partition]
        return True

    def abort_and_pause(self, topic_partition: TopicPartition) -> None:
        """Pause it; if it is being worked on, it is paused only when that has ended."""
        state = self._states.get(topic_partition)
        if state is Cleaning.IN_PROGRESS:
            self._states[topic_partition] = Cleaning.ABORTED
        else:
            assert not isinstance(state, Cleaning), self._tell(topic_partition, "be aborted and paused")
            self._states[topic_partition] = 1 if state is None else state + 1

    def resume(self, topic_partition: TopicPartition) -> None:
        """Undo one pause."""
        state = self._states.get(topic_partition)
        assert isinstance(state, int), self._tell(topic_partition, "be resumed")
        if state > 1:
            self._states[topic_partition] = state - 1
        else:
            del self._states[topic_partition]

    def _tell(self, topic_partition: TopicPartition, what: str) -> str:
        return f"cleaning of {topic_partition} cannot {what} in state {self._states.get(topic_partition)}"
