"""Which descriptors can be read: by poll, for select refuses those above 1023, which a long run of tests reaches."""

import select
from collections.abc import Iterable


def readable(descriptors: Iterable[int], timeout_s: float) -> list[int]:
    """Those that can be read, or have ended; waits for the first."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll(max(0.0, timeout_s) * 1000)]
