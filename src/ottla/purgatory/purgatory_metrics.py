"""The metrics of a purgatory, by Apache's names."""

from typing import Any

from ottla.metrics import Registry, metric_name
from ottla.purgatory.purgatory import Purgatory

_PURGATORY_SIZE = metric_name("kafka.server", "DelayedOperationPurgatory", "PurgatorySize")
_NUM_DELAYED_OPERATIONS = metric_name("kafka.server", "DelayedOperationPurgatory", "NumDelayedOperations")


def register_purgatory(registry: Registry, purgatory: Purgatory[Any]) -> None:
    """Shows the purgatory's sizes in the registry."""
    label = purgatory.name
    registry.gauge(_PURGATORY_SIZE, "Entries of watch lists", lambda: purgatory.watched, delayedOperation=label)
    registry.gauge(
        _NUM_DELAYED_OPERATIONS, "Operations that wait", lambda: purgatory.num_delayed, delayedOperation=label
    )


def remove_purgatory(registry: Registry, purgatory: Purgatory[Any]) -> None:
    """Takes them out again."""
    registry.remove(_PURGATORY_SIZE, delayedOperation=purgatory.name)
    registry.remove(_NUM_DELAYED_OPERATIONS, delayedOperation=purgatory.name)
