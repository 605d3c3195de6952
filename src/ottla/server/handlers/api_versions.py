"""ApiVersions 0–4: what this listener speaks, and the features of the cluster.

A version that nobody knows yet is answered in version 0 with UNSUPPORTED_VERSION and the range of ApiVersions itself,
so that a newer client can try again. Below version 4, features that may be at level 0 are left out: old clients reject
them.
"""

from collections.abc import Mapping
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import InvalidRequestError, KafkaError
from ottla.metadata.features import supported_features
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from ottla.server.api import Api, ListenerType
from ottla.server.client_software import is_legal_software
from ottla.server.dispatch import advertised
from ottla.server.metadata_cache import MetadataCache
from ottla.server.services import BrokerServices, ControllerServices

_FEATURES_FROM_ZERO: Final = 4
_SOFTWARE_NAMED: Final = 3


def handle(
    services: BrokerServices | ControllerServices, context: RequestContext, body: ApiVersionsRequest
) -> ApiVersionsResponse:
    """Answer from the table of handlers of this listener."""
    version = context.header.api_version
    if version >= _SOFTWARE_NAMED and not is_legal_software(body):
        raise InvalidRequestError("the client software's name or version is not valid")
    return api_versions(services.apis, services.metadata, version)


def api_versions(apis: Mapping[ApiKey, Api], metadata: MetadataCache, version: int) -> ApiVersionsResponse:
    """The answer for one version of the request."""
    finalized = metadata.finalized_features()
    return ApiVersionsResponse(
        api_keys=[
            ApiVersion(api_key=key, min_version=lowest, max_version=highest)
            for key, lowest, highest in advertised(apis)
        ],
        supported_features=[
            SupportedFeatureKey(name=name, min_version=levels.lowest, max_version=levels.highest)
            for name, levels in supported_features(finalized).items()
            if levels.lowest > 0 or version >= _FEATURES_FROM_ZERO
        ],
        finalized_features_epoch=metadata.image.offset,
        finalized_features=[
            FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            for name, level in finalized.items()
        ],
    )


def error_response(_body: ApiVersionsRequest, error: KafkaError) -> ApiVersionsResponse:
    """An error, with the versions of ApiVersions itself for a client that asked in one that we do not know."""
    itself = ApiVersion(api_key=API.key, min_version=API.lowest, max_version=API.highest)
    known = [itself] if error.code == ErrorCode.UNSUPPORTED_VERSION else []
    return ApiVersionsResponse(error_code=error.code, api_keys=known)


API: Final = Api(ApiKey.API_VERSIONS, 0, 4, handle, ListenerType.BOTH, error_response)
APIS: Final = (API,)
