"""The five states of a classic group, and which may follow which."""

from enum import StrEnum
from typing import Final


class ClassicGroupState(StrEnum):
    """Where a group is in its life.

    ======================  ===========================================================================================
    Empty                   No members, perhaps offsets; the first join leads to PreparingRebalance.
    PreparingRebalance      Waits for everyone to (re)join; then CompletingRebalance, or Empty if nobody came.
    CompletingRebalance     Waits for the leader's assignment; Stable once it is committed, PreparingRebalance if
                            somebody joins, leaves or fails meanwhile.
    Stable                  Everyone may have its assignment; any change leads to PreparingRebalance.
    Dead                    The group has left this broker; nothing follows.
    ======================  ===========================================================================================
    """

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


VALID_PREVIOUS_STATES: Final[dict[ClassicGroupState, frozenset[ClassicGroupState]]] = {
    ClassicGroupState.EMPTY: frozenset({ClassicGroupState.PREPARING_REBALANCE}),
    ClassicGroupState.PREPARING_REBALANCE: frozenset(
        {ClassicGroupState.STABLE, ClassicGroupState.COMPLETING_REBALANCE, ClassicGroupState.EMPTY}
    ),
    ClassicGroupState.COMPLETING_REBALANCE: frozenset({ClassicGroupState.PREPARING_REBALANCE}),
    ClassicGroupState.STABLE: frozenset({ClassicGroupState.COMPLETING_REBALANCE}),
    ClassicGroupState.DEAD: frozenset(ClassicGroupState),
}
"""From where each state may be entered; every other transition is a bug."""
