"""The loader publishes whole transactions, in order, once it has caught up."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from ottla.metadata import records as r
from ottla.metadata.image import MetadataDelta, MetadataImage, MetadataProvenance
from ottla.metadata.loader import MetadataLoader, MetadataPublisher
from ottla.metadata.manifest import LoaderManifest, LogDeltaManifest, SnapshotManifest

LEVEL = r.FeatureLevelRecord(name="metadata.version", feature_level=30)
BEGIN, END, ABORT = r.BeginTransactionRecord(), r.EndTransactionRecord(), r.AbortTransactionRecord()


@dataclass
class Batch:
    """A committed batch."""

    base_offset: int
    records: Sequence[r.MetadataRecord]
    epoch: int = 1
    size_bytes: int = 100

    @property
    def append_time_ms(self) -> int:
        return self.base_offset * 10

    @property
    def last_offset(self) -> int:
        return self.base_offset + max(len(self.records), 1) - 1


class Listener(MetadataPublisher):
    """Remembers what it is told."""

    name = "listener"

    def __init__(self, name: str = "listener") -> None:
        self.name = name
        self.seen: list[tuple[MetadataDelta, MetadataImage, LoaderManifest]] = []
        self.leaders: list[tuple[int, int]] = []

    def publish(self, delta: MetadataDelta, new_image: MetadataImage, manifest: LoaderManifest) -> None:
        self.seen.append((delta, new_image, manifest))

    def controller_changed(self, leader_id: int, leader_epoch: int) -> None:
        self.leaders.append((leader_id, leader_epoch))

    @property
    def configs(self) -> list[list[str]]:
        """The keys of broker configuration in each image."""
        return [sorted(image.configs.properties(4, "")) for _, image, _ in self.seen]


def _config(name: str) -> r.ConfigRecord:
    return r.ConfigRecord(resource_type=4, resource_name="", name=name, value="1")


class Case:
    """A loader that has caught up with one listener, and the faults that it reported."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.high_watermark: int | None = 1
        self.loader = MetadataLoader(lambda: self.high_watermark, lambda what, error: self.faults.append(what))
        self.listener = Listener()
        self.loader.install_publishers([self.listener])

    def commit(self, offset: int, *records: r.MetadataRecord) -> None:
        self.loader.handle_commit(Batch(offset, records))


@pytest.fixture
def case() -> Case:
    case = Case()
    case.commit(0, LEVEL)
    case.listener.seen.clear()
    return case


def test_publishers_see_nothing_until_the_high_watermark_is_reached() -> None:
    case = Case()
    case.high_watermark = None
    case.commit(0, LEVEL)
    case.high_watermark = 3
    case.commit(1, _config("a"))
    assert not case.listener.seen
    case.commit(2, _config("b"))
    ((delta, image, manifest),) = case.listener.seen
    assert isinstance(manifest, SnapshotManifest)
    assert delta.image.is_empty
    assert delta.configs_delta is not None
    assert image.provenance == MetadataProvenance(2, 1, 20, True)
    assert case.listener.configs == [["a", "b"]]
    case.commit(3, _config("c"))
    assert isinstance(case.listener.seen[1][2], LogDeltaManifest)


def test_control_batches_alone_do_not_make_an_image() -> None:
    case = Case()
    case.commit(0)
    assert not case.listener.seen
    case.commit(1, LEVEL)
    assert len(case.listener.seen) == 1


def test_a_publisher_that_waits_is_served_when_the_watermark_is_learnt() -> None:
    case = Case()
    case.high_watermark = None
    case.commit(0, LEVEL)
    case.high_watermark = 1
    case.loader.initialize_publishers()
    assert len(case.listener.seen) == 1


def test_a_late_publisher_begins_with_the_whole_image(case: Case) -> None:
    case.commit(1, _config("a"))
    late = Listener("late")
    case.loader.handle_leader_change(5, 2)
    case.loader.install_publishers([late])
    assert late.configs == [["a"]]
    assert late.leaders == [(5, 2)]
    case.loader.remove_publisher(late)
    case.commit(2, _config("b"))
    assert late.configs == [["a"]]


def test_a_transaction_takes_effect_as_one(case: Case) -> None:
    case.commit(1, BEGIN, _config("a"))
    case.commit(3, _config("b"))
    assert case.listener.configs == []
    case.commit(4, _config("c"), END)
    assert case.listener.configs == [["a", "b", "c"]]
    assert case.listener.seen[0][1].offset == 5
    manifest = case.listener.seen[0][2]
    assert isinstance(manifest, LogDeltaManifest)
    assert (manifest.num_batches, manifest.num_bytes) == (3, 300)


def test_an_aborted_transaction_never_happened(case: Case) -> None:
    case.commit(1, BEGIN, _config("a"))
    case.commit(3, ABORT)
    assert case.listener.configs == [[]]
    assert case.loader.image.offset == 3
    case.commit(4, BEGIN, _config("b"), ABORT, _config("c"))
    assert case.listener.configs[-1] == ["c"]


def test_what_comes_before_a_transaction_is_published_when_it_begins(case: Case) -> None:
    case.commit(1, _config("a"), BEGIN, _config("b"), END, _config("c"))
    assert case.listener.configs == [["a"], ["a", "b", "c"]]
    before, after = (image.provenance for _, image, _ in case.listener.seen)
    assert before == MetadataProvenance(1, 1, 10, False)
    assert after == MetadataProvenance(5, 1, 10, True)


def test_batches_loaded_together_are_published_once_and_end_at_a_batch(case: Case) -> None:
    loader = case.loader
    for batch in (Batch(1, [_config("a")]), Batch(2, [_config("b")]), Batch(3, [BEGIN, _config("c")], epoch=2)):
        list(loader.load(batch))
    assert case.listener.configs == [["a", "b"]]
    assert loader.image.provenance == MetadataProvenance(2, 1, 20, True)
    loader.flush()
    assert case.listener.configs == [["a", "b"]]


def test_transaction_records_out_of_place_are_faults(case: Case) -> None:
    case.commit(1, END)
    case.commit(2, ABORT)
    case.commit(3, BEGIN, BEGIN, _config("a"), END)
    assert case.faults == [f"Error loading metadata log record from offset {offset}" for offset in (1, 2, 4)]
    assert case.listener.configs[-1] == ["a"]


def test_a_record_that_does_not_fit_is_reported_and_skipped(case: Case) -> None:
    case.commit(1, _config("a"), r.RemoveTopicRecord(), _config("b"))
    assert case.faults == ["Error loading metadata log record from offset 2"]
    assert case.listener.configs == [["a", "b"]]


def test_a_big_batch_is_loaded_in_slices(case: Case) -> None:
    pauses = list(case.loader.load(Batch(1, [_config(f"k{number}") for number in range(1000)])))
    assert len(pauses) == 31
    assert not case.listener.seen
    case.loader.flush()
    assert len(case.listener.configs[0]) == 1000


def test_a_snapshot_replaces_the_image_and_an_open_transaction(case: Case) -> None:
    case.commit(1, _config("old"))
    case.commit(2, BEGIN, _config("lost"))
    case.loader.begin_snapshot()
    case.loader.load_snapshot([LEVEL, _config("new")])
    case.loader.finish_snapshot(100, 7, 1234)
    assert case.listener.configs[-1] == ["new"]
    delta, image, manifest = case.listener.seen[-1]
    assert isinstance(manifest, SnapshotManifest)
    assert image.provenance == manifest.provenance == MetadataProvenance(100, 7, 1234, True)
    assert delta.configs_delta is not None
    assert delta.configs_delta.changes[4, ""] == {"old": None, "new": "1"}  # type: ignore[index]
    case.commit(101, _config("more"))
    assert case.listener.configs[-1] == ["more", "new"]
    assert not case.faults


def test_the_manifest_names_the_leader(case: Case) -> None:
    case.loader.handle_leader_change(3, 9)
    assert case.listener.leaders[-1] == (3, 9)
    case.commit(1, r.NoOpRecord())
    manifest = case.listener.seen[-1][2]
    assert isinstance(manifest, LogDeltaManifest)
    assert (manifest.leader_id, manifest.leader_epoch) == (3, 9)
