"""Published boards find their series on a live node, with the labels that they ask for."""

import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ottla.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.testing import Broker
from tests.server.dashboards import ADDED_UP, ANY, BOARDS, MISSING, Asked
from tests.server.records_on_wire import append
from tests.server.wire import Wire, create_topic

DOCUMENT = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
Scrape = dict[str, list[dict[str, str]]]


@pytest.fixture(scope="module")
def scrape(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scrape]:
    """The labels of every series, by name, of a node that somebody writes to and reads from."""
    with Broker({"metrics.listener": "127.0.0.1:0"}, directory=tmp_path_factory.mktemp("boards")) as broker:
        create_topic(broker.bootstrap_servers, "orders")
        append(broker.bootstrap_servers, "orders", b"value")
        fetched = FetchTopic(
            topic="orders", partitions=[FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)]
        )
        with Wire(broker.bootstrap_servers) as wire:
            wire.ask(FetchRequest(max_wait_ms=0, min_bytes=1, topics=[fetched]), 12)
            wire.ask(MetadataRequest(topics=None), 12)
        node = broker._node
        assert node is not None
        with urllib.request.urlopen(f"http://127.0.0.1:{node.metrics_port}/metrics", timeout=30) as answer:
            text = answer.read().decode()
    found: Scrape = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample.labels)
    yield found


@pytest.mark.parametrize(
    ("board", "asked"), [(board, asked) for board, selectors in BOARDS.items() for asked in selectors], ids=str
)
def test_a_board_is_answered(scrape: Scrape, board: str, asked: Asked) -> None:
    assert board
    series = scrape.get(asked.name, [])
    assert any(
        all(labels.get(name) and wanted in (ANY, labels[name]) for name, wanted in asked.labels) for labels in series
    ), f"{asked} finds nothing among {series}"


@pytest.mark.parametrize("name", ADDED_UP)
def test_what_boards_add_up_is_there_once(scrape: Scrape, name: str) -> None:
    assert scrape[name] == [{}]


@pytest.mark.parametrize("name", MISSING)
def test_what_is_missing_is_missing_and_documented(scrape: Scrape, name: str) -> None:
    assert name not in scrape
    assert f"`{name}`" in DOCUMENT


def test_nothing_is_shown_under_two_names(scrape: Scrape) -> None:
    """Neither as it was named before, nor twice: names are lower case, and differ by more than their case."""
    assert [name for name in scrape if name != name.lower()] == []
    assert [
        name for name, series in scrape.items() if len(series) != len({tuple(sorted(s.items())) for s in series})
    ] == []
