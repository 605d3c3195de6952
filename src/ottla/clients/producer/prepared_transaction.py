"""A transaction that its producer has written and left open.

Closing the producer does not abort it any more. ``init_transactions`` does, if it is still open then, and is what the
producer has to call before its next transaction. After ``transaction.timeout.ms`` it ends by itself, aborted.
"""

from typing import NamedTuple


class PreparedTransaction(NamedTuple):
    """What whoever ends it has to tell the coordinator (EndTxn); ``is_v2`` if it is one of version 2 (KIP-890)."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    is_v2: bool
