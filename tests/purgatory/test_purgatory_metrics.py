"""The purgatory's gauges move with it."""

from ottla.metrics import Gauge, Registry
from ottla.purgatory.purgatory_metrics import register_purgatory, remove_purgatory
from tests.purgatory.purgatory_story import Story


def _read(registry: Registry) -> list[float]:
    names = ("purgatorysize", "numdelayedoperations")
    gauges = [registry.get(f"kafka_server_delayedoperationpurgatory_{name}", delayedOperation="Test") for name in names]
    return [gauge.read() for gauge in gauges if isinstance(gauge, Gauge)]


def test_sizes_follow_the_purgatory() -> None:
    story, registry = Story(), Registry()
    register_purgatory(registry, story.purgatory)
    assert _read(registry) == [0, 0]
    operation = story.watch("a", "b")
    assert _read(registry) == [2, 1]
    operation.ready = True
    story.purgatory.check_and_complete("a")
    assert _read(registry) == [1, 0]
    remove_purgatory(registry, story.purgatory)
    assert _read(registry) == []
