"""Keys that promise a protection which this version does not give: nobody shall set one and rely on it.

Such a key is refused where somebody asks for it: at the start, in a dynamic change, for a topic. What is stored
already must load, and is left to whoever loads it.
"""

from collections.abc import Iterable, Mapping

from ottla.common.errors import InvalidConfigError
from ottla.config.broker_keys import AUTHORIZER_CONFIG, BROKER_CONFIG
from ottla.config.definition import ConfigKey
from ottla.config.quota_keys import BROKER_QUOTA_KEYS
from ottla.config.topic_keys import TOPIC_CONFIG
from ottla.config.values import ConfigValue, Password

LISTENER_PREFIX = "listener.name."


def _promising(*keys: Iterable[ConfigKey]) -> Mapping[str, ConfigKey]:
    return {key.name: key for some in keys for key in some if key.promises is not None}


_OF_A_NODE = _promising(BROKER_CONFIG, BROKER_QUOTA_KEYS, AUTHORIZER_CONFIG)
_OF_A_TOPIC = _promising(TOPIC_CONFIG)


def require_kept_by_node(props: Mapping[str, str]) -> None:
    """InvalidConfigError where a broker's or controller's properties, static or dynamic, promise what is not kept."""
    _require_kept("broker", {name: key for name in broken_promises(props) if (key := _node_key(name)) is not None})


def require_kept_by_topic(props: Mapping[str, object]) -> None:
    """InvalidConfigError where a topic's own properties promise what is not kept."""
    _require_kept(
        "topic", {name: key for name, key in _OF_A_TOPIC.items() if name in props and _says(key, props[name])}
    )


def broken_promises(props: Mapping[str, str]) -> list[str]:
    """The names in a node's properties that promise what is not kept, as they are written."""
    return [name for name, value in props.items() if (key := _node_key(name)) is not None and _says(key, value)]


def _node_key(name: str) -> ConfigKey | None:
    """The promising key that a name sets, also for one listener or for one SASL mechanism of it."""
    key = _OF_A_NODE.get(name)
    if key is None and name.startswith(LISTENER_PREFIX):
        # A listener's name may have dots itself, and a mechanism may follow: only the end is certain.
        return next((each for each in _OF_A_NODE.values() if name.endswith(f".{each.name}")), None)
    return key


def _says(key: ConfigKey, value: object) -> bool:
    """Whether this value asks for anything: neither the default, in whatever order, nor an empty one does."""
    parsed = key.parse(value)
    return parsed not in ("", (), None, Password("")) and _unordered(parsed) != _unordered(key.default)


def _unordered(value: ConfigValue) -> object:
    return frozenset(value) if isinstance(value, tuple) else value


def _require_kept(kind: str, broken: Mapping[str, ConfigKey]) -> None:
    if not broken:
        return
    (first, key), *others = broken.items()
    more = f" (likewise {', '.join(name for name, _ in others)})" if others else ""
    raise InvalidConfigError(
        f"The {kind} config {first} promises {key.promises}, which this version of Ottla does not do, for "
        f"{key.inert}: remove it{more} if you can do without"
    )
