"""Which node to ask something that any of them can answer."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ottla.network.node import Node

if TYPE_CHECKING:
    from random import Random


class NodeLoad(NamedTuple):
    """What is known of a node; the three flags exclude each other, and none of them is set during a back-off."""

    node: Node
    in_flight: int = 0
    can_send: bool = False
    is_preparing: bool = False
    can_connect: bool = False
    last_connect_attempt_ms: int = -1


def least_loaded_node(loads: Sequence[NodeLoad], rng: "Random") -> Node | None:
    """Among those that can be sent to, the one with the fewest requests in flight; else one that is being connected to;
    else the one whose last attempt is the longest ago; None if all are in back-off.

    The search begins anywhere, so that clients do not all take the first.
    """
    if not loads:
        return None
    start = rng.randrange(len(loads))
    in_turn = [*loads[start:], *loads[:start]]
    ready = min((load for load in in_turn if load.can_send), key=lambda load: load.in_flight, default=None)
    if ready is not None:
        return ready.node
    preparing = next((load for load in in_turn if load.is_preparing), None)
    if preparing is not None:
        return preparing.node
    idle = (load for load in in_turn if load.can_connect)
    longest_ago = min(idle, key=lambda load: load.last_connect_attempt_ms, default=None)
    return None if longest_ago is None else longest_ago.node
