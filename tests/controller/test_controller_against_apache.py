"""The records and the errors of Apache's controller: the same story, told to ours, gives the same.

Ids and epochs differ by nature and are compared by the order in which they first appear.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ottla.common.errors import KafkaError
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.controller.settings import ControllerRequestContext, ControllerSettings
from ottla.metadata.bootstrap import BootstrapMetadata
from ottla.metadata.records import (
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)
from ottla.metadata.serde import decode_record
from ottla.protocol.message import Message
from ottla.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from ottla.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from ottla.protocol.messages.broker_registration import BrokerRegistrationRequest
from ottla.protocol.messages.broker_registration import Feature as RequestFeature
from ottla.protocol.messages.broker_registration import Listener as RequestListener
from ottla.protocol.messages.controller_registration import ControllerRegistrationRequest, Feature, Listener
from ottla.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from ottla.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from ottla.records.batch import batches
from ottla.records.record import decode_records
from tests.apache import driver
from tests.controller.controller_world import NODE_ID, World
from tests.node import CLUSTER_ID
from tests.oracle import Oracle

CHANGES = [
    driver.create_topic("orders", 3, {"retention.ms": "1234", "cleanup.policy": "compact"}),
    driver.create_topic("strict", 1, {"min.insync.replicas": "1"}),
    driver.create_topic("gone", 1, {"retention.ms": "1"}),
    driver.delete_topic("gone"),
    driver.create_partitions("orders", 4),
    driver.alter_configs("orders", ("DELETE", "cleanup.policy", ""), ("SET", "segment.bytes", "2000000")),
    driver.alter_configs("orders", ("APPEND", "cleanup.policy", "compact")),
    driver.alter_configs("orders", ("SUBTRACT", "cleanup.policy", "delete")),
    driver.alter_configs("", ("SET", "log.cleaner.threads", "2"), resource_type="BROKER"),
    driver.alter_configs("", ("SET", "min.insync.replicas", "2"), resource_type="BROKER"),
    driver.alter_configs("strict", ("SET", "min.insync.replicas", "2")),
]
REFUSED = [
    driver.create_topic("orders"),
    driver.create_topic("str ict"),
    driver.create_topic("a_b", 0),
    driver.create_topic("a_b", 1, {"retention.ms": "soon"}),
    driver.create_topic("a_b", 1, {"no.such.key": "1"}),
    driver.create_topic("many", 10_001),
    driver.create_topic("__cluster_metadata"),
    driver.delete_topic("gone"),
    driver.create_partitions("orders", 4),
    driver.create_partitions("orders", 2),
    driver.create_partitions("gone", 2),
    driver.alter_configs("orders", ("APPEND", "segment.bytes", "1")),
    driver.alter_configs("gone", ("SET", "segment.bytes", "2000000")),
    driver.alter_configs("orders", ("SET", "no.such.key", "2000000")),
    driver.alter_configs("", ("DELETE", "min.insync.replicas", ""), resource_type="BROKER"),
]
OUR_OWN_WORDS = {"a_b 1 {'retention.ms': 'soon'}"}
"""Values that do not parse: the error is the same, but names the value's type as our tables do."""

OPERATIONS = {"SET": 0, "DELETE": 1, "APPEND": 2, "SUBTRACT": 3}


@dataclass(frozen=True, slots=True)
class Story:
    """What Apache's controller wrote, but for its signs of life, and what it refused."""

    records: list[MetadataRecord]
    bootstrap: BootstrapMetadata
    refusals: list[dict[str, Any]]


def _records(file: Path) -> Iterator[MetadataRecord]:
    for batch in batches(file.read_bytes()):
        for record in () if batch.is_control else decode_records(batch):
            decoded = decode_record(record.value or b"")
            if not isinstance(decoded, NoOpRecord):
                yield decoded


@pytest.fixture(scope="module")
def story(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """A broker's first start, some changes, a clean shutdown, a second start and a crash."""
    with oracle.broker(tmp_path_factory.mktemp("apache"), {}) as broker:
        broker.drive(CHANGES)
        refusals = broker.drive([driver.or_error(operation) for operation in REFUSED])
        broker.drive([driver.open_producer("p"), driver.send("p", "orders", b"v", key=b"k"), driver.flush("p")])
        broker.stop()
        broker.start()
        broker.kill()
        (log,) = (broker.log_dir / "__cluster_metadata-0").glob("*.log")
        bootstrap = BootstrapMetadata.from_records(_records(broker.log_dir / "bootstrap.checkpoint"), "Apache")
        return Story(list(_records(log)), bootstrap, refusals)


class Teller:
    """Tells a controller of ours, one by one, what must have made Apache's write its records."""

    def __init__(self, story: Story) -> None:
        settings = ControllerSettings(node_id=NODE_ID, cluster_id=CLUSTER_ID, quorum_node_ids=(1,))
        self.world = World(settings, story.bootstrap)
        self.changes = iter(CHANGES)

    def tell(self, rest: Sequence[MetadataRecord]) -> list[MetadataRecord]:
        """The records that ours writes at this point, of which Apache's wrote the ``rest``."""
        before = len(self.world.raft.batches)
        # Partitions change because of what follows, or else went before with what they changed for.
        cause = next(record for record in rest if not isinstance(record, PartitionChangeRecord))
        if isinstance(cause, BeginTransactionRecord):
            self.world.raft.lead(1)
        elif isinstance(cause, RegisterControllerRecord):
            self._register_controller(cause)
        elif isinstance(cause, RegisterBrokerRecord):
            self._register_broker(cause)
        elif isinstance(cause, BrokerRegistrationChangeRecord):
            self._beat(cause)
        elif isinstance(cause, ProducerIdsRecord):
            request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=self._epoch)
            self.world.controller.allocate_producer_ids(ControllerRequestContext(), request).result()
        else:
            assert _code(self.change(next(self.changes))) == 0
        return [record for batch in self.world.raft.batches[before:] for record in batch.records]

    @property
    def _epoch(self) -> int:
        return self.world.controller.image.cluster.brokers[1].epoch

    def _register_controller(self, record: RegisterControllerRecord) -> None:
        request = ControllerRegistrationRequest(
            controller_id=record.controller_id,
            incarnation_id=record.incarnation_id,
            listeners=[Listener(**_fields(point)) for point in record.end_points],
            features=[Feature(**_fields(feature)) for feature in record.features],
        )
        self.world.controller.register_controller(ControllerRequestContext(), request).result()

    def _register_broker(self, record: RegisterBrokerRecord) -> None:
        registered = self.world.controller.image.cluster.broker_epoch(1)
        request = BrokerRegistrationRequest(
            broker_id=1,
            cluster_id=CLUSTER_ID,
            incarnation_id=record.incarnation_id,
            listeners=[RequestListener(**_fields(point)) for point in record.end_points],
            features=[RequestFeature(**_fields(feature)) for feature in record.features],
            rack=record.rack,
            log_dirs=record.log_dirs,
            previous_broker_epoch=registered,
        )
        self.world.clock.advance_ms(60_000)
        self.world.controller.register_broker(ControllerRequestContext(api_version=4), request).result()

    def _beat(self, change: BrokerRegistrationChangeRecord) -> None:
        fenced = self.world.controller.image.cluster.brokers[1].fenced
        request = BrokerHeartbeatRequest(
            broker_id=1,
            broker_epoch=self._epoch,
            current_metadata_offset=self.world.raft.log_end_offset - 1,
            want_fence=fenced and change.fenced != -1,
            want_shut_down=bool(change.in_controlled_shutdown) or change.fenced == 1,
            cordoned_log_dirs=change.cordoned_log_dirs,
        )
        self.world.controller.process_broker_heartbeat(ControllerRequestContext(), request).result()

    def change(self, operation: driver.Operation) -> Message:
        """Do what Apache's admin client was to do; its part of the response."""
        controller, context = self.world.controller, ControllerRequestContext(api_version=7, forwarded=True)
        kind, name = operation["op"], operation.get("topic", "")
        if kind == "create_topic":
            configs = [CreatableTopicConfig(name=key, value=value) for key, value in operation["configs"].items()]
            topic = CreatableTopic(
                name=name, num_partitions=operation["partitions"], replication_factor=1, configs=configs
            )
            return controller.create_topics(context, CreateTopicsRequest(topics=[topic])).result().topics[0]
        if kind == "delete_topic":
            states = [DeleteTopicState(name=name)]
            return controller.delete_topics(context, DeleteTopicsRequest(topics=states)).result().responses[0]
        if kind == "create_partitions":
            topics = [CreatePartitionsTopic(name=name, count=operation["count"], assignments=None)]
            return controller.create_partitions(context, CreatePartitionsRequest(topics=topics)).result().results[0]
        resource = AlterConfigsResource(
            resource_type={"TOPIC": 2, "BROKER": 4}[operation["type"]],
            resource_name=operation["name"],
            configs=[
                AlterableConfig(name=key, config_operation=OPERATIONS[change], value=value)
                for change, key, value in operation["changes"]
            ],
        )
        request = IncrementalAlterConfigsRequest(resources=[resource])
        return controller.incremental_alter_configs(context, request).result().responses[0]


class Labels:
    """Names ids and epochs by the order in which they first appear."""

    def __init__(self) -> None:
        self._labels: dict[object, str] = {}

    def plain(self, value: object, field: str = "") -> object:
        """A value to compare."""
        if isinstance(value, Message):
            return {"": type(value).__name__} | {name: self.plain(part, name) for name, part in _fields(value).items()}
        if isinstance(value, list | tuple):
            plain = [self.plain(part) for part in value]
            return sorted(plain, key=str) if field in ("features", "end_points") else plain
        is_id = (isinstance(value, Uuid) and value != ZERO_UUID) or field == "broker_epoch"
        return self._labels.setdefault((field, value), f"{field}#{len(self._labels)}") if is_id else value


def _fields(message: Message) -> dict[str, Any]:
    return {field.name: getattr(message, field.name) for field in type(message).schema.fields}


def _code(message: Any) -> int:
    assert message.error_message is None or message.error_code, message
    return int(message.error_code)


def _in_order(labels: Labels, records: Sequence[MetadataRecord]) -> list[object]:
    """Records to compare; one request's keys and partitions come in the order of Java's hash maps."""
    of_a_map = ("ConfigRecord", "PartitionChangeRecord")
    return sorted(
        (labels.plain(record) for record in records),
        key=lambda plain: str(plain) if plain[""] in of_a_map else "",  # type: ignore[index]
    )


@pytest.mark.oracle
def test_the_same_story_gives_the_same_records(story: Story) -> None:
    teller, our_labels, their_labels = Teller(story), Labels(), Labels()
    rest = story.records
    while rest:
        ours = teller.tell(rest)
        assert ours, f"ours writes nothing where Apache's wrote {rest[0]}"
        theirs, rest = rest[: len(ours)], rest[len(ours) :]
        assert _in_order(our_labels, ours) == _in_order(their_labels, theirs)
    assert next(teller.changes, None) is None, "Apache's log ends before the story does"
    kinds = {type(record).__name__ for record in story.records}
    assert {"PartitionChangeRecord", "ClearElrRecord", "ProducerIdsRecord", "RemoveTopicRecord"} <= kinds


@pytest.mark.oracle
def test_the_same_mistakes_give_the_same_errors(story: Story) -> None:
    teller = Teller(story)
    rest = story.records
    while not isinstance(rest[0], ProducerIdsRecord):  # the changes are made, and the broker still runs
        rest = rest[len(teller.tell(rest)) :]
    for operation, refusal in zip(REFUSED, story.refusals, strict=True):
        try:
            answer: Any = teller.change(operation)
            code, message = answer.error_code, answer.error_message
        except KafkaError as failure:
            code, message = failure.code, str(failure)
        assert code, f"{operation} is refused by Apache: {refusal}"
        described = " ".join(str(value) for key, value in operation.items() if key not in ("op", "or_error"))
        if described not in OUR_OWN_WORDS:
            # Clients say what a code means where the controller says nothing.
            assert (message or "This server does not host this topic-partition.") == refusal["message"], operation
