"""The dynamic configuration of client metrics subscriptions: their table, and what one may have."""

import re
from collections.abc import Mapping

from ottla.common.errors import InvalidConfigError, InvalidRequestError
from ottla.config.definition import ConfigKey, ConfigTable, Importance
from ottla.config.validators import ValidList
from ottla.config.values import ConfigType

TELEMETRY = "client telemetry is not built yet"
MATCH_PARAMETERS = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)

# fmt: off
CLIENT_METRICS_CONFIG = ConfigTable(
    "client metrics",
    ConfigKey("metrics", ConfigType.LIST, (), ValidList(), Importance.MEDIUM,
              "Prefixes of the metrics that clients shall push, or * for all.", inert=TELEMETRY),
    ConfigKey("interval.ms", ConfigType.INT, 300000, None, Importance.MEDIUM,
              "Time between two pushes of a client.", inert=TELEMETRY),
    ConfigKey("match", ConfigType.LIST, (), ValidList(), Importance.MEDIUM,
              "Which clients shall push, as parameter=regular expression pairs; empty means all.", inert=TELEMETRY),
)
# fmt: on


def validate_client_metrics_config(name: str, props: Mapping[str, str]) -> None:
    """InvalidRequestError or InvalidConfigError, as Apache has it, unless the subscription may have ``props``."""
    if not name:
        raise InvalidRequestError("Subscription name can't be empty")
    for key in props:
        if key not in CLIENT_METRICS_CONFIG:
            raise InvalidRequestError(f"Unknown client metrics configuration: {key}")
    values = CLIENT_METRICS_CONFIG.with_defaults(CLIENT_METRICS_CONFIG.parse(props, warn=False))
    interval_ms, patterns = values["interval.ms"], values["match"]
    assert isinstance(interval_ms, int) and isinstance(patterns, tuple)
    if not 100 <= interval_ms <= 3600000:
        raise InvalidRequestError(
            f"Invalid value {interval_ms} for interval.ms, interval must be between 100 and 3600000 (1 hour)"
        )
    for pattern in patterns:
        parse_match_pattern(pattern)


def parse_match_pattern(pattern: str) -> tuple[str, re.Pattern[str]]:
    """The client parameter and the expression that it must match; InvalidConfigError for a malformed pair."""
    parts = pattern.split("=")
    try:
        if len(parts) == 2 and parts[0].strip() in MATCH_PARAMETERS:
            return parts[0].strip(), re.compile(parts[1].strip())
    except re.error:
        pass
    raise InvalidConfigError(f"Illegal client matching pattern: {pattern}")
