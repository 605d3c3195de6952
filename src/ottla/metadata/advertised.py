"""What the records of brokers and of controllers say alike: where a node listens and which features it supports."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from ottla.metadata.endpoint import Endpoint
from ottla.metadata.records.cluster import BrokerEndpoint, BrokerFeature, ControllerEndpoint, ControllerFeature
from ottla.protocol.message import VersionRange

EndpointT = TypeVar("EndpointT", BrokerEndpoint, ControllerEndpoint)
FeatureT = TypeVar("FeatureT", BrokerFeature, ControllerFeature)


def listeners_by_name(end_points: Iterable[BrokerEndpoint | ControllerEndpoint]) -> dict[str, Endpoint]:
    """The listeners that a record names."""
    return {point.name: Endpoint(point.name, point.host, point.port, point.security_protocol) for point in end_points}


def levels_by_feature(features: Iterable[BrokerFeature | ControllerFeature]) -> dict[str, VersionRange]:
    """The levels of each feature that a record names."""
    return {
        feature.name: VersionRange(feature.min_supported_version, feature.max_supported_version) for feature in features
    }


def end_points_of(kind: type[EndpointT], listeners: Mapping[str, Endpoint]) -> list[EndpointT]:
    """The listeners as a record names them."""
    return [
        kind(name=name, host=point.host, port=point.port, security_protocol=point.security_protocol)
        for name, point in listeners.items()
    ]


def features_of(kind: type[FeatureT], levels: Mapping[str, VersionRange]) -> list[FeatureT]:
    """The levels of each feature as a record names them."""
    return [
        kind(name=name, min_supported_version=level.lowest, max_supported_version=level.highest)
        for name, level in levels.items()
    ]
