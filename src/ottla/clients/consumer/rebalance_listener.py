"""What users hear of rebalances."""

import inspect
from collections.abc import Awaitable
from typing import Literal, Protocol, cast

from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition

ListenerMethod = Literal["on_partitions_assigned", "on_partitions_revoked", "on_partitions_lost"]


class RebalanceListenerError(KafkaError):
    """A rebalance listener raised; the cause is what it raised. The rebalance itself went on."""


class RebalanceListener(Protocol):
    """A user's object (each method a plain or a coroutine function) that is told when partitions come and go.

    It runs in the task that polls. ``on_partitions_lost`` may be missing: ``on_partitions_revoked`` is called instead,
    as Apache's default does.
    """

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> Awaitable[None] | None:
        """These were added; positions may be set with ``seek`` before the first record comes."""

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> Awaitable[None] | None:
        """These are about to go to others; their offsets can still be committed."""


async def notify_listener(listener: object, method: ListenerMethod, partitions: frozenset[TopicPartition]) -> None:
    """Call one method of a listener (None: nobody listens) and await it if needed; RebalanceListenerError if it raises.

    Revocations and losses of nothing are not told; assignments are, since they end a rebalance.
    """
    if listener is None or (not partitions and method != "on_partitions_assigned"):
        return
    function = getattr(listener, method, None)
    if function is None and method == "on_partitions_lost":
        function = getattr(listener, "on_partitions_revoked", None)
    if function is None:
        return
    try:
        answer = function(partitions)
        if inspect.isawaitable(answer):
            await cast("Awaitable[None]", answer)
    except Exception as error:  # the user's code may raise anything: it comes back to the user as the cause
        raise RebalanceListenerError(f"the rebalance listener's {method} raised {error!r}") from error
