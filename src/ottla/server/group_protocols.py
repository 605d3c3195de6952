"""Which group protocols this broker offers."""

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.group.group import GroupType
from ottla.metadata.features import GROUP_VERSION
from ottla.server.services import BrokerServices


def require_consumer_protocol(services: BrokerServices) -> None:
    """UNSUPPORTED_VERSION unless the configuration and the cluster's group.version allow consumer groups."""
    group_config = services.config.current.group
    group_version = services.metadata.image.features.finalized_versions.get(GROUP_VERSION, 0)
    if GroupType.CONSUMER not in group_config.group_coordinator_rebalance_protocols or group_version < 1:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
