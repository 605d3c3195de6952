"""The properties of other clients of the same cluster, from those of the sink's producer. Pure."""

from collections.abc import Mapping
from typing import Final

from ottla.config.admin_keys import ADMIN_CONFIG
from ottla.config.consumer_keys import CONSUMER_CONFIG
from ottla.config.definition import ConfigTable

DECISION_BYTES_MAX: Final = 16 * 1024 * 1024
"""A decision names what each task wrote into each partition: with thousands of both more than a usual record."""
_OWN: Final = frozenset(("client.id", "transactional.id", "transaction.timeout.ms"))


def admin_properties(producer: Mapping[str, str]) -> dict[str, str]:
    """Where the cluster is and how to log in, for an admin client."""
    return _known(producer, ADMIN_CONFIG)


def consumer_properties(producer: Mapping[str, str]) -> dict[str, str]:
    """The same for a consumer."""
    return _known(producer, CONSUMER_CONFIG)


def state_producer_properties(producer: Mapping[str, str]) -> dict[str, str]:
    """For whoever writes decisions: an idempotent producer, as careful as the sink's own, with nothing to wait for."""
    given = {name: value for name, value in producer.items() if name not in _OWN}
    return {**given, "linger.ms": "0", "compression.type": "zstd", "max.request.size": str(DECISION_BYTES_MAX)}


def _known(producer: Mapping[str, str], table: ConfigTable) -> dict[str, str]:
    return {name: value for name, value in producer.items() if name in table and name != "client.id"}
