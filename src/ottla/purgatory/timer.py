"""A timer over hierarchical timing wheels, for one reactor: no threads, no locks, safe to call from its own tasks."""

import sys
from collections.abc import Callable
from heapq import heappop
from itertools import islice

from ottla.purgatory.timing_wheel import NOT_QUEUED, Bucket, BucketQueue, TaskCount, TimerTask, TimingWheel


def _nobody_waits(_deadline_ms: int) -> None:
    pass


class Timer:
    """Runs tasks when their delay has passed.

    `now_ms` reads a monotonic clock; `on_earlier_deadline` hears when the next deadline has moved forward, so that a
    driver can arm the reactor's own timer rather than poll. The driver calls `advance` at `next_deadline_ms`.

    Tasks that run may add and cancel tasks, and advance this timer. Where a task raises, the exception leaves
    `advance`; the tasks behind it stay due and run in the next one.
    """

    __slots__ = ("_count", "_due", "_now_ms", "_queue", "_wheel", "expired", "on_earlier_deadline")

    def __init__(
        self,
        now_ms: Callable[[], int],
        tick_ms: int = 1,
        wheel_size: int = 20,
        on_earlier_deadline: Callable[[int], None] = _nobody_waits,
    ) -> None:
        self._now_ms = now_ms
        self.on_earlier_deadline = on_earlier_deadline
        self._count = TaskCount()
        self._queue: BucketQueue = []
        self._wheel = TimingWheel(tick_ms, wheel_size, now_ms(), self._count, self._queue)
        self._due = Bucket(self._count)  # expired and not yet run; a bucket, so that cancelling them is no special case
        self.expired = 0  # how many tasks have run

    @property
    def size(self) -> int:
        """The number of tasks that wait."""
        return self._count.value

    def add(self, task: TimerTask) -> None:
        """Runs the task `task.delay_ms` from now: at once, before this returns, when that is not positive.

        A task that already waits is moved.
        """
        if task.bucket is not None:
            task.cancel()
        now_ms = self._now_ms()
        task.expiration_ms = now_ms + task.delay_ms
        wheel = self._wheel
        queue = self._queue
        head_ms = queue[0][0] if queue else sys.maxsize
        if now_ms < head_ms and now_ms >= wheel.clock_ms + wheel.interval_ms:
            wheel.advance(now_ms)  # after an idle time: else the task would begin in a needlessly coarse wheel
        if task.delay_ms <= 0 or not wheel.add(task):
            self.expired += 1
            task.run()
            return
        self._count.value += 1
        if queue[0][0] < head_ms:
            self.on_earlier_deadline(queue[0][0])

    def advance(self, now_ms: int, limit: int = sys.maxsize) -> int:
        """Runs the tasks that are due, in the order of their expirations, `limit` at most; answers how many ran.

        Those beyond the limit stay due: `next_deadline_ms` then lies in the past, so that a driver comes back at once.
        """
        queue = self._queue
        wheel = self._wheel
        while queue and queue[0][0] <= now_ms:
            expiration_ms, _, bucket = heappop(queue)
            wheel.advance(expiration_ms)
            self._flush(bucket)
        wheel.advance(now_ms)
        return self._run_due(limit)

    def next_deadline_ms(self) -> int | None:
        """When to call `advance` next; None while nothing waits.

        This is the start of a bucket, at or before the first expiration: a coarse bucket is emptied into finer ones
        then.
        """
        if self._due.tasks:
            return self._wheel.clock_ms
        queue = self._queue
        while queue:
            expiration_ms, _, bucket = queue[0]
            if bucket.tasks:
                return expiration_ms
            heappop(queue)  # all its tasks were cancelled: no reason to wake for it
            bucket.expiration_ms = NOT_QUEUED
        return None

    def _flush(self, bucket: Bucket) -> None:
        tasks = bucket.tasks
        bucket.tasks = {}
        bucket.expiration_ms = NOT_QUEUED
        due = self._due
        add = self._wheel.add
        for task in tasks:
            if not add(task):
                task.bucket = due
                due.tasks[task] = None

    def _run_due(self, limit: int) -> int:
        due = self._due
        if not due.tasks:
            return 0
        ran = 0
        for task in list(islice(due.tasks, limit)):
            if task.bucket is due:  # not cancelled by a task before it
                task.cancel()
                ran += 1
                self.expired += 1
                task.run()
        return ran
