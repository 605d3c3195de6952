"""The image is what its records say: it writes itself as records that give it again."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.metadata import records as r
from ottla.metadata.image import EMPTY_IMAGE, ConfigResourceType, MetadataDelta, MetadataProvenance
from ottla.metadata.image_writer_options import UnwritableMetadataError
from ottla.metadata.metadata_version import MetadataVersion
from tests.metadata.metadata_histories import History, replayed

PROVENANCE = MetadataProvenance(41, 3, 1000, True)


@given(st.randoms(use_true_random=False))
def test_an_image_written_as_records_is_the_same_image(rng: Random) -> None:
    history = History(rng)
    for _ in history.deltas(2, 30):
        assert replayed(EMPTY_IMAGE, list(history.image.records())) == history.image


@given(st.randoms(use_true_random=False))
def test_many_records_in_one_delta_change_the_same_as_one_delta_each(rng: Random) -> None:
    history = History(rng)
    image = EMPTY_IMAGE
    for records in history.deltas(3, 15):
        before = list(image.records()) if not image.is_empty else []
        earlier, image = image, replayed(image, records)
        assert image == history.image
        assert earlier.is_empty or list(earlier.records()) == before, "a delta must leave its image alone"


@given(st.randoms(use_true_random=False))
def test_a_snapshot_takes_the_place_of_any_image(rng: Random) -> None:
    before, after = History(rng, "before"), History(rng, "after")
    for history in (before, after):
        for _ in history.deltas(1, 20):
            pass
    after.emit(r.ProducerIdsRecord(next_producer_id=5))
    delta = MetadataDelta(before.image)
    for record in after.image.records():
        delta.replay(record)
    delta.finish_snapshot()
    assert delta.apply(MetadataProvenance()) == after.image


@given(st.randoms(use_true_random=False))
def test_the_delta_from_nothing_is_that_of_all_records(rng: Random) -> None:
    history = History(rng)
    for _ in history.deltas(1, 40):
        pass
    replayed_delta = MetadataDelta(EMPTY_IMAGE)
    for record in history.image.records():
        replayed_delta.replay(record)
    replayed_delta.finish_snapshot()
    delta = MetadataDelta.from_empty(history.image)
    assert _contents(delta) == _contents(replayed_delta)
    assert delta.apply(MetadataProvenance()) == history.image


def _contents(value: object) -> object:
    """What a delta holds, all the way down."""
    slots = getattr(type(value), "__slots__", None)
    if slots is not None and type(value).__name__.endswith("Delta"):
        return {name: _contents(getattr(value, name)) for name in slots}
    return {key: _contents(entry) for key, entry in value.items()} if isinstance(value, dict) else value


def test_topics_that_did_not_change_are_shared() -> None:
    history = History(Random(1))
    ids = [history.uuid(), history.uuid()]
    for name, topic_id in zip("ab", ids, strict=True):
        history.emit(r.TopicRecord(name=name, topic_id=topic_id))
        history.emit(r.PartitionRecord(topic_id=topic_id, partition_id=0, replicas=[1], isr=[1], leader=1))
    before = history.image
    history.emit(r.PartitionChangeRecord(topic_id=ids[0], partition_id=0, leader=-1))
    assert history.image.topics.by_name["b"] is before.topics.by_name["b"]
    assert history.image.topics.by_name["a"] is history.image.topics.by_id[ids[0]]
    assert before.topics.by_name["a"].partitions[0].leader == 1
    assert history.image.topics.by_name["a"].partitions[0].leader == -1


def test_a_topic_takes_its_configuration_with_it() -> None:
    history = History(Random(1))
    topic_id = history.uuid()
    records = [
        r.TopicRecord(name="a", topic_id=topic_id),
        r.ConfigRecord(resource_type=2, resource_name="a", name="retention.ms", value="1"),
    ]
    image = replayed(EMPTY_IMAGE, records)
    assert image.configs.properties(ConfigResourceType.TOPIC, "a") == {"retention.ms": "1"}
    assert replayed(image, [r.RemoveTopicRecord(topic_id=topic_id)]).configs.is_empty
    assert replayed(EMPTY_IMAGE, [*records, r.RemoveTopicRecord(topic_id=topic_id)]).configs.is_empty


def test_a_config_that_is_not_supported_is_skipped() -> None:
    delta = MetadataDelta(EMPTY_IMAGE, lambda resource_type, name: name != "gone")
    for name in ("gone", "kept"):
        delta.replay(r.ConfigRecord(resource_type=4, resource_name="", name=name, value="1"))
    assert delta.apply(PROVENANCE).configs.properties(4, "") == {"kept": "1"}


@pytest.mark.parametrize(
    "record",
    [
        r.FenceBrokerRecord(id=1, epoch=1),
        r.BrokerRegistrationChangeRecord(broker_id=1),
        r.RemoveTopicRecord(),
        r.PartitionChangeRecord(partition_id=0),
        r.PartitionRecord(partition_id=0),
        r.ClearElrRecord(topic_name="none"),
        r.RemoveAccessControlEntryRecord(),
        r.FeatureLevelRecord(name="metadata.version", feature_level=6),
        r.BeginTransactionRecord(),
    ],
    ids=lambda record: type(record).__name__,
)
def test_a_record_that_does_not_fit_is_refused(record: r.MetadataRecord) -> None:
    with pytest.raises(ValueError, match=r".+"):
        MetadataDelta(EMPTY_IMAGE).replay(record)


def test_a_stale_broker_epoch_is_refused() -> None:
    image = replayed(EMPTY_IMAGE, [r.RegisterBrokerRecord(broker_id=1, broker_epoch=7)])
    with pytest.raises(ValueError, match="did not match the current broker epoch, 7"):
        MetadataDelta(image).replay(r.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=6, fenced=-1))


@pytest.mark.parametrize(
    ("record", "level", "loss"),
    [
        (r.RegisterControllerRecord(), MetadataVersion.IBP_3_6_IV2, "controller registration"),
        (r.UserScramCredentialRecord(name="alice", mechanism=1), MetadataVersion.IBP_3_5_IV1, "alice"),
        (r.DelegationTokenRecord(token_id="t1"), MetadataVersion.IBP_3_6_IV1, "t1"),
        (r.RegisterBrokerRecord(cordoned_log_dirs=[]), MetadataVersion.IBP_4_2_IV1, "cordoned"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_level_cannot_express_is_never_lost_silently(
    record: r.MetadataRecord, level: MetadataVersion, loss: str
) -> None:
    image = replayed(EMPTY_IMAGE, [r.FeatureLevelRecord(name="metadata.version", feature_level=30), record])
    with pytest.raises(UnwritableMetadataError, match=loss):
        list(image.records(level))
    losses: list[UnwritableMetadataError] = []
    list(image.records(level, losses.append))
    assert len(losses) == 1


def test_secrets_are_not_shown() -> None:
    record = r.UserScramCredentialRecord(name="alice", mechanism=1, salt=b"salty", stored_key=b"stored")
    image = replayed(EMPTY_IMAGE, [record])
    assert "salty" not in repr(image)
    assert "salty" not in repr(record)
