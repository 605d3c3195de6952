"""The admin client for asyncio."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from ottla.clients.admin.acls import AclsPart
from ottla.clients.admin.caller import ClusterCaller
from ottla.clients.admin.cluster import ClusterPart
from ottla.clients.admin.configs import ConfigsPart
from ottla.clients.admin.elections import ElectionsPart
from ottla.clients.admin.features import FeaturesPart
from ottla.clients.admin.group_descriptions import GroupDescriptionsPart
from ottla.clients.admin.group_members import GroupMembersPart
from ottla.clients.admin.group_offsets import GroupOffsetsPart
from ottla.clients.admin.groups import GroupsPart
from ottla.clients.admin.log_dirs import LogDirsPart
from ottla.clients.admin.offsets import OffsetsPart
from ottla.clients.admin.partitions import PartitionsPart
from ottla.clients.admin.producers import ProducersPart
from ottla.clients.admin.quorum import QuorumPart
from ottla.clients.admin.quotas import QuotasPart
from ottla.clients.admin.reassignments import ReassignmentsPart
from ottla.clients.admin.scram import ScramPart
from ottla.clients.admin.tokens import TokensPart
from ottla.clients.admin.topic_descriptions import TopicDescriptionsPart
from ottla.clients.admin.topics import TopicsPart
from ottla.clients.admin.transactions import TransactionsPart
from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.config.client_configs import AdminConfig
from ottla.runtime.port import Runtime

if TYPE_CHECKING:
    from ottla.clients.security import TokenProvider


class Admin(
    TopicsPart,
    TopicDescriptionsPart,
    PartitionsPart,
    OffsetsPart,
    ConfigsPart,
    ClusterPart,
    GroupsPart,
    GroupMembersPart,
    GroupDescriptionsPart,
    GroupOffsetsPart,
    LogDirsPart,
    FeaturesPart,
    QuorumPart,
    ProducersPart,
    TransactionsPart,
    ElectionsPart,
    ReassignmentsPart,
    QuotasPart,
    ScramPart,
    AclsPart,
    TokensPart,
):
    """New → ``start`` → started → ``close``; as a context manager both are done for you.

    ``async with Admin(bootstrap_servers="host:9092") as admin: await admin.create_topics([NewTopic("orders", 6)])``.
    With ``bootstrap_controllers`` instead, controllers are asked: they answer for the quorum, features and configs.

    Every method takes ``timeout_ms`` (``default.api.timeout.ms`` unless given), tries again what may help, and raises
    KafkaTimeoutError when the time is up. Methods on several things raise the first error, or with
    ``raise_errors=False`` give errors as values. What a broker does not speak is an UnsupportedVersionError.
    """

    __slots__ = ("_cluster", "config")

    _caller: ClusterCaller

    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        /,
        *,
        token_provider: "TokenProvider | None" = None,
        runtime: Runtime | None = None,
        **keywords: object,
    ) -> None:
        """Kafka's keys in a dict, or as keywords with underscores, which win; InvalidConfigError if they are wrong.

        ``token_provider`` gives OAUTHBEARER its tokens, in place of keys.
        """
        self.config = AdminConfig.parse(config, keywords)
        self._cluster = ClusterClient(
            self.config.common, runtime, allow_auto_topic_creation=False, token_provider=token_provider
        )
        self._caller = ClusterCaller(self._cluster, self.config)

    async def start(self) -> None:
        """Find the cluster; KafkaTimeoutError if no bootstrap server answers in ``default.api.timeout.ms``."""
        try:
            await self._cluster.start(timeout_ms=self.config.default_api_timeout_ms)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close all connections; calls under way get a ClientClosedError."""
        self._caller.close()
        await self._cluster.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
