"""Every bit of every batch header that the CRC does not cover: caught, or one of the blind spots that the docs list."""

from collections import Counter
from pathlib import Path

import pytest

from ottla.log.loader import load_log
from ottla.records.builder import SimpleRecord, build_batch
from ottla.runtime.inline import ManualClock, run
from tests.log import blind_spots
from tests.log.blind_spots import UNCOVERED_BYTES, blind_spot, costs_one_more
from tests.log.damage_template import CONFIG, StoredBatch, Template, stored_batches_of, template
from tests.log.partition_disk import DIRECTORY, NOW_MS, contents_of, new_context, observe, open_log
from tests.sim.crash_files import CrashFiles

SLICES = 4
NAMES = (
    blind_spots.LAST_OFFSET,
    blind_spots.LAST_EPOCH,
    blind_spots.EPOCH_CHANGE,
    blind_spots.GAP,
    blind_spots.COSTS_ONE_MORE,
)
RECOVERY_DOC = Path(__file__).parents[2] / "docs" / "recovery.md"


def seen_blind_spots(made: Template, batches: tuple[StoredBatch, ...]) -> Counter[str]:
    """Flip every bit, recover, and check each outcome against the list; how often each blind spot was hit."""
    seen: Counter[str] = Counter()
    whole = made.recovered.batches
    for damaged in batches:
        for byte in UNCOVERED_BYTES:
            for bit in range(8):
                data = bytearray(made.contents[damaged.file_name])
                data[damaged.position + byte] ^= 1 << bit
                observed = observe(open_log({**made.contents, damaged.file_name: bytes(data)}, CONFIG))
                spot = blind_spot(made, damaged, byte, bit)
                where = f"batch {damaged.number}, header byte {byte}, bit {bit}: {spot}"
                if spot is None:
                    lost = costs_one_more(made, damaged, byte, bit)
                    seen[blind_spots.COSTS_ONE_MORE] += lost
                    assert observed.batches == whole[: damaged.number - lost], where
                    assert all(start < observed.log_end_offset for _, start in observed.epochs), where
                else:
                    flipped = bytes(data[damaged.position : damaged.position + len(damaged.data)])
                    rest = whole[damaged.number + 1 :]
                    assert observed.batches == (*whole[: damaged.number], flipped, *rest), where
                    seen[spot] += 1
    return seen


@pytest.mark.parametrize("part", range(SLICES))
def test_every_uncovered_bit_is_caught_or_a_listed_blind_spot(part: int) -> None:
    made = template()
    seen = seen_blind_spots(made, made.batches[part::SLICES])
    last = made.batches[-1] in made.batches[part::SLICES]
    assert (blind_spots.LAST_OFFSET in seen) == last
    assert (blind_spots.LAST_EPOCH in seen) == last
    assert not seen[blind_spots.GAP] and not seen[blind_spots.COSTS_ONE_MORE]


def test_every_uncovered_bit_in_a_log_with_gaps() -> None:
    """As a follower has it that copies a compacted partition."""
    made = template_with_gaps()
    seen = seen_blind_spots(made, made.batches)
    assert set(+seen) == set(NAMES)


def template_with_gaps() -> Template:
    clock = ManualClock(NOW_MS)
    files = CrashFiles(clock)
    log = load_log(new_context(files, clock), DIRECTORY, CONFIG)
    for base_offset, epoch in ((0, 0), (2, 0), (9, 0), (12, 3), (40, 3), (42, 3)):
        records = [SimpleRecord(clock.now_ms(), b"key", b"value") for _ in range(2)]
        log.append_as_follower(build_batch(records, base_offset=base_offset, leader_epoch=epoch), epoch)
    run(log.flush())
    contents = contents_of(files)
    return Template(contents, stored_batches_of(contents), observe(open_log(contents, CONFIG)), observe(log))


def test_the_docs_list_the_blind_spots() -> None:
    listed = RECOVERY_DOC.read_text()
    for name in NAMES:
        assert f"| {name} |" in listed
