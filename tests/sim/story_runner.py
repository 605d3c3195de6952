"""Tells a durability story up to a power loss, and looks at what is left in several ways."""

from collections.abc import Callable, Iterator
from random import Random

from tests.sim.crash_files import CrashFiles, CrashPolicy, PowerLoss
from tests.sim.machine import Machine
from tests.sim.stories import STORIES

DATA_DIRECTORIES = 2
AFTERMATHS = (
    (CrashPolicy.DROP_UNSYNCED, 0),
    (CrashPolicy.KEEP_ALL, 0),
    (CrashPolicy.RANDOM, 1),
    (CrashPolicy.RANDOM, 2),
    (CrashPolicy.RANDOM, 3),
)
"""Losing everything that can be lost, being killed, and three draws of what lies between."""
SWAP_AFTERMATHS = (
    *AFTERMATHS,
    (CrashPolicy.REORDERED, 1),
    (CrashPolicy.REORDERED, 2),
    (CrashPolicy.REORDERED, 3),
)
"""The swap of compaction does not even trust a directory to keep the order of its changes."""


class StoryFailedError(AssertionError):
    """What was wrong, and how to see it again."""


def tell(
    name: str, changes: int | None, prepare: Callable[[CrashFiles], None] = lambda _: None
) -> tuple[Machine, bool]:
    """Run a story until its ``changes``-th change after the set-up, or to its end; whether it got there."""
    machine = Machine(DATA_DIRECTORIES if "future" in name else 1)
    prepare(machine.disk)
    story = STORIES[name](machine)
    next(story)
    if changes is not None:
        machine.disk.power_off_after(changes)
    try:
        for _ in story:
            pass
    except PowerLoss:
        return machine, False
    return machine, True


def look(name: str, machine: Machine, changes: int | None) -> None:
    """Start again on what each aftermath leaves, and check."""
    for policy, seed in SWAP_AFTERMATHS if "swap" in name else AFTERMATHS:
        after = machine.crashed(Random(f"{name} {changes} {seed}"), policy)
        try:
            after.reboot()
        except Exception as problem:
            raise StoryFailedError(f"{name}, after {changes} changes, {policy.name} {seed}: {problem!r}") from problem


def every_step(
    name: str, prepare: Callable[[CrashFiles], None] = lambda _: None, first: int = 0
) -> Iterator[tuple[int, Machine]]:
    """The machine as each step leaves it, up to the end of the story."""
    changes, finished = first, False
    while not finished:
        machine, finished = tell(name, changes, prepare)
        yield changes, machine
        changes += 1
