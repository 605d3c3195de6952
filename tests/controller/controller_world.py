"""A controller on a raft that commits when told, and a cluster to try operations on."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import TypeVar

from ottla.common.errors import KafkaError
from ottla.common.uuid import Uuid
from ottla.controller.quorum_controller import QuorumController
from ottla.controller.settings import ControllerRequestContext, ControllerSettings
from ottla.controller.state import ControllerState
from ottla.metadata.bootstrap import BootstrapMetadata
from ottla.metadata.features import ELIGIBLE_LEADER_REPLICAS_VERSION, SERVED_FEATURES, format_levels
from ottla.metadata.image import MetadataImage
from ottla.metadata.metadata_version import LATEST_PRODUCTION
from ottla.metadata.partition_registration import PartitionRegistration
from ottla.metadata.records import (
    BrokerFeature,
    FeatureLevelRecord,
    MetadataRecord,
    RegisterBrokerRecord,
)
from ottla.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from ottla.protocol.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener
from ottla.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ottla.raft.batch import CommittedBatch
from ottla.raft.errors import NotLeaderError
from ottla.runtime.completion import Completion
from ottla.runtime.inline import InlineRuntime, ManualClock

NODE_ID = 3000
CLUSTER_ID = "a-cluster"
SETTINGS = ControllerSettings(node_id=NODE_ID, cluster_id=CLUSTER_ID, quorum_node_ids=(NODE_ID,))
CONTEXT = ControllerRequestContext(api_version=7)
R = TypeVar("R", bound=MetadataRecord)
BOOTSTRAP = BootstrapMetadata.from_versions(LATEST_PRODUCTION, format_levels(), "a test")


def uuid(number: int) -> Uuid:
    """An id that is easy to read in a failure."""
    return Uuid.from_halves(1, number)


def directory(broker_id: int, number: int = 0) -> Uuid:
    """A broker's log directory."""
    return uuid(10_000 + broker_id * 10 + number)


def register_record(
    broker_id: int, *, fenced: bool = False, rack: str | None = None, directories: Sequence[Uuid] | None = None
) -> RegisterBrokerRecord:
    """A broker as the log has it."""
    return RegisterBrokerRecord(
        broker_id=broker_id,
        incarnation_id=uuid(broker_id),
        broker_epoch=100 + broker_id,
        rack=rack,
        fenced=fenced,
        log_dirs=[directory(broker_id)] if directories is None else directories,
        features=[
            BrokerFeature(name=name, min_supported_version=levels.lowest, max_supported_version=levels.highest)
            for name, levels in SERVED_FEATURES.items()
        ],
    )


def image_of(*records: MetadataRecord, elr: bool = True, level: int = LATEST_PRODUCTION) -> MetadataImage:
    """An image at the latest metadata.version, with eligible leader replicas unless told otherwise."""
    features = [
        FeatureLevelRecord(name="metadata.version", feature_level=level),
        FeatureLevelRecord(name=ELIGIBLE_LEADER_REPLICAS_VERSION, feature_level=int(elr)),
    ]
    return replayed(MetadataImage(), [*features, *records])


def replayed(image: MetadataImage, records: Sequence[MetadataRecord]) -> MetadataImage:
    """The image after some more records."""
    return ControllerState(image).replay(records, image.offset + 1, 1, 0).image


def all_of(kind: type[R], records: Sequence[MetadataRecord]) -> list[R]:
    """The records, each of which must be of one kind."""
    found = [record for record in records if isinstance(record, kind)]
    assert len(found) == len(records), records
    return found


def topic_request(
    name: str,
    partitions: int = 1,
    replication_factor: int = 1,
    configs: Mapping[str, str | None] | None = None,
    **fields: object,
) -> CreateTopicsRequest:
    """A request for one topic."""
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
        **fields,  # type: ignore[arg-type]
    )
    return CreateTopicsRequest(topics=[topic])


def registration(broker_id: int, *, incarnation: int | None = None, **fields: object) -> BrokerRegistrationRequest:
    """A broker's request to register, with everything that Ottla supports."""
    values: dict[str, object] = {
        "broker_id": broker_id,
        "cluster_id": CLUSTER_ID,
        "incarnation_id": uuid(broker_id if incarnation is None else incarnation),
        "listeners": [Listener(name="PLAINTEXT", host="localhost", port=9092, security_protocol=0)],
        "features": [
            Feature(name=name, min_supported_version=levels.lowest, max_supported_version=levels.highest)
            for name, levels in SERVED_FEATURES.items()
        ],
        "rack": None,
        "log_dirs": [directory(broker_id)],
    }
    return BrokerRegistrationRequest(**(values | fields))  # type: ignore[arg-type]


class FakeRaft:
    """A log of batches in memory, with the controller as its only listener."""

    kraft_version = 1

    def __init__(self) -> None:
        self.epoch: int | None = None
        self.batches: list[CommittedBatch[MetadataRecord]] = []
        self.committed = 0
        self.commits_at_once = True
        self.listener: object = None
        self.refusal: KafkaError | None = None

    @property
    def log_end_offset(self) -> int:
        """The next offset."""
        return self.batches[-1].last_offset + 1 if self.batches else 1

    @property
    def records(self) -> list[MetadataRecord]:
        """Everything that was appended."""
        return [record for batch in self.batches for record in batch.records]

    def schedule_append(self, epoch: int, records: Sequence[MetadataRecord]) -> int:
        """One batch; committed at once or when told."""
        if self.refusal is not None:
            raise self.refusal
        if epoch != self.epoch:
            raise NotLeaderError("not the leader")
        base_offset = self.log_end_offset
        last_offset = base_offset + len(records) - 1
        self.batches.append(CommittedBatch(base_offset, epoch, 0, tuple(records), last_offset, 1))
        if self.commits_at_once:
            self.commit()
        return last_offset

    def commit(self) -> None:
        """Commit everything."""
        while self.committed < len(self.batches):
            batch = self.batches[self.committed]
            self.committed += 1
            self.listener.handle_commit(batch)  # type: ignore[attr-defined]

    def drop_uncommitted(self) -> None:
        """What nobody committed is truncated."""
        del self.batches[self.committed :]

    def lead(self, epoch: int) -> None:
        """The controller's node wins an election."""
        self.epoch = epoch
        self.listener.handle_leader_change(NODE_ID, epoch)  # type: ignore[attr-defined]

    def lose(self, leader_id: int | None, epoch: int) -> None:
        """Another node does."""
        self.epoch = None
        self.listener.handle_leader_change(leader_id, epoch)  # type: ignore[attr-defined]


class World:
    """A controller, its raft and its clock."""

    def __init__(self, settings: ControllerSettings = SETTINGS, bootstrap: BootstrapMetadata = BOOTSTRAP) -> None:
        self.clock = ManualClock(1_700_000_000_000)
        self.raft = FakeRaft()
        runtime = InlineRuntime(clock=self.clock, rng=Random(7))
        self.controller = QuorumController(runtime, self.raft, settings, bootstrap)
        self.raft.listener = self.controller.listener

    @classmethod
    def active(cls, *broker_ids: int, settings: ControllerSettings = SETTINGS) -> "World":
        """An active controller with these brokers registered and unfenced."""
        world = cls(settings)
        world.raft.lead(1)
        for broker_id in broker_ids:
            epoch = world.register(broker_id)
            world.heartbeat(broker_id, epoch)
        return world

    def register(self, broker_id: int, **fields: object) -> int:
        """Register a broker; returns its epoch."""
        context = ControllerRequestContext(api_version=4)
        request = registration(broker_id, **fields)  # type: ignore[arg-type]
        return self.controller.register_broker(context, request).result().broker_epoch

    def heartbeat(self, broker_id: int, epoch: int, **fields: object) -> BrokerHeartbeatResponse:
        """One heartbeat of a broker that has read everything."""
        return self.beat(broker_id, epoch, **fields).result()

    def beat(self, broker_id: int, epoch: int, **fields: object) -> Completion[BrokerHeartbeatResponse]:
        """One heartbeat, perhaps not answered yet."""
        values: dict[str, object] = {"current_metadata_offset": self.raft.log_end_offset - 1, **fields}
        request = BrokerHeartbeatRequest(broker_id=broker_id, broker_epoch=epoch, **values)  # type: ignore[arg-type]
        return self.controller.process_broker_heartbeat(CONTEXT, request)

    def pass_ms(self, duration_ms: int) -> None:
        """Let time pass, with ticks as a live controller has them."""
        end_ms = self.clock.monotonic_ms() + duration_ms
        while True:
            wait_ms = self.controller.tick()
            now_ms = self.clock.monotonic_ms()
            if now_ms + wait_ms > end_ms:
                self.clock.advance_ms(end_ms - now_ms)
                return
            self.clock.advance_ms(wait_ms)

    @property
    def image(self) -> MetadataImage:
        """What is committed."""
        return self.controller.image

    def partition(self, topic: str, index: int = 0) -> PartitionRegistration:
        """A partition that is committed."""
        found = self.image.topics.partition(topic, index)
        assert found is not None, (topic, index)
        return found
