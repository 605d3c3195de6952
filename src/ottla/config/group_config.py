"""The dynamic configuration of groups: their table, and what a group may have."""

import re
from collections.abc import Mapping

from ottla.common.errors import InvalidConfigError
from ottla.config.broker_keys import BROKER_CONFIG
from ottla.config.definition import ConfigKey, ConfigTable, Importance
from ottla.config.group_keys import STREAMS_GROUPS
from ottla.config.share_keys import SHARE_GROUPS
from ottla.config.validators import at_least, one_of
from ottla.config.values import ConfigType, ConfigValue

MEDIUM = Importance.MEDIUM
BOOLEAN, STRING, INT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT

_DURATION = re.compile(
    r"by_duration:[+]?P(?=.)([+-]?\d+D)?(T(?=.)([+-]?\d+H)?([+-]?\d+M)?([+-]?\d+([.,]\d{0,9})?S)?)?", re.IGNORECASE
)


class ShareAutoOffsetReset:
    """Where a share group begins: a word, or a time ago as an ISO 8601 duration."""

    __slots__ = ()

    def objection(self, value: ConfigValue) -> str | None:
        """Refuse all else, null too."""
        if value in ("earliest", "latest"):
            return None
        # Java refuses negative durations as a whole; one that has a minus anywhere is never meant otherwise.
        if isinstance(value, str) and value.startswith("by_duration:") and "-" not in value:
            return None if _DURATION.fullmatch(value) else "Value must be by_duration:PnDTnHnMn.nS"
        return "Value must be earliest, latest or by_duration:PnDTnHnMn.nS"

    def __str__(self) -> str:
        return "[latest, earliest, by_duration:PnDTnHnMn.nS]"


# fmt: off
GROUP_CONFIG = ConfigTable(
    "group",
    ConfigKey("consumer.session.timeout.ms", INT, 45000, at_least(1), MEDIUM,
              "Time without a heartbeat after which a member of a consumer group is removed."),
    ConfigKey("consumer.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
              "Time between two heartbeats of a member of a consumer group."),
    ConfigKey("consumer.assignment.interval.ms", INT, 1000, at_least(0), MEDIUM,
              "Shortest time between two assignments of a consumer group."),
    ConfigKey("share.session.timeout.ms", INT, 45000, at_least(1), MEDIUM,
              "Time without a heartbeat after which a member of a share group is removed.", inert=SHARE_GROUPS),
    ConfigKey("share.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
              "Time between two heartbeats of a member of a share group.", inert=SHARE_GROUPS),
    ConfigKey("share.assignment.interval.ms", INT, 1000, at_least(0), MEDIUM,
              "Shortest time between two assignments of a share group.", inert=SHARE_GROUPS),
    ConfigKey("share.record.lock.duration.ms", INT, 30000, at_least(1000), MEDIUM,
              "How long a record that was delivered is locked for its consumer.", inert=SHARE_GROUPS),
    ConfigKey("share.delivery.count.limit", INT, 5, at_least(2), MEDIUM,
              "How often a record is delivered at most.", inert=SHARE_GROUPS),
    ConfigKey("share.partition.max.record.locks", INT, 2000, at_least(100), MEDIUM,
              "Records of a partition that may be in flight.", inert=SHARE_GROUPS),
    ConfigKey("share.auto.offset.reset", STRING, "latest", ShareAutoOffsetReset(), MEDIUM,
              "Where a share group begins in a partition that it has not read yet.", inert=SHARE_GROUPS),
    ConfigKey("share.isolation.level", STRING, "read_uncommitted", one_of("read_committed", "read_uncommitted"), MEDIUM,
              "Whether a share group reads records of transactions that are not committed.", inert=SHARE_GROUPS),
    ConfigKey("share.renew.acknowledge.enable", BOOLEAN, True, None, MEDIUM,
              "Whether consumers may renew the lock of a record.", inert=SHARE_GROUPS),
    ConfigKey("streams.session.timeout.ms", INT, 45000, at_least(1), MEDIUM,
              "Time without a heartbeat after which a member of a streams group is removed.", inert=STREAMS_GROUPS),
    ConfigKey("streams.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
              "Time between two heartbeats of a member of a streams group.", inert=STREAMS_GROUPS),
    ConfigKey("streams.assignment.interval.ms", INT, 1000, at_least(0), MEDIUM,
              "Shortest time between two assignments of a streams group.", inert=STREAMS_GROUPS),
    ConfigKey("streams.num.standby.replicas", INT, 0, at_least(0), MEDIUM,
              "Standby replicas of each task of a streams group.", inert=STREAMS_GROUPS),
    ConfigKey("streams.initial.rebalance.delay.ms", INT, 3000, at_least(0), MEDIUM,
              "How long an empty streams group waits for more members before its first rebalance.",
              inert=STREAMS_GROUPS),
)
# fmt: on

GROUP_CONFIG_SYNONYMS = {key.name: f"group.{key.name}" for key in GROUP_CONFIG if f"group.{key.name}" in BROKER_CONFIG}
"""The broker key that gives a group key its default."""


def validate_group_config(props: Mapping[str, str], broker_values: Mapping[str, ConfigValue]) -> None:
    """InvalidConfigError for names that are no group keys, bad values, and values outside the broker's bounds."""
    GROUP_CONFIG.require_known(props)
    own = GROUP_CONFIG.parse(props, warn=False)
    values = {name: broker_values[synonym] for name, synonym in GROUP_CONFIG_SYNONYMS.items()} | own
    for name in GROUP_CONFIG_SYNONYMS:
        # A broker's own assignment interval is brought into bounds rather than refused.
        if name in own or not name.endswith("assignment.interval.ms"):
            _validate_bounds(name, values[name], broker_values)
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if _number(values[session]) <= _number(values[heartbeat]):
            raise InvalidConfigError(f"{session} must be greater than {heartbeat}")


def _validate_bounds(name: str, value: ConfigValue, broker_values: Mapping[str, ConfigValue]) -> None:
    kind, _, rest = name.partition(".")
    low, high = f"group.{kind}.min.{rest}", f"group.{kind}.max.{rest.removeprefix('num.')}"
    if low in broker_values and _number(value) < _number(broker_values[low]):
        raise InvalidConfigError(f"{name} must be greater than or equal to {low}")
    if high in broker_values and _number(value) > _number(broker_values[high]):
        raise InvalidConfigError(f"{name} must be less than or equal to {high}")


def _number(value: ConfigValue) -> int:
    assert isinstance(value, int)
    return value
