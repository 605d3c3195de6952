"""Issue 4, bad input: at least 100,000 frames over all APIs and versions, and a healthy client answered throughout.

``OTTLA_FUZZ_SEED`` repeats a run with another seed; which frames there are follows from it; their timing does not, nor
do the ids in them that the node makes.
"""

import os
import struct
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.uuid import Uuid
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.headers import encode_request, response_frame
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from ottla.server.api import Api
from ottla.server.api_tables import BROKER_APIS, CONTROLLER_APIS
from tests.fuzz.campaign import PROPERTIES, Campaign
from tests.fuzz.exclusions import is_excluded
from tests.fuzz.healthy_client import HealthyClient
from tests.fuzz.known_values import HEALTHY_GROUP, HEALTHY_TOPIC, known_values
from tests.fuzz.learned import COORDINATOR_APIS, PRODUCERS, TRANSACTIONAL_IDS, Learned
from tests.fuzz.mutations import mutated
from tests.fuzz.resources import growth
from tests.fuzz.sound_examples import sound_examples
from tests.fuzz.valid_requests import valid_requests
from tests.ottla_broker import OttlaBroker

FRAMES = 100_000
SEED = int(os.environ.get("OTTLA_FUZZ_SEED", "4"))
MEMORY_GROWTH_MAX = 0.04
RETURN_WHAT_IS_FREED = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "MALLOC_TRIM_THRESHOLD_": "65536",
}
"""For glibc: left alone, it keeps the memory of one large answer for good, at a time that nobody can foretell."""
FILES_GROWTH_MAX = 0.5
"""Files come and go with topics; a leak of one in a thousand frames would be more."""
MAY_WAIT = {struct.pack(">h", key) for key in (ApiKey.FETCH, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP)}
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
COMPLAINTS = ("Traceback (most recent call last)", "Unexpected error", "AssertionError")


def complaints(log: list[str]) -> list[str]:
    """The lines of a node's log that tell of a bug, with what stands before and after them."""
    log = _without_uncleanable(log)
    found = [number for number, line in enumerate(log) if any(complaint in line for complaint in COMPLAINTS)]
    return [line for number in found[:3] for line in log[max(number - 1, 0) : number + 40]]


def _without_uncleanable(log: list[str]) -> list[str]:
    """Leave out what the cleaner says of records that cannot be read: no bug.

    A frame may make a topic compacted that has been written to: nobody has looked at its records (docs/validation.md).
    """
    starts = [number for number, line in enumerate(log) if line.startswith("[")]
    messages = [log[start:end] for start, end in zip([0, *starts], [*starts, len(log)], strict=True)]
    return [
        line
        for message in messages
        if not ("when cleaning log" in "".join(message[:1]) and "InvalidRecordError" in "".join(message[1:]))
        for line in message
    ]


def test_a_cleaner_that_fails_for_another_reason_is_a_complaint() -> None:
    begin = ["[1] INFO before", "[2] WARNING Unexpected exception thrown when cleaning log kept-1"]
    trace = ["Traceback (most recent call last)", "  File x"]
    unreadable, bug = ["ottla.common.errors.InvalidRecordError: Found"], ["KeyError: 1"]
    assert complaints([*begin, *trace, *unreadable, "[3] INFO after"]) == []
    assert complaints([*begin, *trace, *bug, "[3] INFO after"])
    assert complaints([*begin, *trace, *unreadable, "[3] INFO after", *trace, *bug])


def test_a_hundred_thousand_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in RETURN_WHAT_IS_FREED.items():
        monkeypatch.setenv(variable, value)
    with OttlaBroker(tmp_path, PROPERTIES) as node:
        campaign = Campaign(node, FRAMES, SEED)
        report = campaign.run()
        written = campaign.client.written
        campaign.client.close()
        node.stop()
        assert report.frames >= FRAMES
        assert_every_api_was_driven(report.apis)
        assert not complaints(node.log_lines())
        assert report.checks >= FRAMES // 200
        assert {frame.data[4:6] for frame in report.held} <= MAY_WAIT, "only these may wait as long as they like"
        assert_coordinators_were_reached(campaign.codes)
        assert growth(report.resident_kib) < MEMORY_GROWTH_MAX, report.resident_kib
        assert growth(report.open_files, since_start=True) < FILES_GROWTH_MAX, report.open_files
        assert (node.log_dir / CLEAN_SHUTDOWN_FILE).exists()

        node.start()
        client = HealthyClient(node.ports.broker, node.ports.controller, HEALTHY_TOPIC, HEALTHY_GROUP)
        client.written = written
        client.find_coordinator()
        assert client.committed() == written
        assert client.read_all() == [b"record %d" % number for number in range(written)]
        client.check()
        client.close()
        node.stop()
        assert not complaints(node.log_lines())


def assert_every_api_was_driven(driven: dict[str, int]) -> None:
    expected = {
        f"{api.key.api_name} v{version}"
        for apis in (BROKER_APIS, CONTROLLER_APIS)
        for api in apis.values()
        for version in range(api.lowest, api.highest + 1)
    }
    assert set(driven) == expected
    assert min(driven.values()) >= FRAMES // len(expected) // 4


def assert_coordinators_were_reached(codes: Mapping[tuple[ApiKey, ErrorCode], int]) -> None:
    """Every API of theirs has done what it was asked to, and none has failed in a way that it has no name for."""
    assert {key for key, code in codes if code == ErrorCode.NONE} == COORDINATOR_APIS
    assert not [key.name for key, code in codes if code == ErrorCode.UNKNOWN_SERVER_ERROR]


@pytest.mark.parametrize("leak", [0.15, 0.5, 2])
def test_growth_sees_a_leak(leak: float) -> None:
    flat = [40_000 + 300 * (number % 5) for number in range(30)]
    assert abs(growth(flat)) < MEMORY_GROWTH_MAX
    assert growth([round(size * (1 + leak * number / 30)) for number, size in enumerate(flat)]) > MEMORY_GROWTH_MAX


def test_growth_does_not_mind_a_peak() -> None:
    assert growth([100] * 10 + [500] + [100] * 19) == 0


def test_complaints_are_seen() -> None:
    bug = ["INFO all is well", "ERROR Unexpected error handling Fetch", "Traceback (most recent call last):", "  File"]
    assert complaints(bug)[0] == "INFO all is well"
    assert complaints(["ERROR Closing connection after a request that cannot be read"]) == []


def test_the_frames_follow_from_the_seed() -> None:
    def frames(seed: int) -> list[bytes]:
        rng = Random(seed)
        apis: dict[ApiKey, Api] = {key: BROKER_APIS[key] for key in (ApiKey.FETCH, ApiKey.PRODUCE, ApiKey.METADATA)}
        examples = sound_examples(Uuid(bytes(15) + b"1"), 5, rng)
        valid = valid_requests(apis, 2, known_values(Uuid(bytes(15) + b"1"), 5, "/d"), examples, rng)
        return [mutated(rng.choice(requests), 1, rng).data for requests in valid]

    assert frames(1) == frames(1)
    assert frames(1) != frames(2)


def test_what_the_node_must_obey_is_excluded() -> None:
    unregister = b"\0\0\0\x11" + bytes((0, 64, 0, 0)) + bytes(4) + b"\0\0\0" + b"\0\0\0\1" + b"\0"
    assert is_excluded(unregister)
    assert not is_excluded(unregister.replace(b"\0\0\0\1\0", b"\0\0\0\2\0"))
    assert not is_excluded(unregister[:-2])


def test_a_marker_in_the_healthy_topic_is_excluded() -> None:
    def frame(topic: str) -> bytes:
        marker = WritableTxnMarker(topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[0])])
        return encode_request(ApiKey.WRITE_TXN_MARKERS, 1, 1, "fuzz", WriteTxnMarkersRequest(markers=[marker]))

    assert is_excluded(frame(HEALTHY_TOPIC))
    assert not is_excluded(frame("kept"))


def test_what_an_answer_says_is_in_the_next_frames() -> None:
    learned = Learned()
    init = InitProducerIdRequest(transactional_id=TRANSACTIONAL_IDS[1])
    (answer,) = response_frame(ApiKey.INIT_PRODUCER_ID, 4, 1, InitProducerIdResponse(producer_id=77, producer_epoch=3))
    assert isinstance(answer, (bytes, bytearray))
    end = EndTxnRequest(
        transactional_id=TRANSACTIONAL_IDS[1],
        producer_id=PRODUCERS[1].producer_id,
        producer_epoch=PRODUCERS[1].producer_epoch,
    )
    frame = encode_request(ApiKey.END_TXN, 3, 2, "fuzz", end)
    assert learned.fill(frame) == frame, "nothing is known yet"
    learned.answered(encode_request(ApiKey.INIT_PRODUCER_ID, 4, 1, "fuzz", init), memoryview(answer)[4:])
    end.producer_id, end.producer_epoch = 77, 3
    assert learned.fill(frame) == encode_request(ApiKey.END_TXN, 3, 2, "fuzz", end)
    assert learned.codes == {(ApiKey.INIT_PRODUCER_ID, ErrorCode.NONE): 1}
