"""A clock by hand and operations that write down what happens to them."""

from collections.abc import Callable

from ottla.purgatory import DelayedOperation, Purgatory, Timer, TimerTask


class ManualClock:
    """Milliseconds that pass when told."""

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms


class Note(TimerTask):
    """A task that writes its name into a list, and then does what it is told."""

    __slots__ = ("name", "notes", "then")

    def __init__(self, delay_ms: int, name: str, notes: list[str], then: Callable[[], object] = lambda: None) -> None:
        super().__init__(delay_ms)
        self.name = name
        self.notes = notes
        self.then = then

    def run(self) -> None:
        self.notes.append(self.name)
        self.then()


class Waiting(DelayedOperation):
    """Completes when `ready`; counts every call."""

    __slots__ = ("calls", "completed_times", "ready", "then", "tries")

    def __init__(self, delay_ms: int = 1000, *, ready: bool = False) -> None:
        super().__init__(delay_ms)
        self.ready = ready
        self.tries = 0
        self.calls: list[str] = []
        self.then: Callable[[], object] = lambda: None

    def try_complete(self) -> bool:
        self.tries += 1
        return self.ready and self.force_complete()

    def on_complete(self) -> None:
        self.calls.append("complete")
        self.then()

    def on_expiration(self) -> None:
        self.calls.append("expire")


class Story:
    """A purgatory, its timer and its clock."""

    def __init__(self, purge_interval: int = 1000, now_ms: int = 5) -> None:
        self.clock = ManualClock(now_ms)
        self.woken: list[int] = []
        self.timer = Timer(self.clock, on_earlier_deadline=self.woken.append)
        self.purgatory: Purgatory[Waiting] = Purgatory("Test", self.timer, purge_interval)

    def watch(self, *keys: str, delay_ms: int = 1000) -> Waiting:
        operation = Waiting(delay_ms)
        assert not self.purgatory.try_complete_else_watch(operation, keys)
        return operation

    def pass_ms(self, duration_ms: int) -> int:
        self.clock.now_ms += duration_ms
        return self.purgatory.advance(self.clock.now_ms)
