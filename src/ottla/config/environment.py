"""A node's properties from the environment, by the rules of Apache Kafka's official container image.

``KAFKA_LOG_RETENTION_MS`` is log.retention.ms: ``_`` stands for a dot, ``__`` for ``_``, ``___`` for ``-``. A variable
that is no property is an error here, where Apache's image passes it over.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from ottla.common.errors import InvalidConfigError
from ottla.config.broker_keys import BROKER_CONFIG
from ottla.config.kafka_config import require_known
from ottla.config.properties import parse

CLUSTER_ID: Final = "CLUSTER_ID"
"""The variable with the id that new directories are formatted with."""
PREFIX: Final = "KAFKA_"
OF_THE_JVM: Final = frozenset(
    f"{PREFIX}{name}"
    for name in (
        "GC_LOG_OPTS",
        "HEAP_OPTS",
        "JMX_HOSTNAME",
        "JMX_OPTS",
        "JMX_PORT",
        "JVM_PERFORMANCE_OPTS",
        "LOG4J_LOGGERS",
        "LOG4J_OPTS",
        "LOG4J_ROOT_LOGLEVEL",
        "OPTS",
        "TOOLS_LOG4J_LOGLEVEL",
        "VERSION",
    )
)
"""Variables that Apache's image keeps for the JVM, its log and its scripts."""

_SERVICE_LINK: Final = re.compile(
    r"KAFKA_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
)
"""What Kubernetes puts into every container beside a service whose name begins with kafka."""
_CONTROLLER_PORT: Final = 9093
_ANY_HOST: Final = re.compile(r"://[^,]*:(\d+)")


def environment_properties(environment: Mapping[str, str], below: Mapping[str, str]) -> dict[str, str]:
    """The properties that the variables set, over those ``below``; InvalidConfigError names what is no property.

    A node that is told its ``advertised.listeners`` alone listens there on all interfaces, and for its controller.
    """
    named = {variable: property_name(variable) for variable in environment if _is_property(variable)}
    unknown = [variable for variable, name in named.items() if not _is_known(name)]
    if unknown:
        raise InvalidConfigError(f"Unknown in the environment: {', '.join(map(_suggestion, sorted(unknown)))}")
    properties = parse("\n".join(f"{name}={environment[variable]}" for variable, name in named.items()))
    advertised = properties.get("advertised.listeners")
    if advertised and not properties.get("listeners"):
        properties["listeners"] = _listeners_of(advertised, {**below, **properties})
    return properties


def without_effect(environment: Iterable[str]) -> list[str]:
    """The variables of Apache's image that mean nothing where no JVM runs."""
    return sorted(OF_THE_JVM.intersection(environment))


def property_name(variable: str) -> str:
    """The property that a variable sets."""
    name = variable.removeprefix(PREFIX).lower().replace("_", ".")
    return name.replace("...", "-").replace("..", "_")


def variable_name(name: str) -> str:
    """The variable that sets a property."""
    return PREFIX + name.replace("_", "__").replace("-", "___").replace(".", "_").upper()


def _listeners_of(advertised: str, properties: Mapping[str, str]) -> str:
    listeners = _ANY_HOST.sub(r"://0.0.0.0:\1", advertised)
    controller = properties.get("controller.listener.names", "").partition(",")[0].strip()
    if "controller" in properties.get("process.roles", "") and f"{controller}://".upper() not in listeners.upper():
        listeners += f",{controller}://0.0.0.0:{_CONTROLLER_PORT}"
    return listeners


def _is_property(variable: str) -> bool:
    if not variable.startswith(PREFIX) or variable in OF_THE_JVM:
        return False
    return _is_known(property_name(variable)) or not _SERVICE_LINK.fullmatch(variable)


def _is_known(name: str) -> bool:
    try:
        require_known(name)
    except InvalidConfigError:
        return False
    return True


def _suggestion(variable: str) -> str:
    near = BROKER_CONFIG.nearest(property_name(variable))
    return f"{variable} (did you mean {variable_name(near)}?)" if near else variable
