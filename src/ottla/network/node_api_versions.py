"""Which version of each API a node and we both speak."""

from collections.abc import Iterable
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, InvalidRequestError
from ottla.network.client_errors import UnsupportedVersionError
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.headers import decode_response
from ottla.protocol.message import Message, VersionRange
from ottla.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

_NEWEST: Final = ApiVersionsRequest.schema.versions.highest


class NodeApiVersions:
    """What a node has said of itself. Ours are those of the message classes."""

    __slots__ = ("_usable", "finalized_features", "finalized_features_epoch", "supported_features", "versions")

    def __init__(self, response: ApiVersionsResponse) -> None:
        self.versions: dict[int, VersionRange] = ranges(response.api_keys)
        """By api key, also of those that we do not know."""
        self.supported_features = {
            feature.name: VersionRange(feature.min_version, feature.max_version)
            for feature in response.supported_features
        }
        self.finalized_features = {feature.name: feature.max_version_level for feature in response.finalized_features}
        self.finalized_features_epoch = response.finalized_features_epoch
        self._usable: dict[type[Message], int] = {}

    @classmethod
    def newest(cls) -> "NodeApiVersions":
        """A node that is taken to speak what we speak."""
        every = [(key, key.request_class.schema.versions) for key in ApiKey]
        keys = [ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in every]
        return cls(ApiVersionsResponse(api_keys=keys))

    def latest_usable_version(self, request_class: type[Message], max_version: int | None = None) -> int:
        """The newest version that both speak, of those up to ``max_version``; UnsupportedVersionError if none."""
        if max_version is None:
            usable = self._usable.get(request_class)
            if usable is None:
                usable = self._usable[request_class] = self._intersect(request_class, request_class.schema.versions)
            return usable
        lowest, highest = request_class.schema.versions
        return self._intersect(request_class, VersionRange(lowest, min(highest, max_version)))

    def _intersect(self, request_class: type[Message], ours: VersionRange) -> int:
        name = request_class.__name__.removesuffix("Request")
        theirs = self.versions.get(request_class.schema.api_key)
        if theirs is None:
            raise UnsupportedVersionError(f"The node does not support {name}")
        usable = min(ours.highest, theirs.highest)
        if usable < max(ours.lowest, theirs.lowest):
            raise UnsupportedVersionError(
                f"The node does not support {name} with version in range [{ours.lowest},{ours.highest}]. "
                f"The supported range is [{theirs.lowest},{theirs.highest}]."
            )
        return usable


def ranges(api_keys: Iterable[ApiVersion]) -> dict[int, VersionRange]:
    """The versions of each API in an answer."""
    return {api.api_key: VersionRange(api.min_version, api.max_version) for api in api_keys}


def fallback_version(version: int, response: ApiVersionsResponse) -> int | None:
    """What to ask next, after asking in ``version``; None if the answer can be used.

    A node that does not know our version says so in version 0, and since 2.4 which ones it knows; without that, 0
    is asked. A node that refuses for another reason, or goes on refusing, is not one we can talk to.
    """
    if response.error_code == ErrorCode.NONE:
        return None
    if version == 0 or response.error_code != ErrorCode.UNSUPPORTED_VERSION:
        raise ApiError(_error_code(response.error_code), "The node refused ApiVersions")
    known = ranges(response.api_keys).get(ApiKey.API_VERSIONS)
    asked = 0 if known is None else min(known.highest, _NEWEST)
    if not 0 <= asked < version:
        raise UnsupportedVersionError(f"The node refused ApiVersions version {version}, but names {known}")
    return asked


def decode_api_versions_response(version: int, frame: memoryview) -> Message:
    """Read an answer that may be of version 0, whatever was asked: a node that does not know our version says so."""
    try:
        return decode_response(ApiKey.API_VERSIONS, version, frame)[1]
    except InvalidRequestError:
        if version == 0:
            raise
        return decode_response(ApiKey.API_VERSIONS, 0, frame)[1]


def _error_code(code: int) -> ErrorCode:
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
