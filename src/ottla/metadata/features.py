"""Kafka's features besides metadata.version: their levels, what each depends on, and where a new cluster begins."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from ottla.metadata import metadata_version
from ottla.metadata.metadata_version import LATEST_PRODUCTION, MINIMUM_VERSION, MetadataVersion
from ottla.protocol.message import VersionRange

METADATA_VERSION: Final = metadata_version.FEATURE_NAME
KRAFT_VERSION: Final = "kraft.version"
TRANSACTION_VERSION: Final = "transaction.version"
GROUP_VERSION: Final = "group.version"
ELIGIBLE_LEADER_REPLICAS_VERSION: Final = "eligible.leader.replicas.version"
SHARE_VERSION: Final = "share.version"
STREAMS_VERSION: Final = "streams.version"


class FeatureLevel(NamedTuple):
    """One level of a feature: new clusters have it from ``bootstrap``; ``dependencies`` must stand at least so high."""

    bootstrap: MetadataVersion
    dependencies: Mapping[str, int]


_OFF: Final = FeatureLevel(MINIMUM_VERSION, {})

FEATURES: Final[Mapping[str, tuple[FeatureLevel, ...]]] = {
    KRAFT_VERSION: (_OFF, FeatureLevel(MetadataVersion.IBP_3_9_IV0, {})),
    TRANSACTION_VERSION: (
        _OFF,
        FeatureLevel(MetadataVersion.IBP_4_0_IV2, {}),
        FeatureLevel(MetadataVersion.IBP_4_0_IV2, {}),
    ),
    GROUP_VERSION: (_OFF, FeatureLevel(MetadataVersion.IBP_4_0_IV0, {})),
    ELIGIBLE_LEADER_REPLICAS_VERSION: (
        _OFF,
        FeatureLevel(MetadataVersion.IBP_4_1_IV0, {METADATA_VERSION: MetadataVersion.IBP_4_0_IV1}),
    ),
    SHARE_VERSION: (_OFF, FeatureLevel(MetadataVersion.IBP_4_2_IV0, {})),
    STREAMS_VERSION: (_OFF, FeatureLevel(MetadataVersion.IBP_4_2_IV1, {})),
}

NOT_YET_SERVED: Final = (SHARE_VERSION, STREAMS_VERSION)
"""Features that Ottla cannot serve. It offers them to nobody, but opens a cluster of Apache's that has them."""

SERVED_FEATURES: Final[Mapping[str, VersionRange]] = {
    METADATA_VERSION: VersionRange(MINIMUM_VERSION, LATEST_PRODUCTION),
    **{name: VersionRange(0, len(levels) - 1) for name, levels in FEATURES.items() if name not in NOT_YET_SERVED},
}


def supported_features(finalized: Mapping[str, int]) -> dict[str, VersionRange]:
    """What a node says that it supports, in a cluster with these ``finalized`` levels.

    A feature that is not served is left out, as Apache leaves out a feature whose highest level is 0. Where it is
    finalized already, the node supports it up to that level, and the cluster can only go down: a controller registers
    no broker that lacks a finalized level, and kafka-features.sh describes only what is supported. Nothing is promised
    to clients by that: they look for the keys of the APIs.
    """
    tolerated = {name: min(finalized.get(name, 0), len(FEATURES[name]) - 1) for name in NOT_YET_SERVED}
    return {**SERVED_FEATURES, **{name: VersionRange(0, level) for name, level in tolerated.items() if level > 0}}


def default_level(name: str, version: MetadataVersion) -> int:
    """Where Apache starts the feature ``name`` in a new cluster at ``version``."""
    levels = FEATURES[name]
    level = 0
    while level + 1 < len(levels) and levels[level + 1].bootstrap <= version:
        level += 1
    return level


def format_levels(version: MetadataVersion = LATEST_PRODUCTION) -> dict[str, int]:
    """The levels with which ``ottla format`` makes a cluster at ``version``; kraft.version is raft's to decide."""
    return {
        name: 0 if name in NOT_YET_SERVED else default_level(name, version)
        for name in FEATURES
        if name != KRAFT_VERSION
    }


def check_dependencies(name: str, level: int, finalized: Mapping[str, int]) -> None:
    """Raise ValueError unless ``finalized`` (metadata.version included) permits the feature at ``level``."""
    if level >= 1 and finalized.get(METADATA_VERSION, 0) < MINIMUM_VERSION:
        raise ValueError(
            f"{name} could not be set to {level} because it depends on metadata.version={MINIMUM_VERSION:d} "
            f"({MINIMUM_VERSION})"
        )
    if name == METADATA_VERSION:
        return
    levels = FEATURES.get(name)
    if levels is None or not 0 <= level < len(levels):
        raise ValueError(f"No feature:{name} with feature level {level}")
    for dependency, needed in levels[level].dependencies.items():
        if finalized.get(dependency, -1) < needed:
            raise ValueError(f"{name} could not be set to {level} because it depends on {dependency} level {needed:d}")
