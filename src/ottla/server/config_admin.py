"""What the APIs that change configurations have in common: who may, and what is settled here or passed on.

A broker checks what only it can know (its own keys, its loggers) and passes the rest on to the controller; so does a
controller's handler with :class:`QuorumController`. Each resource is settled on its own, and answered in the order of
the request.
"""

import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol, TypeVar

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, InvalidRequestError, KafkaError
from ottla.controller.settings import ControllerRequestContext
from ottla.metadata.image.configs import ConfigResourceType
from ottla.network.request import RequestContext
from ottla.protocol.message import Message
from ottla.server.authorizer import CLUSTER_NAME, AclOperation, Authorizer, ResourceType
from ottla.server.services import BrokerServices, ControllerServices, controller_context

logger = logging.getLogger(__name__)


class Resource(Protocol):
    """An owner of a configuration, as requests name it."""

    @property
    def resource_type(self) -> int:
        """One of :class:`ConfigResourceType`, or nonsense."""

    @property
    def resource_name(self) -> str:
        """Empty for what all brokers have in common."""


class Response(Resource, Protocol):
    """What became of a resource."""

    @property
    def error_code(self) -> int:
        """Kafka's code."""

    @property
    def error_message(self) -> str | None:
        """For people."""


class Config(Protocol):
    """One key of a request."""

    @property
    def name(self) -> str:
        """The key."""


R = TypeVar("R", bound=Resource)
A = TypeVar("A", bound=Message)


class Outcome(NamedTuple):
    """What became of one resource, without its name."""

    error_code: int
    error_message: str | None


DONE: Final = Outcome(ErrorCode.NONE, None)
NOT_ANSWERED: Final = Outcome(
    ErrorCode.UNKNOWN_SERVER_ERROR, "The server experienced an unexpected error when processing the request."
)


class _Permission(NamedTuple):
    resource: ResourceType
    refusal: ErrorCode
    message: str


_CLUSTER: Final = _Permission(
    ResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed."
)
_TOPIC: Final = _Permission(ResourceType.TOPIC, ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
_GROUP: Final = _Permission(ResourceType.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED, "Group authorization failed.")
_PERMISSIONS: Final[Mapping[int, _Permission]] = {
    ConfigResourceType.TOPIC: _TOPIC,
    ConfigResourceType.BROKER: _CLUSTER,
    ConfigResourceType.BROKER_LOGGER: _CLUSTER,
    ConfigResourceType.CLIENT_METRICS: _CLUSTER,
    ConfigResourceType.GROUP: _GROUP,
}
PASSED_ON_TYPES: Final = frozenset(
    {ConfigResourceType.TOPIC, ConfigResourceType.CLIENT_METRICS, ConfigResourceType.GROUP}
)
"""What a broker passes on to the controller without knowing better."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")


def require_allowed(
    authorizer: Authorizer, context: RequestContext, operation: AclOperation, resource: Resource
) -> None:
    """The error for the kind of resource unless the principal may do this with it; unknown ones are not refused."""
    permission = _PERMISSIONS.get(resource.resource_type)
    if permission is None:
        return
    name = CLUSTER_NAME if permission is _CLUSTER else resource.resource_name
    if not authorizer.authorize(context, operation, permission.resource, name):
        raise ApiError(permission.refusal, permission.message)


def resource_type_name(code: int) -> str:
    """A type's name, for messages."""
    try:
        return ConfigResourceType(code).name
    except ValueError:
        return ConfigResourceType.UNKNOWN.name


def node_id_of(name: str, what: str) -> int:
    """The id that a resource is named by; InvalidRequestError where it is none."""
    if _INTEGER.fullmatch(name) is None:
        raise InvalidRequestError(f"{what} id must be an integer, but it is: {name}")
    return int(name)


def require_own_broker(services: BrokerServices, name: str) -> None:
    """InvalidRequestError unless the name is that of this broker, or the empty one of all brokers."""
    if name and node_id_of(name, "Node") != services.node_id:
        raise InvalidRequestError(f"Unexpected broker id, expected {services.node_id}, but received {name}")


def require_each_once(resources: Iterable[Resource]) -> Callable[[Resource], None]:
    """A check that refuses resources that the request names several times, each time."""
    counts = Counter((resource.resource_type, resource.resource_name) for resource in resources)

    def check(resource: Resource) -> None:
        if counts[resource.resource_type, resource.resource_name] > 1:
            raise InvalidRequestError("Each resource must appear at most once.")

    return check


def require_well_formed(configs: Sequence[Config], null_names: Sequence[str]) -> None:
    """InvalidRequestError for keys that are named twice, or that are ``null_names``: to be set to null."""
    if len({config.name for config in configs}) != len(configs):
        raise InvalidRequestError("Error due to duplicate config keys")
    if null_names:
        raise InvalidRequestError(f"Null value not supported for : {', '.join(null_names)}")


async def settle(
    resources: Sequence[R],
    settle_here: Callable[[R], bool],
    pass_on: Callable[[list[R]], Awaitable[Sequence[Response]]],
) -> list[tuple[R, Outcome]]:
    """What becomes of each resource.

    ``settle_here`` says whether it has dealt with a resource, and refuses one with a KafkaError; ``pass_on`` gets the
    others, if there are any.
    """
    settled: dict[int, Outcome] = {}
    for position, resource in enumerate(resources):
        try:
            if settle_here(resource):
                settled[position] = DONE
        except KafkaError as error:
            logger.info("The configuration of %s was not changed: %s", _named(resource), error)
            settled[position] = Outcome(error.code, str(error) or None)
    rest = [resource for position, resource in enumerate(resources) if position not in settled]
    answers = await pass_on(rest) if rest else ()
    passed = {
        (answer.resource_type, answer.resource_name): Outcome(answer.error_code, answer.error_message)
        for answer in answers
    }
    outcomes = []
    for position, resource in enumerate(resources):
        outcome = settled.get(position) or passed.get((resource.resource_type, resource.resource_name))
        if outcome is None:
            logger.error("The controller returned fewer results than expected: there is none for %s", _named(resource))
        outcomes.append((resource, outcome or NOT_ANSWERED))
    return outcomes


def resource_responses(kind: type[A], outcomes: Sequence[tuple[Resource, Outcome]]) -> list[A]:
    """What became of each resource, as both APIs that alter configurations answer it; each has a class of its own."""
    return [
        kind(
            error_code=outcome.error_code,
            error_message=outcome.error_message,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        for resource, outcome in outcomes
    ]


def refuse_all(resources: Sequence[R], error: KafkaError) -> list[tuple[R, Outcome]]:
    """The same error for each resource."""
    return [(resource, Outcome(error.code, str(error) or None)) for resource in resources]


def alter_context(services: ControllerServices, context: RequestContext) -> ControllerRequestContext:
    """What the controller must know of a request: also whether a broker has checked it, whose listener it came by."""
    forwarded = context.listener_name not in services.config.static.listeners.controller_listener_names
    return ControllerRequestContext(api_version=controller_context(context).api_version, forwarded=forwarded)


def _named(resource: Resource) -> str:
    return f"{resource_type_name(resource.resource_type)} '{resource.resource_name}'"
