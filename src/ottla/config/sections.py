"""Broker keys as typed attributes, grouped by who reads them."""

from ottla.config.address_validators import parse_bootstrap_servers, parse_connection_overrides, parse_quorum_voters
from ottla.config.addresses import Address, parse_address
from ottla.config.broker_keys import BROKER_CONFIG
from ottla.config.config_section import ConfigSection


class BrokerSection(ConfigSection):
    """Values of some broker keys."""

    _table = BROKER_CONFIG


class NetworkConfig(BrokerSection):
    """What the socket server and connections to other nodes need; a listener may have one of its own."""

    socket_send_buffer_bytes: int
    socket_receive_buffer_bytes: int
    socket_request_max_bytes: int
    socket_listen_backlog_size: int
    max_connections_per_ip: int
    max_connections_per_ip_overrides: dict[str, int]
    max_connections: int
    max_connection_creation_rate: int
    connections_max_idle_ms: int
    connection_failed_authentication_delay_ms: int
    queued_max_requests: int
    queued_max_request_bytes: int
    num_network_threads: int
    num_io_threads: int
    quota_window_num: int
    quota_window_size_seconds: int
    ottla_send_mode: str
    request_timeout_ms: int
    socket_connection_setup_timeout_ms: int
    socket_connection_setup_timeout_max_ms: int

    _parsed = {"max_connections_per_ip_overrides": parse_connection_overrides}  # noqa: RUF012 - as in the base class


class KraftConfig(BrokerSection):
    """Who this node is, where the quorum is, and how the metadata log is kept."""

    process_roles: tuple[str, ...]
    node_id: int
    controller_listener_names: tuple[str, ...]
    controller_quorum_voters: dict[int, Address]
    controller_quorum_bootstrap_servers: tuple[Address, ...]
    controller_quorum_election_timeout_ms: int
    controller_quorum_fetch_timeout_ms: int
    controller_quorum_election_backoff_max_ms: int
    controller_quorum_append_linger_ms: int
    controller_quorum_request_timeout_ms: int
    controller_quorum_retry_backoff_ms: int
    controller_quorum_auto_join_enable: bool
    controller_quorum_fetch_max_bytes: int
    controller_quorum_fetch_snapshot_max_bytes: int
    initial_broker_registration_timeout_ms: int
    broker_heartbeat_interval_ms: int
    broker_session_timeout_ms: int
    server_max_startup_time_ms: int
    controller_performance_sample_period_ms: int
    controller_performance_always_log_threshold_ms: int
    metadata_log_dir: str | None
    metadata_log_max_record_bytes_between_snapshots: int
    metadata_log_max_snapshot_interval_ms: int
    metadata_log_segment_bytes: int
    metadata_log_segment_ms: int
    metadata_max_retention_bytes: int
    metadata_max_retention_ms: int
    metadata_max_idle_interval_ms: int
    internal_metadata_log_segment_bytes: int | None
    internal_metadata_max_batch_size_in_bytes: int
    internal_metadata_delete_delay_millis: int

    _parsed = {  # noqa: RUF012 - as in the base class
        "controller_quorum_voters": parse_quorum_voters,
        "controller_quorum_bootstrap_servers": parse_bootstrap_servers,
    }

    @property
    def is_broker(self) -> bool:
        """Whether this node has the broker role."""
        return "broker" in self.process_roles

    @property
    def is_controller(self) -> bool:
        """Whether this node has the controller role."""
        return "controller" in self.process_roles

    @property
    def metadata_segment_bytes(self) -> int:
        """The segment size of the metadata log in force."""
        return self.internal_metadata_log_segment_bytes or self.metadata_log_segment_bytes


class ServerConfig(BrokerSection):
    """What the request handlers and the broker's life cycle need."""

    auto_create_topics_enable: bool
    num_partitions: int
    default_replication_factor: int
    min_insync_replicas: int
    delete_topic_enable: bool
    fetch_max_bytes: int
    max_incremental_fetch_session_cache_slots: int
    max_request_partition_size_limit: int
    fetch_purgatory_purge_interval_requests: int
    producer_purgatory_purge_interval_requests: int
    delete_records_purgatory_purge_interval_requests: int
    controlled_shutdown_enable: bool
    broker_rack: str | None
    metrics_listener: Address | None
    unstable_api_versions_enable: bool
    unstable_feature_versions_enable: bool

    _parsed = {  # noqa: RUF012 - as in the base class
        "metrics_listener": lambda text: None if text is None else parse_address(text)
    }


class ReplicationConfig(BrokerSection):
    """What followers, the ISR and elections need."""

    replica_lag_time_max_ms: int
    replica_socket_timeout_ms: int
    replica_socket_receive_buffer_bytes: int
    replica_fetch_max_bytes: int
    replica_fetch_wait_max_ms: int
    replica_fetch_min_bytes: int
    replica_fetch_response_max_bytes: int
    replica_fetch_backoff_ms: int
    num_replica_fetchers: int
    replica_high_watermark_checkpoint_interval_ms: int
    auto_leader_rebalance_enable: bool
    leader_imbalance_check_interval_seconds: int
    unclean_leader_election_interval_ms: int
    unclean_leader_election_enable: bool
    controller_socket_timeout_ms: int
    replica_selector_class: str | None
    num_replica_alter_log_dirs_threads: int | None


class GroupCoordinatorConfig(BrokerSection):
    """What groups and their offsets need; consumer groups may have settings of their own beside these."""

    group_min_session_timeout_ms: int
    group_max_session_timeout_ms: int
    group_initial_rebalance_delay_ms: int
    group_max_size: int
    group_coordinator_rebalance_protocols: tuple[str, ...]
    group_consumer_session_timeout_ms: int
    group_consumer_min_session_timeout_ms: int
    group_consumer_max_session_timeout_ms: int
    group_consumer_heartbeat_interval_ms: int
    group_consumer_min_heartbeat_interval_ms: int
    group_consumer_max_heartbeat_interval_ms: int
    group_consumer_assignment_interval_ms: int
    group_consumer_min_assignment_interval_ms: int
    group_consumer_max_assignment_interval_ms: int
    group_consumer_max_size: int
    group_consumer_assignors: tuple[str, ...]
    group_consumer_migration_policy: str
    group_consumer_regex_refresh_interval_ms: int
    offset_metadata_max_bytes: int
    offsets_load_buffer_size: int
    offsets_commit_timeout_ms: int
    offsets_retention_minutes: int
    offsets_retention_check_interval_ms: int
    offsets_topic_num_partitions: int
    offsets_topic_replication_factor: int
    offsets_topic_segment_bytes: int
    offsets_topic_compression_codec: int

    @property
    def offsets_retention_ms(self) -> int:
        """How long the offsets of an empty group are kept."""
        return self.offsets_retention_minutes * 60_000


class TransactionConfig(BrokerSection):
    """What the transaction coordinator needs."""

    transactional_id_expiration_ms: int
    transaction_max_timeout_ms: int
    transaction_state_log_num_partitions: int
    transaction_state_log_replication_factor: int
    transaction_state_log_min_isr: int
    transaction_state_log_segment_bytes: int
    transaction_state_log_load_buffer_size: int
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int
    transaction_remove_expired_transaction_cleanup_interval_ms: int
    transaction_two_phase_commit_enable: bool
    transaction_partition_verification_enable: bool
    add_partitions_to_txn_retry_backoff_ms: int
    add_partitions_to_txn_retry_backoff_max_ms: int
