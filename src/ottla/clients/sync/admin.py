"""The admin client for plain code: the asyncio client's methods without ``await``."""

from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from ottla.clients.admin.admin import Admin as AsyncAdmin
from ottla.clients.sync.runner import Runner
from ottla.config.client_configs import AdminConfig

if TYPE_CHECKING:
    from ottla.clients.security import TokenProvider

P = ParamSpec("P")
R = TypeVar("R")


def blocking(
    method: Callable[Concatenate[AsyncAdmin, P], Coroutine[Any, Any, R]],
) -> "Callable[Concatenate[Admin, P], R]":
    """A method of the asyncio client that returns when it is done; its parameters, types and docstring are the same."""

    @wraps(method)
    def call(self: "Admin", /, *args: P.args, **keywords: P.kwargs) -> R:
        return self._runner.run(method(self._admin, *args, **keywords))

    return call


class Admin:
    """New → ``start`` → started → ``close``; as a context manager both are done for you. Any thread may call it.

    ``with Admin(bootstrap_servers="host:9092") as admin: admin.create_topics([NewTopic("orders", 6)])``. What each
    method does, and how errors are told, is the same as in the asyncio client, whose methods these are.
    """

    __slots__ = ("_admin", "_is_closed", "_runner")

    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        /,
        *,
        token_provider: "TokenProvider | None" = None,
        **keywords: object,
    ) -> None:
        """Kafka's keys in a dict, or as keywords with underscores, which win; InvalidConfigError if they are wrong.

        ``token_provider`` gives OAUTHBEARER its tokens, in place of keys; it is called in the client's own thread.
        """
        self._runner = Runner()
        self._is_closed = False
        try:
            self._admin = self._runner.call(
                lambda: AsyncAdmin(config, token_provider=token_provider, runtime=None, **keywords)
            )
        except BaseException:
            self._runner.close()
            raise
        self._runner.close_with(self._admin.close)

    @property
    def config(self) -> AdminConfig:
        """What the client was given, and defaults for the rest."""
        return self._admin.config

    def start(self) -> None:
        """Find the cluster; KafkaTimeoutError if no bootstrap server answers in ``default.api.timeout.ms``."""
        self._runner.run(self._admin.start())

    def close(self) -> None:
        """Close all connections; calls under way in other threads get a ClientClosedError. Closing again is fine."""
        if not self._is_closed and self._runner.is_open:
            self._runner.refuse_own_thread()
            self._is_closed = True
            try:
                self._runner.run(self._admin.close())
            finally:
                self._runner.close()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    create_topics = blocking(AsyncAdmin.create_topics)
    delete_topics = blocking(AsyncAdmin.delete_topics)
    delete_topics_by_id = blocking(AsyncAdmin.delete_topics_by_id)
    list_topics = blocking(AsyncAdmin.list_topics)

    describe_topics = blocking(AsyncAdmin.describe_topics)
    describe_topics_by_id = blocking(AsyncAdmin.describe_topics_by_id)

    create_partitions = blocking(AsyncAdmin.create_partitions)
    delete_records = blocking(AsyncAdmin.delete_records)

    list_offsets = blocking(AsyncAdmin.list_offsets)

    describe_configs = blocking(AsyncAdmin.describe_configs)
    alter_configs = blocking(AsyncAdmin.alter_configs)
    list_config_resources = blocking(AsyncAdmin.list_config_resources)

    describe_cluster = blocking(AsyncAdmin.describe_cluster)
    describe_api_versions = blocking(AsyncAdmin.describe_api_versions)
    unregister_broker = blocking(AsyncAdmin.unregister_broker)

    list_groups = blocking(AsyncAdmin.list_groups)
    delete_groups = blocking(AsyncAdmin.delete_groups)
    remove_members = blocking(AsyncAdmin.remove_members)

    describe_consumer_groups = blocking(AsyncAdmin.describe_consumer_groups)
    describe_classic_groups = blocking(AsyncAdmin.describe_classic_groups)

    list_group_offsets = blocking(AsyncAdmin.list_group_offsets)
    alter_group_offsets = blocking(AsyncAdmin.alter_group_offsets)
    delete_group_offsets = blocking(AsyncAdmin.delete_group_offsets)

    describe_log_dirs = blocking(AsyncAdmin.describe_log_dirs)
    alter_replica_log_dirs = blocking(AsyncAdmin.alter_replica_log_dirs)

    describe_features = blocking(AsyncAdmin.describe_features)
    update_features = blocking(AsyncAdmin.update_features)

    describe_metadata_quorum = blocking(AsyncAdmin.describe_metadata_quorum)
    add_raft_voter = blocking(AsyncAdmin.add_raft_voter)
    remove_raft_voter = blocking(AsyncAdmin.remove_raft_voter)

    describe_producers = blocking(AsyncAdmin.describe_producers)
    fence_producers = blocking(AsyncAdmin.fence_producers)

    list_transactions = blocking(AsyncAdmin.list_transactions)
    describe_transactions = blocking(AsyncAdmin.describe_transactions)
    end_transactions = blocking(AsyncAdmin.end_transactions)
    abort_transaction = blocking(AsyncAdmin.abort_transaction)

    elect_leaders = blocking(AsyncAdmin.elect_leaders)

    alter_partition_reassignments = blocking(AsyncAdmin.alter_partition_reassignments)
    list_partition_reassignments = blocking(AsyncAdmin.list_partition_reassignments)

    describe_client_quotas = blocking(AsyncAdmin.describe_client_quotas)
    alter_client_quotas = blocking(AsyncAdmin.alter_client_quotas)

    describe_user_scram_credentials = blocking(AsyncAdmin.describe_user_scram_credentials)
    alter_user_scram_credentials = blocking(AsyncAdmin.alter_user_scram_credentials)

    create_acls = blocking(AsyncAdmin.create_acls)
    describe_acls = blocking(AsyncAdmin.describe_acls)
    delete_acls = blocking(AsyncAdmin.delete_acls)

    create_delegation_token = blocking(AsyncAdmin.create_delegation_token)
    renew_delegation_token = blocking(AsyncAdmin.renew_delegation_token)
    expire_delegation_token = blocking(AsyncAdmin.expire_delegation_token)
    describe_delegation_token = blocking(AsyncAdmin.describe_delegation_token)
