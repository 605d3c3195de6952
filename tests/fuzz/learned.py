"""What only the node can tell: member ids, generations, epochs and producer ids, put into frames before they are sent.

A request names them by placeholders of the same size, so that its lengths hold. A node that has not told them yet gets
the placeholders, which mean nothing to it.
"""

import struct
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.headers import decode_request_body, decode_response, parse_request_header
from ottla.protocol.message import ArrayOf, Message

CLASSIC_GROUP = "g"
"""Whose leader, newest member and generation are learned."""
CONSUMER_GROUP = "c"
"""Whose epoch is learned."""
TRANSACTIONAL_IDS = ("txn", "txn-1")
LEADER = "fuzz-00000000-0000-4000-8000-00000000000a"
NEWEST_MEMBER = "fuzz-00000000-0000-4000-8000-00000000000b"
"""As long as the ids that a node makes for members of the client, or the instance, "fuzz"."""
GENERATION = 0x7E57_0001
MEMBER_EPOCH = 0x7E57_0002
PRODUCER_EPOCH = 0x7E57


class Producer(NamedTuple):
    """Of a transactional id."""

    producer_id: int
    producer_epoch: int

    def encoded(self) -> bytes:
        """As it stands in all requests that have both."""
        return struct.pack(">qh", *self)


PRODUCERS: Final = tuple(Producer(0x7E57_0003_0000_0000 + index, PRODUCER_EPOCH) for index in range(2))
"""Placeholders, one for each transactional id."""
_MARK: Final = b"\x7e\x57\x00"
_MEMBER_MARK: Final = b"fuzz-00000000"

COORDINATOR_APIS: Final = frozenset(
    {
        ApiKey.FIND_COORDINATOR,
        ApiKey.JOIN_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.LEAVE_GROUP,
        ApiKey.OFFSET_COMMIT,
        ApiKey.OFFSET_FETCH,
        ApiKey.OFFSET_DELETE,
        ApiKey.LIST_GROUPS,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.DELETE_GROUPS,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        ApiKey.INIT_PRODUCER_ID,
        ApiKey.ADD_PARTITIONS_TO_TXN,
        ApiKey.ADD_OFFSETS_TO_TXN,
        ApiKey.TXN_OFFSET_COMMIT,
        ApiKey.END_TXN,
        ApiKey.WRITE_TXN_MARKERS,
        ApiKey.LIST_TRANSACTIONS,
        ApiKey.DESCRIBE_TRANSACTIONS,
    }
)


class Learned:
    """The newest of each; ``codes`` counts the answers to requests without damage, by API and error code."""

    def __init__(self) -> None:
        self._members: dict[bytes, bytes] = {}
        self._numbers: dict[bytes, bytes] = {}
        self.producers = list(PRODUCERS)
        self.codes: Counter[tuple[ApiKey, ErrorCode]] = Counter()

    def fill(self, data: bytes) -> bytes:
        """The frame with what is known in the place of the placeholders."""
        if _MEMBER_MARK in data:
            for placeholder, member_id in self._members.items():
                data = data.replace(placeholder, member_id)
        if _MARK in data:
            for placeholder, number in self._numbers.items():
                data = data.replace(placeholder, number)
        return data

    def answered(self, sent: bytes, answer: memoryview) -> None:
        """An undamaged request and its answer, the one with its size and the other without."""
        header, position = parse_request_header(memoryview(sent)[4:])
        api_key, version = header.api_key, header.api_version
        if api_key not in COORDINATOR_APIS:
            return
        _correlation_id, response = decode_response(api_key, version, answer)
        self.codes.update((api_key, ErrorCode(code)) for code in error_codes(response))
        learn = _LEARN.get(api_key)
        if learn is not None:
            learn(self, decode_request_body(api_key.request_class, memoryview(sent)[4 + position :], version), response)

    def _joined(self, request: Any, response: Any) -> None:
        if request.group_id == CLASSIC_GROUP and response.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self._learn_member(NEWEST_MEMBER, response.member_id)
            if response.error_code == ErrorCode.NONE:
                self._learn_member(LEADER, response.leader)
                self._numbers[struct.pack(">i", GENERATION)] = struct.pack(">i", response.generation_id)

    def _learn_member(self, placeholder: str, member_id: str) -> None:
        if len(member_id) == len(placeholder) and member_id.isascii():
            self._members[placeholder.encode()] = member_id.encode()

    def _heartbeat(self, request: Any, response: Any) -> None:
        if request.group_id == CONSUMER_GROUP and response.error_code == ErrorCode.NONE and response.member_epoch > 0:
            self._numbers[struct.pack(">i", MEMBER_EPOCH)] = struct.pack(">i", response.member_epoch)

    def _initialized(self, request: Any, response: Any) -> None:
        if response.error_code != ErrorCode.NONE or request.transactional_id not in TRANSACTIONAL_IDS:
            return
        if response.producer_id < 0:
            return  # the answer to EndTxn has none before version 5
        index = TRANSACTIONAL_IDS.index(request.transactional_id)
        producer = Producer(response.producer_id, response.producer_epoch)
        self.producers[index] = producer
        self._numbers[PRODUCERS[index].encoded()] = producer.encoded()
        self._numbers[PRODUCERS[index].encoded()[:8]] = producer.encoded()[:8]  # beside another epoch


_LEARN: Mapping[ApiKey, Callable[[Learned, Any, Any], None]] = {
    ApiKey.JOIN_GROUP: Learned._joined,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: Learned._heartbeat,
    ApiKey.INIT_PRODUCER_ID: Learned._initialized,
    ApiKey.END_TXN: Learned._initialized,
}


def error_codes(message: Message) -> list[int]:
    """All that a response says, wherever it does."""
    found = []
    for field in type(message).schema.fields:
        value = getattr(message, field.name)
        if field.name in ("error_code", "partition_error_code"):
            found.append(value)
        elif isinstance(field.type, ArrayOf) and value and isinstance(value[0], Message):
            found += [code for element in value for code in error_codes(element)]
    return found
