"""The configurations of clients, typed: what is given as Kafka's keys, checked, with Apache's defaults for the rest."""

from collections.abc import Mapping
from itertools import count
from typing import Any, Final, Self

from ottla.config.addresses import Address
from ottla.config.admin_keys import ADMIN_CONFIG
from ottla.config.client_config_rules import (
    admin_rules,
    common_rules,
    consumer_rules,
    parse_servers,
    producer_rules,
)
from ottla.config.config_section import ConfigSection
from ottla.config.consumer_keys import CONSUMER_CONFIG
from ottla.config.definition import ConfigTable
from ottla.config.producer_keys import PRODUCER_CONFIG
from ottla.config.values import ConfigType, ConfigValue, Password

_ACKS: Final = {"all": -1, "-1": -1, "0": 0, "1": 1}


class ClientConfig(ConfigSection):
    """What all clients have in common; the defaults of one that is made directly are an admin client's.

    ``security_protocol`` is in upper case, ``metadata_recovery_strategy`` in lower. Only an admin client can have
    ``bootstrap_controllers``, and then no ``bootstrap_servers``.
    """

    bootstrap_servers: tuple[Address, ...]
    bootstrap_controllers: tuple[Address, ...]
    client_id: str
    client_dns_lookup: str
    metadata_max_age_ms: int
    metadata_recovery_strategy: str
    metadata_recovery_rebootstrap_trigger_ms: int
    request_timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    socket_connection_setup_timeout_ms: int
    socket_connection_setup_timeout_max_ms: int
    connections_max_idle_ms: int
    send_buffer_bytes: int
    receive_buffer_bytes: int
    security_protocol: str
    ssl_protocol: str
    ssl_cipher_suites: tuple[str, ...]
    ssl_enabled_protocols: tuple[str, ...]
    ssl_keystore_type: str
    ssl_keystore_location: str | None
    ssl_keystore_password: Password | None
    ssl_key_password: Password | None
    ssl_keystore_key: Password | None
    ssl_keystore_certificate_chain: Password | None
    ssl_truststore_certificates: Password | None
    ssl_truststore_type: str
    ssl_truststore_location: str | None
    ssl_truststore_password: Password | None
    ssl_endpoint_identification_algorithm: str
    sasl_login_refresh_window_factor: float
    sasl_login_refresh_window_jitter: float
    sasl_login_refresh_min_period_seconds: int
    sasl_login_refresh_buffer_seconds: int
    sasl_mechanism: str
    sasl_jaas_config: Password | None
    sasl_username: str | None
    sasl_password: Password | None
    sasl_login_connect_timeout_ms: int | None
    sasl_login_read_timeout_ms: int | None
    sasl_login_retry_backoff_max_ms: int
    sasl_login_retry_backoff_ms: int
    sasl_oauthbearer_scope: str | None
    sasl_oauthbearer_client_credentials_client_id: str | None
    sasl_oauthbearer_client_credentials_client_secret: Password | None
    sasl_oauthbearer_scope_claim_name: str
    sasl_oauthbearer_sub_claim_name: str
    sasl_oauthbearer_token_endpoint_url: str | None
    sasl_oauthbearer_header_urlencode: bool

    _table = ADMIN_CONFIG
    _parsed = {  # noqa: RUF012 - as in the base class
        "bootstrap_servers": parse_servers,
        "bootstrap_controllers": parse_servers,
        "security_protocol": str.upper,
        "metadata_recovery_strategy": str.lower,
    }


class _OneClientConfig(ConfigSection):
    """The part that is one client's own; ``common`` has the rest."""

    common: ClientConfig

    @classmethod
    def parse(cls, props: Mapping[str, object] | None = None, keywords: Mapping[str, object] | None = None) -> Self:
        """The configuration in a dict of Kafka's keys and in keywords with underscores, which go before the dict.

        None is as good as not given. Raises InvalidConfigError for names that are no keys, with the nearest that is
        one, for bad values, and for values that do not go together; keys without effect warn.
        """
        given = _given(cls._table, props or {}, keywords or {})
        own = cls._table.parse(given)
        values = {"bootstrap.controllers": (), **cls._table.with_defaults(own)}
        values.update(common_rules(values, own))
        values.update(cls._rules(values, own))
        config = cls.from_values(values)
        config.__dict__["common"] = ClientConfig.from_values(values)
        return config

    @classmethod
    def _rules(cls, values: Mapping[str, Any], own: Mapping[str, ConfigValue]) -> dict[str, ConfigValue]:
        """What follows from the values together; InvalidConfigError if they do not go together."""
        raise NotImplementedError


_producer_numbers: Final = count(1)
_consumer_numbers: Final = count(1)
_admin_numbers: Final = count(1)


class ProducerConfig(_OneClientConfig):
    """What only a producer has. ``acks`` is -1 for all."""

    buffer_memory: int
    retries: int
    acks: int
    compression_type: str
    compression_gzip_level: int
    compression_lz4_level: int
    compression_zstd_level: int
    batch_size: int
    partitioner_adaptive_partitioning_enable: bool
    partitioner_availability_timeout_ms: int
    partitioner_ignore_keys: bool
    linger_ms: int
    delivery_timeout_ms: int
    max_request_size: int
    max_block_ms: int
    metadata_max_idle_ms: int
    max_in_flight_requests_per_connection: int
    key_serializer: str | None
    value_serializer: str | None
    partitioner_class: str | None
    enable_idempotence: bool
    transaction_timeout_ms: int
    transactional_id: str | None

    _table = PRODUCER_CONFIG
    _parsed = {"acks": _ACKS.__getitem__}  # noqa: RUF012 - as in the base class

    @classmethod
    def _rules(cls, values: Mapping[str, Any], own: Mapping[str, ConfigValue]) -> dict[str, ConfigValue]:
        changes = producer_rules(values, own)
        if "client.id" not in own:
            transactional_id = values["transactional.id"]
            number = next(_producer_numbers) if transactional_id is None else transactional_id
            changes["client.id"] = f"producer-{number}"
        return changes


class ConsumerConfig(_OneClientConfig):
    """What only a consumer has. ``group_protocol`` is in lower case."""

    group_id: str | None
    group_instance_id: str | None
    session_timeout_ms: int
    heartbeat_interval_ms: int
    partition_assignment_strategy: tuple[str, ...]
    enable_auto_commit: bool
    auto_commit_interval_ms: int
    client_rack: str
    max_partition_fetch_bytes: int
    fetch_min_bytes: int
    fetch_max_bytes: int
    fetch_max_wait_ms: int
    auto_offset_reset: str
    check_crcs: bool
    key_deserializer: str | None
    value_deserializer: str | None
    default_api_timeout_ms: int
    max_poll_records: int
    max_poll_interval_ms: int
    exclude_internal_topics: bool
    isolation_level: str
    allow_auto_create_topics: bool
    group_protocol: str
    group_remote_assignor: str | None

    _table = CONSUMER_CONFIG
    _parsed = {"group_protocol": str.lower}  # noqa: RUF012 - as in the base class

    @classmethod
    def _rules(cls, values: Mapping[str, Any], own: Mapping[str, ConfigValue]) -> dict[str, ConfigValue]:
        changes = consumer_rules(values, own)
        if not values["client.id"]:
            instance_id = values["group.instance.id"]
            number = next(_consumer_numbers) if instance_id is None else instance_id
            changes["client.id"] = f"consumer-{values['group.id'] or 'null'}-{number}"
        return changes


class AdminConfig(_OneClientConfig):
    """What only an admin client has."""

    retries: int
    default_api_timeout_ms: int

    _table = ADMIN_CONFIG

    @classmethod
    def _rules(cls, values: Mapping[str, Any], own: Mapping[str, ConfigValue]) -> dict[str, ConfigValue]:
        changes = admin_rules(values, own)
        if not values["client.id"]:
            changes["client.id"] = f"adminclient-{next(_admin_numbers)}"
        return changes


def _given(table: ConfigTable, props: Mapping[str, object], keywords: Mapping[str, object]) -> dict[str, object]:
    named = {name.replace("_", "."): value for name, value in keywords.items()}
    given = {name: value for name, value in {**props, **named}.items() if value is not None}
    table.require_known(given)
    for name, value in given.items():
        # acks=1 is what people write, though the key's values are words.
        if table[name].type is ConfigType.STRING and isinstance(value, int) and not isinstance(value, bool):
            given[name] = str(value)
    return given
