"""Whom to give the next partition of a topic, and whom to take one from."""

from collections.abc import Sequence


class MemberBalancer:
    """The subscribers of one topic by the number of their partitions, of all topics.

    Two ranges of the sorted members move towards each other. Those with the fewest partitions, at the left, get one
    each in turn; when all have got theirs the range rises by one and takes in who has as many. Those with the most, at
    the right, lose one each in turn, from the last to the first, and then sink to the next ones; whoever of them has no
    partition of the topic is put behind the range. It is balanced when the ranges' heights differ by one at most,
    wherever they are.

    The counts are the caller's, who changes them as it moves partitions; reading them live is part of Apache's result.
    """

    __slots__ = (
        "_counts",
        "_least_count",
        "_least_end",
        "_members",
        "_most_count",
        "_most_end",
        "_most_start",
        "_next_least",
        "_next_most",
        "imbalance",
    )

    def __init__(self, subscribers: Sequence[int], counts: Sequence[int]) -> None:
        """``subscribers`` are members' indices, ascending and at least one; ``counts`` their partitions by index."""
        self._counts = counts
        self._members = members = sorted(subscribers, key=counts.__getitem__)
        fewest, most = counts[members[0]], counts[members[-1]]
        self.imbalance = most - fewest
        self._least_end = 0  # the left range is [0, _least_end)
        self._least_count = fewest - 1
        self._next_least = 0
        self._most_start = self._most_end = len(members)  # the right range is [_most_start, _most_end)
        self._most_count = most + 1
        self._next_most = len(members) - 1

    @property
    def is_balanced(self) -> bool:
        """Whether moving a partition from the right range to the left one would gain nothing."""
        return self._most_count - self._least_count <= 1

    def next_least_loaded(self) -> int:
        """The member who gets the next partition."""
        if self._next_least >= self._least_end:
            members, counts, end = self._members, self._counts, self._least_end
            self._least_count = height = self._least_count + 1
            while end < len(members) and counts[members[end]] == height:
                end += 1
            self._least_end = end
            self._next_least = 0
        member = self._members[self._next_least]
        self._next_least += 1
        return member

    def next_most_loaded(self) -> int | None:
        """The member who loses the next partition; None when nobody is left who could."""
        if self._next_most < self._most_start:
            members, counts, start = self._members, self._counts, self._most_start
            # If everybody in the range was excluded, go on with the next one, however low.
            is_empty = self._most_end <= start and start > 0
            height = counts[members[start - 1]] if is_empty else self._most_count - 1
            while start > 0 and counts[members[start - 1]] == height:
                start -= 1
            self._most_count = height
            self._most_start = start
            self._next_most = self._most_end - 1
        if self._next_most < 0:
            return None
        member = self._members[self._next_most]
        self._next_most -= 1
        return member

    def exclude_most_loaded(self) -> None:
        """The member whom ``next_most_loaded`` gave last has no partition of the topic: do not ask it again."""
        members, at, last = self._members, self._next_most + 1, self._most_end - 1
        members[at], members[last] = members[last], members[at]
        self._most_end = last
