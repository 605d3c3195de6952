"""Valid requests to both listeners of a node, for every API and version that they serve."""

import struct
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import encode
from ottla.protocol.headers import flexible_from
from ottla.protocol.messages.produce import ProduceRequest
from ottla.server.api import Api
from tests.fuzz.batches import damaged_batch, sound_batch
from tests.fuzz.spans import Span, spans
from tests.random_messages import random_message

_HEADER = struct.Struct(">hhih")
CLIENT_ID = b"fuzz"
CORRELATION_POSITION = 4
_DAMAGED_BATCHES = 2
"""Produce requests with a damaged batch, for each with a sound one."""


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
    apis: Mapping[ApiKey, Api], each: int, known: Mapping[str, Sequence[Any]], rng: Random
) -> list[list[Valid]]:
    """``each`` requests for every API and version, one list for each of them."""
    return [
        [_valid(api.key, version, known, rng) for _ in range(each)]
        for api in apis.values()
        for version in range(api.lowest, api.highest + 1)
    ]


def _valid(api_key: ApiKey, version: int, known: Mapping[str, Sequence[Any]], rng: Random) -> Valid:
    message = random_message(api_key.request_class, version, rng, 1, known)
    if isinstance(message, ProduceRequest):
        _fill_with_batches(message, rng)
    body = encode(message, version)
    return Valid(api_key, version, request_header(api_key, version), body, spans(type(message), version, body))


def _fill_with_batches(message: ProduceRequest, rng: Random) -> None:
    """Batches instead of random bytes."""
    for topic in message.topic_data:
        for partition in topic.partition_data:
            partition.records = bytes(
                sound_batch(rng) if rng.random() < 1 / (1 + _DAMAGED_BATCHES) else damaged_batch(rng)
            )


def frame(data: bytes, correlation_id: int) -> bytes:
    """A request with its size and correlation id, as far as it has room for one."""
    if len(data) >= CORRELATION_POSITION + 4:
        data = data[:CORRELATION_POSITION] + struct.pack(">i", correlation_id) + data[CORRELATION_POSITION + 4 :]
    return struct.pack(">i", len(data)) + data
