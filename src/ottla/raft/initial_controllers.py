"""Which voters ``kafka-storage format`` gives to a new metadata directory, by its options. Pure."""

from typing import TYPE_CHECKING

from ottla.common.uuid import Uuid
from ottla.raft.dynamic_voters import parse_dynamic_voters, standalone_voters
from ottla.raft.errors import FormatterError
from ottla.raft.voter_set import VoterSet
from ottla.records.control_messages import Endpoint

if TYPE_CHECKING:
    from random import Random


def initial_controllers(
    *,
    node_id: int,
    is_controller: bool,
    has_static_voters: bool,
    controller_listener: Endpoint | None,
    listener_name: str,
    standalone: bool,
    given: str | None,
    none_wanted: bool,
    rng: "Random",
) -> VoterSet | None:
    """The voters to write, None for none: ``standalone``, ``given`` (--initial-controllers) and ``none_wanted``
    (--no-initial-controllers) are the options. FormatterError for what contradicts the configuration.

    ``controller_listener`` is where this node's first controller listener is advertised.
    """
    if has_static_voters and (standalone or given is not None):
        raise FormatterError(
            "You cannot specify controller.quorum.voters and format the node with --initial-controllers or "
            "--standalone. If you want to use dynamic quorum, please remove controller.quorum.voters and specify "
            "controller.quorum.bootstrap.servers instead."
        )
    if standalone:
        if not is_controller:
            raise FormatterError("You can only use --standalone on a controller.")
        if controller_listener is None:
            raise FormatterError("No controller listeners found.")
        host = controller_listener.host or "localhost"
        return standalone_voters(node_id, host, controller_listener.port, Uuid.random(rng), listener_name)
    if given is not None:
        return parse_dynamic_voters(given, listener_name)
    if is_controller and not has_static_voters and not none_wanted:
        raise FormatterError(
            "Because controller.quorum.voters is not set on this controller, you must specify one of the following: "
            "--standalone, --initial-controllers, or --no-initial-controllers."
        )
    return None
