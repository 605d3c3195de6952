"""The table of broker keys: every one that Apache Kafka 4.3.1 has, and our own."""

from ottla.config.definition import ConfigTable
from ottla.config.group_keys import GROUP_KEYS
from ottla.config.kraft_keys import KRAFT_KEYS
from ottla.config.log_keys import LOG_KEYS
from ottla.config.network_keys import NETWORK_KEYS
from ottla.config.quota_keys import QUOTA_KEYS
from ottla.config.replication_keys import REPLICATION_KEYS
from ottla.config.sasl_keys import SASL_KEYS
from ottla.config.security_keys import AUTHORIZER_KEYS, SECURITY_KEYS
from ottla.config.server_keys import SERVER_KEYS
from ottla.config.share_keys import SHARE_KEYS
from ottla.config.tiered_storage_keys import TIERED_STORAGE_KEYS
from ottla.config.transaction_keys import TRANSACTION_KEYS

BROKER_CONFIG = ConfigTable(
    "broker",
    *KRAFT_KEYS,
    *NETWORK_KEYS,
    *SERVER_KEYS,
    *LOG_KEYS,
    *REPLICATION_KEYS,
    *GROUP_KEYS,
    *SHARE_KEYS,
    *TRANSACTION_KEYS,
    *QUOTA_KEYS,
    *SECURITY_KEYS,
    *SASL_KEYS,
    *TIERED_STORAGE_KEYS,
)

AUTHORIZER_CONFIG = ConfigTable("authorizer", *AUTHORIZER_KEYS)
"""The keys of Apache's own authorizer, which takes them from the same file; to the broker they are names of plugins."""
