"""Random histories of a coordinator: commits that lag, appends that fail, leaders that come and go."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.runtime.completion import Completion
from tests.coordinator.coordinator_world import PARTITION, World, run

NAMES = st.sampled_from(["a", "b", "c"])


class CoordinatorHistories(RuleBasedStateMachine):
    """What is answered is committed and true for ever; what failed before the log was reached never was."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(autocommit=False)
        self.leader_epoch = 0
        self.log: list[tuple[str, str]] = []  # what each offset says
        self.waiting: list[tuple[Completion[str | None], int, str | None]] = []
        self.counter = 0
        self.elect()

    @rule()
    def elect(self) -> None:
        """A new leader epoch: whatever waits gets no answer from the old one."""
        self.leader_epoch += 1
        self.world.partition.give_up(ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        self.world.runtime.load(PARTITION, self.leader_epoch)
        for completion, _, _ in self.waiting:
            assert completion.error is not None
            assert completion.error.code == ErrorCode.NOT_COORDINATOR
        self.waiting.clear()
        run(self.world.runtime.load_next())

    def expected(self, name: str) -> str | None:
        return next((text for one, text in reversed(self.log) if one == name), None)

    @rule(name=NAMES)
    def write(self, name: str) -> None:
        before = self.expected(name)
        self.counter += 1
        completion = self.world.put(name, str(self.counter))
        self.log.append((name, str(self.counter)))
        self.waiting.append((completion, len(self.log), before))

    @rule(name=NAMES)
    def read(self, name: str) -> None:
        self.waiting.append((self.world.get(name), len(self.log), self.expected(name)))

    @rule(name=NAMES)
    def fail(self, name: str) -> None:
        self.world.partition.refusal = ApiError(ErrorCode.NOT_ENOUGH_REPLICAS)
        assert self.world.put(name, "never").error is not None
        self.world.partition.refusal = None

    @rule(by=st.integers(1, 3))
    def commit(self, by: int) -> None:
        self.world.partition.commit(self.world.partition.high_watermark + by)

    @invariant()
    def answered_when_committed(self) -> None:
        high_watermark = self.world.partition.high_watermark
        still = []
        for completion, needs, expected in self.waiting:
            assert completion.is_done == (needs <= high_watermark)
            if completion.is_done:
                assert completion.result() == expected
            else:
                still.append((completion, needs, expected))
        self.waiting = still


TestCoordinatorHistories = CoordinatorHistories.TestCase
TestCoordinatorHistories.settings = settings(max_examples=100, stateful_step_count=40)
