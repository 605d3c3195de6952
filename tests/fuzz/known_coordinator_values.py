"""Values that mean something to the coordinators of groups and of transactions. Ids are few, so that state is, too."""

from collections.abc import Mapping, Sequence
from typing import Any

from ottla.protocol.codec import encode
from ottla.protocol.consumer_protocol import (
    ConsumerProtocolSubscription,
    OwnedTopicPartitions,
    encode_assignment,
)
from tests.fuzz.learned import (
    CLASSIC_GROUP,
    CONSUMER_GROUP,
    GENERATION,
    LEADER,
    MEMBER_EPOCH,
    NEWEST_MEMBER,
    PRODUCER_EPOCH,
    PRODUCERS,
    TRANSACTIONAL_IDS,
)

SUBSCRIPTIONS = tuple(
    version.to_bytes(2)
    + encode(
        ConsumerProtocolSubscription(
            topics=topics,
            owned_partitions=[OwnedTopicPartitions(topic="kept", partitions=[0])] if version else (),
            generation_id=GENERATION if version > 1 else -1,
        ),
        version,
    )
    for version in range(4)
    for topics in (["kept"], ["kept", "volatile-0"])
)
ASSIGNMENTS = tuple(encode_assignment([("kept", [0, 1])], version) for version in range(4))
CONSUMER_MEMBERS = ("consumer-0", "consumer-1", "consumer-2")
GROUPS = (CLASSIC_GROUP, CONSUMER_GROUP, *("h", "m") * 3, "")
"""Random requests mostly leave alone the groups in which members live well."""
TRANSACTIONAL_IDS_AND_ODD_ONES = (*(TRANSACTIONAL_IDS[0],) * 6, TRANSACTIONAL_IDS[1], "another", "")

_MEMBERS = (LEADER, LEADER, NEWEST_MEMBER, NEWEST_MEMBER, *CONSUMER_MEMBERS, "", "absent")
_GENERATIONS = (*(GENERATION, MEMBER_EPOCH) * 3, -2, -1, -1, 0, 1)
_INSTANCES = ("fuzz", "static-1", "")
_PROTOCOL_TYPES = (*("consumer",) * 6, "connect", "")
_STATES = ("Stable", "empty", "Dead", "PreparingRebalance", "Ongoing", "CompleteCommit", "no such state", "")
_REGEXES = (
    "kept",
    "volatile-.*",
    ".*",
    "(k|v)(e|o)*",
    "(a*)*b",
    "(",
    "[",
    "",
    "a{1001}",
    "\\C",
    "(?i)KEPT",
    "\N{DUCK}",
)
_SESSIONS_MS = (10, 100, 300, 1000, 2000, 6000)
_REBALANCES_MS = (0, 1, 5, 20, 50, -1)

KNOWN_TO_COORDINATORS: Mapping[str, Sequence[Any]] = {
    "group_id": GROUPS,
    "group_ids": GROUPS,
    "groups": GROUPS,
    "groups_names": GROUPS,
    "FindCoordinatorRequest.key": (*GROUPS, *TRANSACTIONAL_IDS, "g:AAAAAAAAAAAAAAAAAAAAAA:0"),
    "coordinator_keys": (*GROUPS, *TRANSACTIONAL_IDS, "g:AAAAAAAAAAAAAAAAAAAAAA:0"),
    "key_type": (0, 0, 1, 1, 2, -1),
    "member_id": _MEMBERS,
    "ConsumerGroupHeartbeatRequest.member_id": (*CONSUMER_MEMBERS * 3, LEADER, ""),
    "group_instance_id": _INSTANCES,
    "instance_id": _INSTANCES,
    "generation_id": _GENERATIONS,
    "generation_id_or_member_epoch": _GENERATIONS,
    "member_epoch": (*(MEMBER_EPOCH, 0) * 4, -1, -2, 1, GENERATION),
    "session_timeout_ms": _SESSIONS_MS,
    "rebalance_timeout_ms": _REBALANCES_MS,
    "protocol_type": _PROTOCOL_TYPES,
    "protocol_name": (*("range",) * 5, "roundrobin", ""),
    "JoinGroupRequestProtocol.name": ("range", "range", "roundrobin", "sticky", ""),
    "JoinGroupRequestProtocol.metadata": (*SUBSCRIPTIONS, b"", b"\0", b"\x7f\xff", b"\xff\xff", b"\0\0\xff"),
    "SyncGroupRequestAssignment.assignment": (*ASSIGNMENTS, b"", b"\0\1\xff"),
    "reason": ("because", "", "r" * 300),
    "committed_offset": (0, 1, 100, -1, 1 << 40),
    "committed_leader_epoch": (-1, 0, 7),
    "committed_metadata": ("", "metadata", "m" * 4096, "m" * 4097),
    "retention_time_ms": (-1, 0, 100),
    "rack_id": ("a", "b", ""),
    "subscribed_topic_regex": _REGEXES,
    "server_assignor": ("uniform", "range", "no such assignor", ""),
    "states_filter": _STATES,
    "types_filter": ("classic", "CONSUMER", "share", "no such type", ""),
    "state_filters": _STATES,
    "producer_id_filters": (-1, 0, PRODUCERS[0].producer_id),
    "duration_filter": (-1, 0, 1, 1 << 62),
    "transactional_id_pattern": (*_REGEXES, "txn.*"),
    "transactional_id": TRANSACTIONAL_IDS_AND_ODD_ONES,
    "transactional_ids": (*TRANSACTIONAL_IDS_AND_ODD_ONES, "absent"),
    "v3_and_below_transactional_id": TRANSACTIONAL_IDS_AND_ODD_ONES,
    "InitProducerIdRequest.transactional_id": (None, *TRANSACTIONAL_IDS_AND_ODD_ONES),
    "transaction_timeout_ms": (1, 50, 1000, 5000, 0, -1, 1 << 30),
    "producer_id": (*(producer.producer_id for producer in PRODUCERS * 3), -1, 0, 1, 1000),
    "producer_epoch": (*(PRODUCER_EPOCH,) * 6, -1, 0, 1, 32767),
    "v3_and_below_producer_id": (*(producer.producer_id for producer in PRODUCERS * 3), -1, 0),
    "v3_and_below_producer_epoch": (*(PRODUCER_EPOCH,) * 6, -1, 0, 1, 32767),
    "coordinator_epoch": (-1, 0, 0, 1),
    "transaction_version": (0, 1, 2, 3),
    "enable2_pc": (False, False, True),
    "keep_prepared_txn": (False, False, True),
}
"""By the names that :func:`tests.random_messages.random_message` looks for."""
