"""Who a consumer is in its group."""

from typing import NamedTuple


class ConsumerGroupMetadata(NamedTuple):
    """A member as a transactional commit names it; without a group membership only ``group_id`` is known."""

    group_id: str
    generation_id: int = -1
    """The generation of the classic protocol, or the member epoch of KIP-848."""
    member_id: str = ""
    group_instance_id: str | None = None
