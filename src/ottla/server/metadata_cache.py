"""What this broker knows of the cluster: the latest metadata image, in the shapes that clients ask for."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.common.internal_topics import INTERNAL_TOPICS
from ottla.metadata.endpoint import Endpoint
from ottla.metadata.features import KRAFT_VERSION, METADATA_VERSION
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metadata.loader import MetadataPublisher
from ottla.metadata.manifest import LoaderManifest
from ottla.metadata.partition_registration import PartitionRegistration
from ottla.protocol.messages.metadata import MetadataResponsePartition, MetadataResponseTopic

NO_LEADER: Final = -1


class Node(NamedTuple):
    """A broker as clients of one listener reach it."""

    id: int
    endpoint: Endpoint
    rack: str | None


class Leader(NamedTuple):
    """Who leads a partition, as far as is known; −1 for what is not."""

    id: int
    epoch: int
    node: Node | None


class ListenerView:
    """Replicas and leaders as one listener's clients can reach them."""

    def __init__(self, image: MetadataImage, listener_name: str) -> None:
        brokers = image.cluster.brokers
        self._brokers = brokers
        self._with_listener = {id_ for id_, broker in brokers.items() if listener_name in broker.listeners}
        self._reachable = {id_ for id_ in self._with_listener if not brokers[id_].fenced}

    def leader(self, partition: PartitionRegistration) -> int:
        """The leader's id, or −1 where it cannot be reached."""
        return partition.leader if partition.leader in self._with_listener else NO_LEADER

    def offline(self, partition: PartitionRegistration) -> list[int]:
        """The replicas that are fenced, missing, without this listener or on a failed disk."""
        offline = []
        for replica, directory in zip(partition.replicas, partition.directories, strict=True):
            if replica not in self._reachable or not self._brokers[replica].has_online_dir(directory):
                offline.append(replica)
        return offline

    def partition(
        self, index: int, partition: PartitionRegistration, list_unavailable: bool, missing: ErrorCode
    ) -> MetadataResponsePartition:
        """One partition, with the error that its state is for clients."""
        replicas: Sequence[int] = partition.replicas
        isr: Sequence[int] = partition.isr
        if not list_unavailable:
            replicas = [replica for replica in replicas if replica in self._reachable]
            isr = [replica for replica in isr if replica in self._reachable]
        leader = self.leader(partition)
        error = ErrorCode.NONE
        if leader == NO_LEADER:
            error = missing if partition.leader in self._brokers else ErrorCode.LEADER_NOT_AVAILABLE
        elif len(replicas) < len(partition.replicas) or len(isr) < len(partition.isr):
            error = ErrorCode.REPLICA_NOT_AVAILABLE
        return MetadataResponsePartition(
            error_code=error,
            partition_index=index,
            leader_id=leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=replicas,
            isr_nodes=isr,
            offline_replicas=self.offline(partition),
        )


class MetadataCache(MetadataPublisher):
    """The image is replaced as a whole by each publication, so whoever reads takes it once."""

    def __init__(self, owner: str, kraft_version: Callable[[], int]) -> None:
        self.name = f"MetadataCache of the {owner}"
        self.image = MetadataImage()
        self._kraft_version = kraft_version

    def finalized_features(self) -> dict[str, int]:
        """The levels of all features in force, by name."""
        features = self.image.features
        levels = dict(features.finalized_versions)
        if features.metadata_version_or_none is not None:
            levels[METADATA_VERSION] = int(features.metadata_version_or_none)
        kraft_version = self._kraft_version()
        if kraft_version > 0:
            levels[KRAFT_VERSION] = kraft_version
        return dict(sorted(levels.items()))

    def publish(self, delta: MetadataDelta, new_image: MetadataImage, manifest: LoaderManifest) -> None:  # noqa: ARG002
        """Show the new image from now on."""
        self.image = new_image

    def alive_brokers(self, listener_name: str) -> list[Node]:
        """The brokers that are not fenced and have this listener, by id."""
        found = []
        for broker in self.image.cluster.brokers.values():
            endpoint = broker.listeners.get(listener_name)
            if endpoint is not None and not broker.fenced:
                found.append(Node(broker.id, endpoint, broker.rack))
        return sorted(found)

    def alive_broker(self, broker_id: int, listener_name: str) -> Node | None:
        """A broker as clients of a listener reach it; None if it is fenced, unknown or has no such listener."""
        broker = self.image.cluster.brokers.get(broker_id)
        endpoint = broker.listeners.get(listener_name) if broker is not None and not broker.fenced else None
        return Node(broker.id, endpoint, broker.rack) if broker is not None and endpoint is not None else None

    def topic_metadata(
        self, names: Iterable[str], listener_name: str, *, list_unavailable: bool, name_missing_listener: bool
    ) -> list[MetadataResponseTopic]:
        """The topics among ``names`` that exist.

        Version 0 of Metadata wants only replicas that can be reached (``list_unavailable`` false); from version 6 on, a
        leader without the listener is told apart from one that is not there.
        """
        image = self.image
        missing = ErrorCode.LISTENER_NOT_FOUND if name_missing_listener else ErrorCode.LEADER_NOT_AVAILABLE
        view = ListenerView(image, listener_name)
        topics = []
        for name in names:
            topic = image.topics.by_name.get(name)
            if topic is None:
                continue
            partitions = [
                view.partition(index, partition, list_unavailable, missing)
                for index, partition in sorted(topic.partitions.items())
            ]
            topics.append(
                MetadataResponseTopic(
                    name=name, topic_id=topic.id, is_internal=name in INTERNAL_TOPICS, partitions=partitions
                )
            )
        return topics

    def listener_view(self, listener_name: str) -> ListenerView:
        """The image as clients of one listener see it."""
        return ListenerView(self.image, listener_name)

    def current_leader(self, topic: str, partition: int, listener_name: str) -> Leader:
        """The leader of a partition, and how clients of a listener reach it."""
        registration = self.image.topics.partition(topic, partition)
        if registration is None:
            return Leader(NO_LEADER, -1, None)
        broker = self.image.cluster.brokers.get(registration.leader)
        endpoint = broker.listeners.get(listener_name) if broker is not None else None
        node = Node(broker.id, endpoint, broker.rack) if broker is not None and endpoint is not None else None
        return Leader(registration.leader, registration.leader_epoch, node)
