"""One JoinGroup, on its way through the coordinator."""

from typing import NamedTuple

from ottla.coordinator.result import NOTHING, CoordinatorResult
from ottla.group.classic.context import ClassicRequestContext
from ottla.group.classic.join_response import refused_response
from ottla.group.classic.member import JoinRespond
from ottla.protocol.messages.join_group import JoinGroupRequest


class Joining(NamedTuple):
    """What a client asks for, and how it is answered."""

    context: ClassicRequestContext
    request: JoinGroupRequest
    protocols: dict[str, bytes]
    """The metadata by the protocol's name, the preferred one first."""
    rebalance_timeout_ms: int
    respond: JoinRespond

    @classmethod
    def of(cls, context: ClassicRequestContext, request: JoinGroupRequest, respond: JoinRespond) -> "Joining":
        """Read a request; version 0 knows one timeout for both."""
        protocols: dict[str, bytes] = {}
        for protocol in request.protocols:
            protocols.setdefault(protocol.name, bytes(protocol.metadata))
        has_one_timeout = context.api_version == 0
        timeout_ms = request.session_timeout_ms if has_one_timeout else request.rebalance_timeout_ms
        return cls(context, request, protocols, timeout_ms, respond)

    def refuse(self, code: int, member_id: str = "") -> CoordinatorResult[None]:
        """Answer with an error; nothing else happens."""
        self.respond(refused_response(code, member_id))
        return NOTHING

    @property
    def reason(self) -> str:
        """Why the client joins, if it says so."""
        return self.request.reason or "not provided"
