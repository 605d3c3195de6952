"""Random histories of a metadata log that fit together: every record makes sense after those before it."""

from collections.abc import Callable, Iterator
from hashlib import sha256
from random import Random

from ottla.common.uuid import Uuid
from ottla.metadata import records as r
from ottla.metadata.image import EMPTY_IMAGE, ConfigResourceType, MetadataDelta, MetadataImage, MetadataProvenance
from ottla.metadata.metadata_version import LATEST_PRODUCTION

BROKERS = range(1, 6)
NAMES = ("alpha", "beta", "gamma", "delta", "")


class History:
    """Makes records one by one; ``image`` is always the image after the last."""

    def __init__(self, rng: Random, salt: str = "") -> None:
        self.rng = rng
        self._salt = salt
        self._ids = 0
        self.image = EMPTY_IMAGE
        self.pending: list[r.MetadataRecord] = []

    def deltas(self, count: int, size: int) -> Iterator[list[r.MetadataRecord]]:
        """``count`` lists of up to ``size`` records; the first begins with the feature levels."""
        self.emit(r.FeatureLevelRecord(name="metadata.version", feature_level=int(LATEST_PRODUCTION)))
        self.emit(r.FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1))
        for _ in range(count):
            for _ in range(self.rng.randint(1, size)):
                self.rng.choice(MAKERS)(self)
            yield self.pending
            self.pending = []

    def emit(self, record: r.MetadataRecord) -> None:
        """Add a record and replay it."""
        self.pending.append(record)
        delta = MetadataDelta(self.image)
        delta.replay(record)
        self.image = delta.apply(MetadataProvenance())

    def uuid(self) -> Uuid:
        """A new id; never drawn, since Hypothesis likes to draw the same twice."""
        self._ids += 1
        return Uuid(sha256(f"{self._salt}{self._ids}".encode()).digest()[:16])

    def some_brokers(self, low: int = 1) -> list[int]:
        """A few broker ids in any order."""
        return self.rng.sample(BROKERS, self.rng.randint(low, 4))

    def topic(self) -> None:
        name = self.rng.choice(NAMES[:-1])
        if name in self.image.topics.by_name:
            self.emit(r.RemoveTopicRecord(topic_id=self.image.topics.by_name[name].id))
            if self.rng.random() < 0.5:
                return
        topic_id = self.uuid()
        self.emit(r.TopicRecord(name=name, topic_id=topic_id))
        for index in range(self.rng.randint(1, 3)):
            self.partition(topic_id, index)

    def partition(self, topic_id: Uuid, index: int) -> None:
        replicas = self.some_brokers()
        self.emit(
            r.PartitionRecord(
                topic_id=topic_id,
                partition_id=index,
                replicas=replicas,
                isr=replicas[:2],
                removing_replicas=self.rng.choice(([], replicas[:1])),
                adding_replicas=self.rng.choice(([], replicas[-1:])),
                leader=replicas[0],
                leader_epoch=self.rng.randint(0, 3),
                partition_epoch=self.rng.randint(0, 3),
                leader_recovery_state=self.rng.randint(0, 1),
                directories=self.rng.choice(([], [self.uuid() for _ in replicas], [Uuid(bytes(16)) for _ in replicas])),
                eligible_leader_replicas=self.rng.choice((None, [], [replicas[-1]])),
                last_known_elr=self.rng.choice((None, [], [replicas[0]])),
            )
        )

    def partition_change(self) -> None:
        topics = list(self.image.topics.by_id.values())
        if not topics:
            return
        topic = self.rng.choice(topics)
        index = self.rng.choice(list(topic.partitions))
        if self.rng.random() < 0.2:
            self.partition(topic.id, self.rng.choice((index, len(topic.partitions))))
            return
        partition = topic.partitions[index]
        replicas = self.rng.choice((None, self.some_brokers()))
        directories = self.rng.choice((None, [self.uuid() for _ in replicas or partition.replicas]))
        if replicas is not None and len(replicas) != len(partition.replicas) and directories is None:
            directories = []
        self.emit(
            r.PartitionChangeRecord(
                topic_id=topic.id,
                partition_id=index,
                isr=self.rng.choice((None, [partition.replicas[0]], [])),
                leader=self.rng.choice((-2, -1, *partition.replicas)),
                replicas=replicas,
                removing_replicas=self.rng.choice((None, [], [1])),
                adding_replicas=self.rng.choice((None, [], [2])),
                leader_recovery_state=self.rng.choice((-1, 0, 1)),
                directories=directories,
                eligible_leader_replicas=self.rng.choice((None, [], [3])),
                last_known_elr=self.rng.choice((None, [], [4])),
            )
        )

    def clear_elr(self) -> None:
        self.emit(r.ClearElrRecord(topic_name=self.rng.choice(("", *self.image.topics.by_name))))

    def broker(self) -> None:
        broker_id = self.rng.choice(BROKERS)
        known = self.image.cluster.brokers.get(broker_id)
        choice = self.rng.randrange(6)
        if known is None or choice < 2:
            self.register_broker(broker_id)
        elif choice == 2:
            self.emit(r.UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=known.epoch))
        elif choice == 3:
            fence = self.rng.choice((r.FenceBrokerRecord, r.UnfenceBrokerRecord))
            self.emit(fence(id=broker_id, epoch=known.epoch))
        else:
            self.emit(
                r.BrokerRegistrationChangeRecord(
                    broker_id=broker_id,
                    broker_epoch=known.epoch,
                    fenced=self.rng.choice((-1, 0, 1)),
                    in_controlled_shutdown=self.rng.choice((0, 1)),
                    log_dirs=self.rng.choice(([], [self.uuid(), self.uuid(), self.uuid()])),
                    cordoned_log_dirs=self.rng.choice((None, [], [self.uuid()])),
                )
            )

    def register_broker(self, broker_id: int) -> None:
        self.emit(
            r.RegisterBrokerRecord(
                broker_id=broker_id,
                incarnation_id=self.uuid(),
                broker_epoch=self.rng.randrange(1 << 40),
                end_points=[
                    r.BrokerEndpoint(name=name, host="h", port=65535, security_protocol=self.rng.randrange(4))
                    for name in ("PLAINTEXT", "SSL")[: self.rng.randint(1, 2)]
                ],
                features=[r.BrokerFeature(name="metadata.version", min_supported_version=7, max_supported_version=30)],
                rack=self.rng.choice((None, "", "rack")),
                fenced=self.rng.random() < 0.5,
                in_controlled_shutdown=self.rng.random() < 0.5,
                is_migrating_zk_broker=self.rng.random() < 0.1,
                log_dirs=[self.uuid() for _ in range(self.rng.randrange(4))],
                cordoned_log_dirs=self.rng.choice((None, [], [self.uuid()])),
            )
        )

    def controller(self) -> None:
        self.emit(
            r.RegisterControllerRecord(
                controller_id=self.rng.choice(BROKERS),
                incarnation_id=self.uuid(),
                zk_migration_ready=self.rng.random() < 0.2,
                end_points=[r.ControllerEndpoint(name="CONTROLLER", host="c", port=9093)],
                features=[r.ControllerFeature(name="kraft.version", max_supported_version=1)],
            )
        )

    def config(self) -> None:
        self.emit(
            r.ConfigRecord(
                resource_type=self.rng.choice([kind for kind in ConfigResourceType if kind]),
                resource_name=self.rng.choice(NAMES),
                name=self.rng.choice(("a.b", "c.d")),
                value=self.rng.choice((None, "", "1", "zwei")),
            )
        )

    def feature(self) -> None:
        name = self.rng.choice(("group.version", "kraft.version", "transaction.version"))
        self.emit(r.FeatureLevelRecord(name=name, feature_level=self.rng.randrange(2)))

    def client_quota(self) -> None:
        kinds = self.rng.choice((["user"], ["client-id", "user"], ["user", "client-id"], ["ip"]))
        self.emit(
            r.ClientQuotaRecord(
                entity=[r.EntityData(entity_type=kind, entity_name=self.rng.choice((None, "x"))) for kind in kinds],
                key=self.rng.choice(("producer_byte_rate", "consumer_byte_rate")),
                value=self.rng.random() * 1e6,
                remove=self.rng.random() < 0.4,
            )
        )

    def producer_ids(self) -> None:
        self.emit(r.ProducerIdsRecord(broker_id=1, broker_epoch=2, next_producer_id=self.rng.randrange(1 << 40)))

    def acl(self) -> None:
        known = list(self.image.acls.acls)
        if known and self.rng.random() < 0.5:
            self.emit(r.RemoveAccessControlEntryRecord(id=self.rng.choice(known)))
            return
        self.emit(
            r.AccessControlEntryRecord(
                id=self.uuid(),
                resource_type=self.rng.randint(2, 7),
                resource_name="*",
                pattern_type=self.rng.randint(3, 4),
                principal="User:alice",
                host="*",
                operation=self.rng.randint(2, 12),
                permission_type=self.rng.randint(2, 3),
            )
        )

    def scram(self) -> None:
        name, mechanism = self.rng.choice(("alice", "bob")), self.rng.randint(1, 2)
        if self.rng.random() < 0.4:
            self.emit(r.RemoveUserScramCredentialRecord(name=name, mechanism=mechanism))
            return
        self.emit(
            r.UserScramCredentialRecord(
                name=name,
                mechanism=mechanism,
                salt=self.rng.randbytes(8),
                stored_key=self.rng.randbytes(32),
                server_key=self.rng.randbytes(32),
                iterations=4096,
            )
        )

    def token(self) -> None:
        token_id = self.rng.choice(("t1", "t2", "t3"))
        if self.rng.random() < 0.4:
            self.emit(r.RemoveDelegationTokenRecord(token_id=token_id))
            return
        self.emit(
            r.DelegationTokenRecord(
                owner="User:alice",
                requester="User:bob",
                renewers=["User:carol"] * self.rng.randrange(2),
                issue_timestamp=self.rng.randrange(1 << 40),
                max_timestamp=self.rng.randrange(1 << 40),
                expiration_timestamp=self.rng.randrange(1 << 40),
                token_id=token_id,
            )
        )

    def ignored(self) -> None:
        self.emit(self.rng.choice((r.NoOpRecord(), r.ZkMigrationStateRecord(zk_migration_state=3))))


MAKERS: list[Callable[[History], None]] = [
    History.topic,
    History.topic,
    History.partition_change,
    History.partition_change,
    History.partition_change,
    History.clear_elr,
    History.broker,
    History.broker,
    History.controller,
    History.config,
    History.config,
    History.feature,
    History.client_quota,
    History.producer_ids,
    History.acl,
    History.scram,
    History.token,
    History.ignored,
]


def replayed(image: MetadataImage, records: list[r.MetadataRecord]) -> MetadataImage:
    """The image after one delta of all records."""
    delta = MetadataDelta(image)
    for record in records:
        delta.replay(record)
    return delta.apply(MetadataProvenance())
