"""Voters as the storage tool's options spell them: ``id@host:port:directory-id``, separated by commas. Pure."""

from ottla.common.uuid import RESERVED, Uuid
from ottla.raft.errors import FormatterError
from ottla.raft.voter_set import KRAFT_VERSIONS, ReplicaKey, VoterNode, VoterSet
from ottla.records.control_messages import Endpoint

_PORT_MAX = 65_535


def parse_dynamic_voters(text: str, listener_name: str) -> VoterSet:
    """The voters of ``--initial-controllers``; FormatterError names what is wrong."""
    voters = [_voter(part.strip(), listener_name) for part in text.strip().split(",") if part]
    if not voters:
        raise FormatterError("No voters given.")
    seen: set[int] = set()
    for voter in voters:
        if voter.key.id in seen:
            raise FormatterError(f"Node id {voter.key.id} was specified more than once.")
        seen.add(voter.key.id)
    return VoterSet(voters)


def standalone_voters(node_id: int, host: str, port: int, directory_id: Uuid, listener_name: str) -> VoterSet:
    """The one voter of ``--standalone``: this node."""
    return VoterSet([_node(node_id, host, port, directory_id, listener_name)])


def _voter(text: str, listener_name: str) -> VoterNode:
    node_text, at, rest = text.partition("@")
    if not at:
        raise FormatterError("No @ found in dynamic voter string.")
    if not node_text:
        raise FormatterError("Invalid @ at beginning of dynamic voter string.")
    node_id = _integer(node_text, "Failed to parse node id in dynamic voter string.")
    if node_id < 0:
        raise FormatterError(f"Invalid negative node id {node_id} in dynamic voter string.")
    host, rest = _host(rest)
    if not rest.startswith(":"):
        raise FormatterError("Port section must start with a colon.")
    port_text, colon, directory_text = rest[1:].partition(":")
    if not colon:
        raise FormatterError("No colon following port could be found.")
    port = _integer(port_text, "Failed to parse port in dynamic voter string.")
    if not 0 <= port <= _PORT_MAX:
        raise FormatterError(f"Invalid port {port} in dynamic voter string.")
    try:
        directory_id = Uuid.from_string(directory_text)
    except ValueError as error:
        raise FormatterError("Failed to parse directory ID in dynamic voter string.") from error
    if directory_id in RESERVED:  # no controller registers a broker with it
        raise FormatterError(f"Reserved directory ID {directory_id} in dynamic voter string: use a random one.")
    return _node(node_id, host, port, directory_id, listener_name)


def _host(text: str) -> tuple[str, str]:
    """The host, and what follows it; an IPv6 address stands in brackets."""
    if not text:
        raise FormatterError("No hostname found after node id.")
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket:
            raise FormatterError("Hostname began with left bracket, but no right bracket was found.")
        return host, rest
    host, colon, rest = text.partition(":")
    if not colon:
        raise FormatterError("No colon following hostname could be found.")
    return host, colon + rest


def _integer(text: str, complaint: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise FormatterError(complaint) from error


def _node(node_id: int, host: str, port: int, directory_id: Uuid, listener_name: str) -> VoterNode:
    endpoint = Endpoint(name=listener_name.upper(), host=host, port=port)
    return VoterNode(ReplicaKey(node_id, directory_id), (endpoint,), KRAFT_VERSIONS)
