"""Controllers register, too, so that all know what each supports and where it listens."""

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.controller.result import ControllerResult
from ottla.metadata.image import MetadataImage
from ottla.metadata.records import ControllerEndpoint, ControllerFeature, RegisterControllerRecord
from ottla.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)


def register_controller(
    image: MetadataImage, request: ControllerRegistrationRequest
) -> ControllerResult[ControllerRegistrationResponse]:
    """A controller's incarnation takes the place of its last."""
    if not image.features.metadata_version.is_controller_registration_supported:
        raise ApiError(
            ErrorCode.UNSUPPORTED_VERSION,
            "The current MetadataVersion is too old to support controller registrations.",
        )
    record = RegisterControllerRecord(
        controller_id=request.controller_id,
        incarnation_id=request.incarnation_id,
        end_points=[
            ControllerEndpoint(
                name=listener.name,
                host=listener.host,
                port=listener.port,
                security_protocol=listener.security_protocol,
            )
            for listener in request.listeners
        ],
        features=[
            ControllerFeature(
                name=feature.name,
                min_supported_version=feature.min_supported_version,
                max_supported_version=feature.max_supported_version,
            )
            for feature in request.features
        ],
    )
    return ControllerResult([record], ControllerRegistrationResponse(error_message=None))
