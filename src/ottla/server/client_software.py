"""What clients may call their software (KIP-511)."""

import re
from typing import Final

from ottla.protocol.messages.api_versions import ApiVersionsRequest

_LEGAL: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def is_legal_software(request: ApiVersionsRequest) -> bool:
    """Whether name and version are ones that can stand in logs and metrics; both are missing below version 3."""
    return all(_LEGAL.fullmatch(value) for value in (request.client_software_name, request.client_software_version))
