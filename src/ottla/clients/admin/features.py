"""Features: what the cluster could do, and what has been switched on for good."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, overload

from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import Anywhere, Ask, Broker, controller
from ottla.clients.admin.results import check, outcome
from ottla.common.errors import KafkaError
from ottla.protocol.message import VersionRange
from ottla.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse


class FeatureUpgradeType(IntEnum):
    """Which way a feature may go. UNSAFE_DOWNGRADE may lose metadata that the older level cannot hold."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True, slots=True)
class FeatureUpdate:
    """The level that a feature shall have; 0 switches it off."""

    max_version_level: int
    upgrade_type: FeatureUpgradeType = FeatureUpgradeType.UPGRADE


@dataclass(frozen=True, slots=True)
class FeatureMetadata:
    """The levels in force (``finalized``, since metadata offset ``finalized_epoch``) and those that could be."""

    finalized: Mapping[str, VersionRange]
    finalized_epoch: int | None
    supported: Mapping[str, VersionRange]


class FeaturesPart(AdminPart):
    """Features."""

    __slots__ = ()

    async def describe_features(self, node_id: int | None = None, *, timeout_ms: int | None = None) -> FeatureMetadata:
        """The cluster's features, as any node, or this one, knows them."""
        request = ApiVersionsRequest(client_software_name="ottla", client_software_version="admin")
        target = Anywhere.ANY_NODE if node_id is None else Broker(node_id)
        return await self._ask_one(lambda _: request, described_features, timeout_ms, target)

    @overload
    async def update_features(
        self,
        updates: Mapping[str, FeatureUpdate],
        *,
        validate_only: bool = ...,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[str, None]: ...
    @overload
    async def update_features(
        self,
        updates: Mapping[str, FeatureUpdate],
        *,
        validate_only: bool = ...,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[str, KafkaError | None]: ...
    async def update_features(
        self,
        updates: Mapping[str, FeatureUpdate],
        *,
        validate_only: bool = False,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[str, KafkaError | None]:
        """Set levels of features, all or (since Kafka 4.0) none; with ``validate_only`` just say whether one could."""

        def request(names: Sequence[str], left_ms: int) -> UpdateFeaturesRequest:
            return update_features_request(
                {name: updates[name] for name in names}, left_ms, validate_only=validate_only
            )

        return await self._ask(Ask(list(updates), controller, request, updated_features), timeout_ms, raise_errors)


def described_features(response: ApiVersionsResponse) -> FeatureMetadata:
    """Read features of an ApiVersions answer."""
    check(response.error_code)
    epoch = response.finalized_features_epoch
    return FeatureMetadata(
        {
            each.name: VersionRange(each.min_version_level, each.max_version_level)
            for each in response.finalized_features
        },
        epoch if epoch >= 0 else None,
        {each.name: VersionRange(each.min_version, each.max_version) for each in response.supported_features},
    )


def update_features_request(
    updates: Mapping[str, FeatureUpdate], timeout_ms: int, *, validate_only: bool
) -> UpdateFeaturesRequest:
    """Ask for levels."""
    keys = [
        FeatureUpdateKey(
            feature=name,
            max_version_level=update.max_version_level,
            allow_downgrade=update.upgrade_type != FeatureUpgradeType.UPGRADE,
            upgrade_type=update.upgrade_type,
        )
        for name, update in updates.items()
    ]
    return UpdateFeaturesRequest(timeout_ms=timeout_ms, feature_updates=keys, validate_only=validate_only)


def updated_features(response: UpdateFeaturesResponse, asked: Sequence[str]) -> dict[str, KafkaError | None]:
    """Read which levels are set; since version 2 there is one answer for all of them."""
    check(response.error_code, response.error_message)
    each_alone = {each.feature: outcome(each.error_code, each.error_message, None) for each in response.results}
    return {name: each_alone.get(name) for name in asked}
