"""The votes for one nominee in one epoch. Pure."""

from collections.abc import Iterable


class EpochElection:
    """Who of the voters has granted the vote, who has refused it, and who has yet to answer."""

    __slots__ = ("_granted", "_rejected", "_voters")

    def __init__(self, voter_ids: Iterable[int], local_id: int) -> None:
        """The nominee votes for itself."""
        self._voters = tuple(voter_ids)
        self._granted: set[int] = set()
        self._rejected: set[int] = set()
        self.record_vote(local_id, granted=True)

    def record_vote(self, voter_id: int, *, granted: bool) -> bool:
        """Note an answer; returns whether it is news. A granted vote is not taken back."""
        assert voter_id in self._voters, f"{voter_id} is not one of the voters {self._voters}"
        if granted:
            assert voter_id not in self._rejected, f"voter {voter_id} has refused its vote before"
        elif voter_id in self._granted:
            raise AssertionError(f"voter {voter_id} has granted its vote before")
        answers = self._granted if granted else self._rejected
        is_news = voter_id not in answers
        answers.add(voter_id)
        return is_news

    @property
    def granting_voters(self) -> tuple[int, ...]:
        """Who has granted the vote, ascending."""
        return tuple(sorted(self._granted))

    @property
    def unrecorded_voters(self) -> tuple[int, ...]:
        """Who has not answered, ascending."""
        return tuple(sorted(set(self._voters) - self._granted - self._rejected))

    @property
    def _majority(self) -> int:
        return len(self._voters) // 2 + 1

    @property
    def is_vote_granted(self) -> bool:
        """Whether a majority is for the nominee."""
        return len(self._granted) >= self._majority

    @property
    def is_vote_rejected(self) -> bool:
        """Whether a majority can no longer be reached."""
        return len(self._voters) - len(self._rejected) < self._majority
