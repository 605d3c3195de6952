"""The transactional ids of a shard, and which of them need looking after."""

from collections.abc import Iterator

from ottla.transaction.metadata import TransactionMetadata
from ottla.transaction.state import TransactionState


class TransactionStore:
    """In the order of their last transitions, so that those which may expire come first."""

    __slots__ = ("_ongoing", "_prepared", "_transactions")

    def __init__(self) -> None:
        self._transactions: dict[str, TransactionMetadata] = {}
        self._ongoing: dict[str, None] = {}
        self._prepared: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._transactions)

    def __iter__(self) -> Iterator[TransactionMetadata]:
        return iter(self._transactions.values())

    def get(self, transactional_id: str) -> TransactionMetadata | None:
        """The state of a transactional id."""
        return self._transactions.get(transactional_id)

    def put(self, metadata: TransactionMetadata) -> None:
        """A transition has been made."""
        transactional_id = metadata.transactional_id
        self.remove(transactional_id)
        self._transactions[transactional_id] = metadata
        if metadata.state is TransactionState.ONGOING:
            self._ongoing[transactional_id] = None
        elif metadata.state.is_prepared:
            self._prepared[transactional_id] = None

    def remove(self, transactional_id: str) -> None:
        """Forget a transactional id, if it is known."""
        self._transactions.pop(transactional_id, None)
        self._ongoing.pop(transactional_id, None)
        self._prepared.pop(transactional_id, None)

    @property
    def ongoing(self) -> list[TransactionMetadata]:
        """The transactions that are under way."""
        return [self._transactions[transactional_id] for transactional_id in self._ongoing]

    @property
    def prepared(self) -> list[TransactionMetadata]:
        """The transactions whose markers are under way."""
        return [self._transactions[transactional_id] for transactional_id in self._prepared]
