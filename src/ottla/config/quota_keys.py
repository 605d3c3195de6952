"""Broker keys of quotas, and the throttles that can only be set dynamically."""

from ottla.config.definition import ConfigKey, Importance
from ottla.config.topic_keys import QUOTAS
from ottla.config.units import LONG_MAX
from ottla.config.validators import at_least
from ottla.config.values import ConfigType

MEDIUM, LOW = Importance.MEDIUM, Importance.LOW
INT, LONG, CLASS = ConfigType.INT, ConfigType.LONG, ConfigType.CLASS


def _windows(prefix: str, what: str, inert: str | None = QUOTAS) -> tuple[ConfigKey, ConfigKey]:
    samples, seconds = f"{prefix}quota.window.num", f"{prefix}quota.window.size.seconds"
    return (
        ConfigKey(samples, INT, 11, at_least(1), LOW, f"Samples kept for quotas of {what}.", inert),
        ConfigKey(seconds, INT, 1, at_least(1), LOW, f"Time that one sample for quotas of {what} covers.", inert),
    )


QUOTA_KEYS = (
    *_windows("", "clients and for rates of connections", inert=None),
    *_windows("replication.", "replication"),
    *_windows("alter.log.dirs.replication.", "moves between log directories"),
    *_windows("controller.", "changes at the controller"),
    ConfigKey(
        "client.quota.callback.class",
        CLASS,
        None,
        None,
        LOW,
        "Class that decides client quotas.",
        inert=QUOTAS,
        promises="that clients keep to the quotas of this class",
    ),
)

# fmt: off
BROKER_QUOTA_KEYS = (
    ConfigKey("leader.replication.throttled.rate", LONG, LONG_MAX, at_least(0), MEDIUM,
              "Bytes a second that throttled replicas are sent by their leader.",
              inert=QUOTAS),
    ConfigKey("follower.replication.throttled.rate", LONG, LONG_MAX, at_least(0), MEDIUM,
              "Bytes a second that throttled replicas fetch.",
              inert=QUOTAS),
    ConfigKey("replica.alter.log.dirs.io.max.bytes.per.second", LONG, LONG_MAX, at_least(0), MEDIUM,
              "Bytes a second that moves of replicas between log directories may copy.",
              inert=QUOTAS),
)
# fmt: on
