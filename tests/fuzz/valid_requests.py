"""Valid requests to both listeners of a node, for every API and version that they serve."""

import struct
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from ottla.common.uuid import Uuid
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import encode
from ottla.protocol.headers import flexible_from
from ottla.protocol.message import Message
from ottla.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.records.batch import ATTRIBUTES_POSITION, TRANSACTIONAL_FLAG
from ottla.server.api import Api
from tests.fuzz.batches import damaged_batch, sound_batch
from tests.fuzz.learned import TRANSACTIONAL_IDS
from tests.fuzz.spans import Span, spans
from tests.random_messages import random_message

_HEADER = struct.Struct(">hhih")
CLIENT_ID = b"fuzz"
CORRELATION_POSITION = 4
DAMAGED_SHARE = 0.8
_ACKS = (-1, -1, -1, 1, 1, 1, 0)


class Valid(NamedTuple):
    """A request without its size: what mutations begin with."""

    api_key: ApiKey
    version: int
    header: bytes
    body: bytes
    spans: Sequence[Span]
    """Of the body."""


def request_header(api_key: ApiKey, version: int) -> bytes:
    """A header with correlation id 0."""
    header = _HEADER.pack(api_key, version, 0, len(CLIENT_ID)) + CLIENT_ID
    return header + b"\0" if version >= flexible_from(api_key) else header


def valid_requests(
    apis: Mapping[ApiKey, Api],
    each: int,
    known: Mapping[str, Sequence[Any]],
    examples: Mapping[ApiKey, Sequence[Message]],
    rng: Random,
) -> list[list[Valid]]:
    """For every API and version a list: ``each`` random requests, and the examples that there are."""
    return [
        [
            *(valid_request(_random(api.key, version, known, rng), api.key, version) for _ in range(each)),
            *(valid_request(message, api.key, version) for message in examples.get(api.key, ())),
        ]
        for api in apis.values()
        for version in range(api.lowest, api.highest + 1)
    ]


def produce_request(
    version: int, topic: str, topic_id: Uuid, producers: Sequence[tuple[int, int]], rng: Random
) -> Valid:
    """A sound request with one batch, which is mostly damaged; ``producers`` are those of the transactional ids."""
    make = damaged_batch if rng.random() < DAMAGED_SHARE else sound_batch
    batch = bytes(make(rng, producers))
    is_transactional = len(batch) > ATTRIBUTES_POSITION + 1 and batch[ATTRIBUTES_POSITION + 1] & TRANSACTIONAL_FLAG
    partition = PartitionProduceData(index=rng.choice((0, 0, 1)), records=batch)
    message = ProduceRequest(
        transactional_id=rng.choice(TRANSACTIONAL_IDS) if is_transactional else None,
        acks=rng.choice(_ACKS),
        timeout_ms=100,
        topic_data=[TopicProduceData(name=topic, topic_id=topic_id, partition_data=[partition])],
    )
    header = request_header(ApiKey.PRODUCE, version)
    return Valid(ApiKey.PRODUCE, version, header, encode(message, version), ())


def _random(api_key: ApiKey, version: int, known: Mapping[str, Sequence[Any]], rng: Random) -> Message:
    message = random_message(api_key.request_class, version, rng, 1, known)
    if isinstance(message, ProduceRequest):
        for topic in message.topic_data:
            for partition in topic.partition_data:
                partition.records = bytes(sound_batch(rng))
    return message


def valid_request(message: Message, api_key: ApiKey, version: int) -> Valid:
    """A message in a version."""
    body = encode(message, version)
    return Valid(api_key, version, request_header(api_key, version), body, spans(type(message), version, body))


def frame(data: bytes, correlation_id: int) -> bytes:
    """A request with its size and correlation id, as far as it has room for one."""
    if len(data) >= CORRELATION_POSITION + 4:
        data = data[:CORRELATION_POSITION] + struct.pack(">i", correlation_id) + data[CORRELATION_POSITION + 4 :]
    return struct.pack(">i", len(data)) + data
