"""Bit flips in every kind of file of a partition, then an unclean start: no start fails, nothing damaged is served.

At least 10,000 flips in all (``FLIPS``), each from its own seed, so that a failure names what to look at.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from random import Random
from typing import NamedTuple

import pytest

from ottla.log import names, segment_recovery
from ottla.log.leader_epochs import LEADER_EPOCH_CHECKPOINT
from ottla.log.log import Log
from ottla.log.partition_metadata import PARTITION_METADATA_FILE
from ottla.records.batch import RecordBatch
from tests.log.blind_spots import blind_spot
from tests.log.damage_template import CONFIG, TOPIC_ID, Template, template
from tests.log.partition_disk import Contents, observe, open_log, read_everything, split_batches

FLIPS = {
    ".log": 5000,
    ".index": 900,
    ".timeindex": 900,
    ".txnindex": 900,
    ".snapshot": 900,
    LEADER_EPOCH_CHECKPOINT: 800,
    PARTITION_METADATA_FILE: 600,
}
FLIPS_A_TEST = 300
TESTS = [(kind, first) for kind, count in FLIPS.items() for first in range(0, count, FLIPS_A_TEST)]


class Flip(NamedTuple):
    """One bit of one file."""

    name: str
    position: int
    bit: int

    def applied_to(self, contents: Contents) -> dict[str, bytes]:
        data = bytearray(contents[self.name])
        data[self.position] ^= 1 << self.bit
        return {**contents, self.name: bytes(data)}


def random_flip(contents: Contents, kind: str, rng: Random, *, below: int | None = None) -> Flip:
    """A flip in a file of this kind, in a segment below an offset if one is given; each bit is equally likely."""
    candidates = [
        name
        for name, data in sorted(contents.items())
        if name.endswith(kind) and data and (below is None or names.offset_from_file_name(name) < below)
    ]
    name = rng.choices(candidates, [len(contents[name]) for name in candidates])[0]
    return Flip(name, rng.randrange(len(contents[name])), rng.randrange(8))


def flips(kind: str, first: int) -> Iterator[tuple[Flip, Random]]:
    for number in range(first, min(first + FLIPS_A_TEST, FLIPS[kind])):
        rng = Random(f"{kind} {number}")
        yield random_flip(template().contents, kind, rng), rng


def check_recovered(made: Template, flip: Flip, log: Log) -> None:
    """The invariant: the sound prefix, byte for byte, and with an intact record file everything there was."""
    observed = observe(log)
    before, after = made.recovered, observed
    if names.is_log_file(flip.name):
        damaged = made.batch_at(flip.name, flip.position)
        sound = before.batches[: damaged.number]
        if blind_spot(made, damaged, flip.position - damaged.position, flip.bit) is None:
            assert after.batches == sound
            assert after.log_end_offset == damaged.view.base_offset
        else:
            assert after.batches[: damaged.number] == sound
        assert tuple(read_everything(log)) == after.batches
        return
    if flip.name == PARTITION_METADATA_FILE:
        # The file has no checksum: a flip may give another id, never a failure; the controller knows the right one.
        assert log.topic_id is None or log.topic_id == TOPIC_ID or len(log.topic_id.bytes) == 16
    else:
        assert log.topic_id == TOPIC_ID
    assert after == before


@pytest.mark.parametrize(("kind", "first"), TESTS)
def test_unclean_start_after_a_bit_flip(kind: str, first: int) -> None:
    made = template()
    for flip, rng in flips(kind, first):
        with on_failure(flip):
            log = open_log(flip.applied_to(made.contents), CONFIG, recovery_point=rng.choice((0, 1, 5)))
            check_recovered(made, flip, log)


def test_there_are_ten_thousand_flips() -> None:
    assert sum(FLIPS.values()) >= 10_000
    assert sum(1 for kind, first in TESTS for _ in flips(kind, first)) == sum(FLIPS.values())


RECOVERY_POINT = 53
"""Where the third segment begins: the first two are sealed and flushed."""


@pytest.mark.parametrize("kind", [".log", ".index", ".timeindex", ".txnindex", ".snapshot"])
def test_damage_below_the_recovery_point(kind: str) -> None:
    """Nothing there is scanned. A start succeeds, and a damaged index never leads a reader astray."""
    made = template()
    for number in range(400):
        flip = random_flip(made.contents, kind, Random(f"below {kind} {number}"), below=RECOVERY_POINT)
        with on_failure(flip):
            log = open_log(flip.applied_to(made.contents), CONFIG, recovery_point=RECOVERY_POINT)
            if kind != ".log":
                check_reads(made, log)
                assert observe(log).producers == made.recovered.producers
            assert log.log_end_offset == made.recovered.log_end_offset


def check_reads(made: Template, log: Log) -> None:
    """Every offset is found where it is, whatever the index says."""
    for batch in made.batches:
        for offset in (batch.view.base_offset, batch.view.last_offset):
            first = split_batches(log.read(offset, 1).read())[0]
            assert first == batch.data, f"offset {offset}"


def test_several_flips_at_once() -> None:
    """Whatever is damaged together, whole batches before the first damaged byte stay, and a start never fails."""
    made = template()
    for number in range(500):
        rng = Random(f"several {number}")
        contents: Contents = made.contents
        flipped: list[Flip] = []
        for _ in range(rng.randint(2, 6)):
            flip = random_flip(contents, rng.choice(sorted(FLIPS)), rng)
            flipped.append(flip)
            contents = flip.applied_to(contents)
        with on_failure(*flipped):
            log = open_log(contents, CONFIG)
            in_log = [made.batch_at(flip.name, flip.position) for flip in flipped if names.is_log_file(flip.name)]
            first_damaged = min((batch.number for batch in in_log), default=len(made.batches))
            kept = observe(log).batches
            assert kept[:first_damaged] == made.recovered.batches[:first_damaged]


def test_the_check_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the CRC check, damage in record bytes goes through and the invariant above breaks."""
    made = template()
    damaged = made.batches[3]
    flip = Flip(damaged.file_name, damaged.position + len(damaged.data) - 3, 0)
    contents = flip.applied_to(made.contents)
    check_recovered(made, flip, open_log(contents, CONFIG))
    stored_crc = RecordBatch(damaged.data).crc
    monkeypatch.setattr(segment_recovery, "crc32c", lambda data: _AnyCrc(stored_crc))
    with pytest.raises(AssertionError):
        check_recovered(made, flip, open_log(contents, CONFIG))


class _AnyCrc(int):
    """A CRC that matches every other."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = int.__hash__


def on_failure(*flipped: Flip) -> AbstractContextManager[None]:
    return _Naming(flipped)


class _Naming(AbstractContextManager[None]):
    """Says which flip a failure is about."""

    def __init__(self, flipped: tuple[Flip, ...]) -> None:
        self._flipped = flipped

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        if error is not None:
            error.add_note(f"after {', '.join(map(str, self._flipped))}")
