"""A broker's configuration as it runs: the static one under the cluster's and the broker's own dynamic changes."""

import logging
from collections.abc import Callable, Mapping

from ottla.common.errors import InvalidConfigError, InvalidRequestError
from ottla.config.broker_keys import BROKER_CONFIG
from ottla.config.dynamic_keys import (
    ALL_DYNAMIC_KEYS,
    CLUSTER_LEVEL_LISTENER_KEYS,
    DYNAMIC_BROKER_CONFIG,
    LISTENER_CONFIG,
    PER_BROKER_KEYS,
    SECURITY_STORES,
    base_name,
    broker_config_synonyms,
)
from ottla.config.kafka_config import KafkaConfig
from ottla.config.promises import broken_promises, require_kept_by_node
from ottla.config.reconfiguration_rules import validate_reconfiguration

logger = logging.getLogger(__name__)

Props = Mapping[str, str]


class DynamicConfig:
    """The configuration in force, ``current``, and the layers that it is made of.

    ``static`` is what the broker was started with. The other two come from the metadata log through ``update_default``
    and ``update_broker``, which replace a layer as a whole and never fail: what a broker cannot use, it reports and
    leaves out. ``validate_change`` is for what a user asks for, before it gets into the log.
    """

    __slots__ = ("current", "dynamic_broker", "dynamic_default", "static")

    def __init__(self, static: KafkaConfig) -> None:
        self.static = static
        self.current = static
        self.dynamic_broker: Props = {}
        self.dynamic_default: Props = {}

    def update_broker(self, props: Props) -> bool:
        """Take the broker's own dynamic configuration; whether that changes ``current``."""
        return self._update(self.dynamic_default, usable_props(props, per_broker=True))

    def update_default(self, props: Props) -> bool:
        """Take the cluster's dynamic default; whether that changes ``current``."""
        return self._update(usable_props(props, per_broker=False), self.dynamic_broker)

    def _update(self, dynamic_default: Props, dynamic_broker: Props) -> bool:
        merged = clamp(merge_props(self.static.originals, dynamic_default, dynamic_broker))
        try:
            current = KafkaConfig.from_props(merged, warn=False)
        except InvalidConfigError as error:
            logger.error("Dynamic configs could not be applied: %s", error)
            return False
        self.dynamic_default, self.dynamic_broker = dynamic_default, dynamic_broker
        changed = current != self.current
        self.current = current
        return changed

    def validate_change(self, props: Props, *, per_broker: bool) -> None:
        """An error unless ``props`` may replace the broker's own or the cluster's layer as a whole.

        InvalidRequestError as Apache has it; InvalidConfigError where they promise what this version does not do.
        """
        try:
            validate_dynamic_props(props, per_broker=per_broker)
        except InvalidConfigError as error:
            raise InvalidRequestError(str(error)) from None
        require_kept_by_node(props)
        layers = (self.dynamic_default, props) if per_broker else (props, self.dynamic_broker)
        try:
            proposed = KafkaConfig.from_props(merge_props(self.static.originals, *layers), warn=False)
        except InvalidConfigError as error:
            raise InvalidRequestError(str(error)) from None
        try:
            validate_reconfiguration(self.current, proposed)
        except InvalidConfigError as error:
            raise InvalidRequestError(f"Invalid dynamic configuration: {error}") from None


def merge_props(static: Props, *layers: Props) -> dict[str, str]:
    """Lay dynamic configurations over the static one.

    A key replaces all of its synonyms below: a dynamic log.retention.ms counts even where log.retention.hours is
    static. A listener's key does not replace the one without its prefix, for other listeners still need that.
    """
    merged = dict(static)
    for layer in layers:
        for name, value in layer.items():
            for synonym in broker_config_synonyms(name, match_listener_override=False):
                merged.pop(synonym, None)
            merged[name] = value
    return merged


def validate_dynamic_props(props: Props, *, per_broker: bool) -> None:
    """InvalidConfigError for keys that cannot change, cannot change like this or cannot have their value."""
    for _, refuse, message in _refusals(per_broker=per_broker):
        refused = ", ".join(filter(refuse, props))
        if refused:
            raise InvalidConfigError(f"{message}: [{refused}]")
    _validate_types(props)


def usable_props(props: Props, *, per_broker: bool) -> Props:
    """What of a stored layer a broker can use; the rest is reported in the log."""
    usable = {}
    for name, value in props.items():
        try:
            _validate_types({name: value})
        except InvalidConfigError as error:
            where = "broker" if per_broker else "default cluster"
            logger.error("Dynamic %s config contains an invalid value, which will be ignored: %s", where, error)
        else:
            usable[name] = value
    for ignored, refuse, _ in _refusals(per_broker=per_broker):
        refused = [name for name in usable if refuse(name)]
        if refused:
            logger.error("%s: [%s]", ignored, ", ".join(refused))
            usable = {name: value for name, value in usable.items() if name not in refused}
    broken = broken_promises(usable)
    if broken:
        logger.error("Configs that promise a protection which this version does not give: [%s]", ", ".join(broken))
        usable = {name: value for name, value in usable.items() if name not in broken}
    return usable


def _refusals(*, per_broker: bool) -> list[tuple[str, Callable[[str], bool], str]]:
    """What the log says of stored keys of a kind, how to know one, and what a user is told."""
    refusals: list[tuple[str, Callable[[str], bool], str]] = [
        ("Non-dynamic configs will be ignored", _is_read_only, "Cannot update these configs dynamically"),
        (
            "Security configs can be dynamically updated only using listener prefix, base configs will be ignored",
            _is_base_security_key,
            "These security configs can be dynamically updated only per-listener using the listener prefix",
        ),
    ]
    if not per_broker:
        refusals.append(
            (
                "Per-broker configs defined at default cluster level will be ignored",
                _is_per_broker,
                "Cannot update these configs at default cluster level, broker id must be specified",
            )
        )
    return refusals


def _is_read_only(name: str) -> bool:
    return name in BROKER_CONFIG and name not in ALL_DYNAMIC_KEYS


def _is_base_security_key(name: str) -> bool:
    return name in SECURITY_STORES


def _is_per_broker(name: str) -> bool:
    match = LISTENER_CONFIG.fullmatch(name)
    return name in PER_BROKER_KEYS or (match is not None and match[1] not in CLUSTER_LEVEL_LISTENER_KEYS)


def _validate_types(props: Props) -> None:
    """Values of keys that no table knows are nobody's business."""
    for name, value in props.items():
        if base_name(name) in DYNAMIC_BROKER_CONFIG:
            DYNAMIC_BROKER_CONFIG[base_name(name)].parse(value)


def clamp(props: dict[str, str]) -> dict[str, str]:
    """Bring dynamic keys into the bounds that other keys set, which may have changed since."""
    for kind in ("consumer", "share", "streams"):
        name = f"group.{kind}.assignment.interval.ms"
        if name not in props:
            continue
        bounds = (f"group.{kind}.min.assignment.interval.ms", f"group.{kind}.max.assignment.interval.ms")
        low, high = (int(props.get(bound, BROKER_CONFIG.default(bound))) for bound in bounds)
        clamped = str(min(max(int(props[name]), low), high))
        if clamped != props[name]:
            logger.warning("Dynamic config %s=%s is out of its bounds and becomes %s", name, props[name], clamped)
            props[name] = clamped
    return props
