"""Which broker keys can change while the broker runs, for one broker or for all, and which names mean the same key."""

import re

from ottla.config.broker_keys import BROKER_CONFIG
from ottla.config.definition import ConfigKey, ConfigTable
from ottla.config.quota_keys import BROKER_QUOTA_KEYS
from ottla.config.synonyms import TOPIC_CONFIG_SYNONYMS
from ottla.config.values import ConfigType

LISTENER_CONFIG = re.compile(r"listener\.name\.[^.]*\.(.*)")
"""A key that holds for one listener: the group is the key's own name."""

SECURITY_STORES = frozenset(
    f"ssl.{name}"
    for name in (
        "keystore.type",
        "keystore.location",
        "keystore.password",
        "key.password",
        "keystore.key",
        "keystore.certificate.chain",
        "truststore.type",
        "truststore.location",
        "truststore.password",
        "truststore.certificates",
    )
)
"""Keys that can only change with a listener's prefix."""

THREAD_COUNTS = frozenset(
    {"num.io.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir", "background.threads"}
)
LISTENER_LIMITS = frozenset({"max.connections", "max.connection.creation.rate"})
CLUSTER_LEVEL_LISTENER_KEYS = LISTENER_LIMITS | {"num.network.threads"}
"""Keys that the cluster's default can hold for one listener."""

PER_BROKER_KEYS = SECURITY_STORES | {
    "cordoned.log.dirs",
    "listeners",
    "listener.security.protocol.map",
    "principal.builder.class",
    "ssl.protocol",
    "ssl.provider",
    "ssl.cipher.suites",
    "ssl.enabled.protocols",
    "ssl.keymanager.algorithm",
    "ssl.trustmanager.algorithm",
    "ssl.endpoint.identification.algorithm",
    "ssl.secure.random.implementation",
    "ssl.client.auth",
    "ssl.engine.factory.class",
    "sasl.mechanism.inter.broker.protocol",
    "sasl.jaas.config",
    "sasl.enabled.mechanisms",
    "sasl.kerberos.service.name",
    "sasl.kerberos.kinit.cmd",
    "sasl.kerberos.ticket.renew.window.factor",
    "sasl.kerberos.ticket.renew.jitter",
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.principal.to.local.rules",
    "sasl.login.refresh.window.factor",
    "sasl.login.refresh.window.jitter",
    "sasl.login.refresh.min.period.seconds",
    "sasl.login.refresh.buffer.seconds",
}
"""Keys that only a broker's own dynamic configuration can hold."""

CLUSTER_WIDE_KEYS = (
    frozenset(synonyms[0].name for synonyms in TOPIC_CONFIG_SYNONYMS.values())
    | THREAD_COUNTS
    | CLUSTER_LEVEL_LISTENER_KEYS
    | {key.name for key in BROKER_QUOTA_KEYS}
    | {
        "config.providers",
        "follower.fetch.last.tiered.offset.enable",
        "group.consumer.assignment.interval.ms",
        "group.coordinator.cached.buffer.max.bytes",
        "group.share.assignment.interval.ms",
        "group.streams.assignment.interval.ms",
        "log.cleaner.backoff.ms",
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.buffer.size",
        "log.cleaner.io.max.bytes.per.second",
        "log.cleaner.threads",
        "max.connections.per.ip",
        "max.connections.per.ip.overrides",
        "metric.reporters",
        "producer.id.expiration.ms",
        "remote.fetch.max.wait.ms",
        "remote.list.offsets.request.timeout.ms",
        "remote.log.index.file.cache.total.size.bytes",
        "remote.log.manager.copier.thread.pool.size",
        "remote.log.manager.copy.max.bytes.per.second",
        "remote.log.manager.expiration.thread.pool.size",
        "remote.log.manager.fetch.max.bytes.per.second",
        "remote.log.manager.follower.thread.pool.size",
        "remote.log.reader.threads",
        "share.coordinator.cached.buffer.max.bytes",
        "transaction.partition.verification.enable",
    }
)
"""Keys that the cluster's default can hold, too."""

ALL_DYNAMIC_KEYS = PER_BROKER_KEYS | CLUSTER_WIDE_KEYS

DYNAMIC_BROKER_CONFIG = ConfigTable(
    "dynamic broker", *(key for key in BROKER_CONFIG if key.name in ALL_DYNAMIC_KEYS), *BROKER_QUOTA_KEYS
)
"""The keys that dynamic configurations may hold; some of them can be set in no other way."""

_TIME_SYNONYMS = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_SYNONYMS: dict[str, tuple[str, ...]] = {
    **{name: names for names in _TIME_SYNONYMS for name in names},
    # The scheduler's interval is the default of the other; by itself it means only itself.
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
}
_LISTENER_MECHANISM_KEYS = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)


def broker_config_synonyms(name: str, *, match_listener_override: bool) -> tuple[str, ...]:
    """The names that can give this key its value, the one that counts most first.

    With ``match_listener_override`` a listener's key is also given by the key without the prefix.
    """
    synonyms = _SYNONYMS.get(name)
    if synonyms is not None:
        return synonyms
    match = LISTENER_CONFIG.fullmatch(name) if match_listener_override and name.startswith("listener") else None
    if match is None:
        return (name,)
    # A SASL mechanism may stand between the prefix and the key's own name.
    return name, next((key for key in _LISTENER_MECHANISM_KEYS if match[1].endswith(key)), match[1])


def broker_config_key(name: str) -> ConfigKey | None:
    """The key of this very name, which may be one that can only be set dynamically."""
    return BROKER_CONFIG.get(name) or DYNAMIC_BROKER_CONFIG.get(name)


def broker_config_type(name: str) -> ConfigType | None:
    """The type of a broker key, with a listener's prefix or without; None for a name that is no key."""
    key = broker_config_key(name) or broker_config_key(broker_config_synonyms(name, match_listener_override=True)[-1])
    return None if key is None else key.type


def base_name(name: str) -> str:
    """The key's own name, without a listener's prefix."""
    match = LISTENER_CONFIG.fullmatch(name)
    return match[1] if match else name
