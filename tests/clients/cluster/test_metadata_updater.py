"""When a client asks for metadata, and for which topics: times and chance in hand."""

from random import Random

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ottla.clients.cluster.metadata_updater import MetadataSettings, MetadataUpdater, UpdatePlan
from ottla.clients.errors import KafkaTimeoutError, RebootstrapRequiredError
from ottla.common.error_code import ErrorCode
from ottla.network.client_errors import NetworkError
from ottla.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

SETTINGS = MetadataSettings(max_age_ms=10_000, rebootstrap_trigger_ms=5_000, topic_idle_ms=20_000)
RNG = Random(1)


def answer(*names: str, error: int = 0, epoch: int = 0, partition_error: int = 0) -> MetadataResponse:
    topics = [
        MetadataResponseTopic(
            name=name,
            error_code=error,
            partitions=[
                MetadataResponsePartition(
                    partition_index=0, leader_id=1, leader_epoch=epoch, error_code=partition_error
                )
            ],
        )
        for name in names
    ]
    return MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host="h", port=1)], topics=topics)


def started(settings: MetadataSettings = SETTINGS, now_ms: int = 0) -> MetadataUpdater:
    updater = MetadataUpdater(settings)
    updater.begin(now_ms)
    updater.succeeded(answer(), now_ms, RNG)
    return updater


def test_the_first_update_is_due_at_once_and_asks_for_the_nodes() -> None:
    updater = MetadataUpdater(SETTINGS)
    assert updater.is_bootstrapping
    assert updater.due_at_ms() == 0
    assert updater.begin(5) == UpdatePlan((), is_partial=False)
    updater.succeeded(answer(), 7, RNG)
    assert not updater.is_bootstrapping
    assert updater.due_at_ms() == 7 + 10_000


def test_a_new_topic_does_not_wait_and_is_asked_for_alone() -> None:
    updater = started()
    updater.use(["a"], 100)
    assert updater.due_at_ms() <= 100
    assert updater.begin(100) == UpdatePlan(("a",), is_partial=True)
    updater.use(["b"], 101)
    updater.succeeded(answer("a"), 105, RNG)
    assert updater.due_at_ms() <= 105
    assert updater.begin(106) == UpdatePlan(("b",), is_partial=True)
    updater.succeeded(answer("b"), 110, RNG)
    assert set(updater.image.topics) == {"a", "b"}
    assert updater.due_at_ms() == 10_110


def test_an_update_that_is_wanted_asks_for_all_that_is_wanted() -> None:
    updater = started()
    updater.want({"b"})
    updater.use(["a"], 10)
    updater.request_update()
    assert updater.begin(10) == UpdatePlan(("a", "b"), is_partial=False)


def test_all_topics() -> None:
    updater = started()
    updater.want(None)
    assert updater.due_at_ms() == 0
    assert updater.begin(1) == UpdatePlan(None, is_partial=False)
    updater.succeeded(answer("a", "b"), 2, RNG)
    updater.want(None)
    assert updater.due_at_ms() == 10_002, "nothing new is wanted"
    updater.use(["c"], 3)
    assert updater.begin(3) == UpdatePlan(("c",), is_partial=True), "asked for by name, so that it can be made"


def test_a_topic_that_nobody_uses_is_forgotten() -> None:
    updater = started()
    updater.use(["a", "b"], 0)
    updater.begin(1)
    updater.succeeded(answer("a", "b"), 1, RNG)
    updater.use(["b"], 15_000)
    assert updater.begin(20_001) == UpdatePlan(("b",), is_partial=False)
    updater.succeeded(answer("b"), 20_002, RNG)
    assert set(updater.image.topics) == {"b"}


def test_failures_wait_longer_and_longer_and_what_was_wanted_stays_wanted() -> None:
    updater = started()
    updater.use(["a"], 0)
    delays = []
    now_ms = 0
    for _ in range(6):
        assert updater.begin(now_ms) == UpdatePlan(("a",), is_partial=True)
        updater.failed(NetworkError("lost"), now_ms, RNG)
        delays.append(updater.due_at_ms() - now_ms)
        now_ms = updater.due_at_ms()
    for delay, expected in zip(delays, (100, 200, 400, 800, 1_000, 1_000), strict=True):
        assert 0.8 * expected <= delay <= min(1.2 * expected, 1_000)
    updater.use(["b"], now_ms)
    assert updater.due_at_ms() == now_ms, "a new topic does not cut a failure's back-off short"
    assert updater.begin(now_ms) == UpdatePlan(("a", "b"), is_partial=True)
    updater.succeeded(answer("a", "b"), now_ms, RNG)
    assert updater.last_error is None
    assert updater.due_at_ms() == now_ms + 10_000


def test_the_same_answer_again_and_again_is_asked_for_more_seldom() -> None:
    updater = started()
    updater.use(["a"], 0)
    updater.begin(0)
    updater.succeeded(answer("a", error=ErrorCode.LEADER_NOT_AVAILABLE), 0, RNG)
    assert updater.due_at_ms() == 0, "the answer was new, and says itself that it is out of date"
    waits = []
    now_ms = 0
    for _ in range(5):
        updater.begin(now_ms)
        updater.succeeded(answer("a", error=ErrorCode.LEADER_NOT_AVAILABLE), now_ms, RNG)
        waits.append(updater.due_at_ms() - now_ms)
        now_ms = updater.due_at_ms()
    assert waits[0] >= 80
    assert waits[-1] >= 800
    updater.begin(now_ms)
    updater.succeeded(answer("a", epoch=1), now_ms, RNG)
    assert updater.due_at_ms() == now_ms + 10_000
    updater.request_update()
    assert updater.due_at_ms() == now_ms, "after a change the next may come at once"


def test_a_partition_without_a_leader_is_asked_for_again() -> None:
    updater = started()
    updater.use(["a"], 0)
    updater.begin(0)
    updater.succeeded(answer("a", partition_error=ErrorCode.LEADER_NOT_AVAILABLE), 3, RNG)
    assert updater.due_at_ms() == 3


def test_an_error_that_stays_is_not_asked_for_again() -> None:
    updater = started()
    updater.use(["a"], 0)
    updater.begin(0)
    updater.succeeded(answer("a", error=ErrorCode.TOPIC_AUTHORIZATION_FAILED), 3, RNG)
    assert updater.due_at_ms() == 10_003


def test_after_too_long_without_an_answer_the_bootstrap_servers_are_asked() -> None:
    updater = started()
    updater.request_update()
    updater.begin(100)
    updater.failed(KafkaTimeoutError("slow"), 5_100, RNG)
    assert not updater.is_bootstrapping, "exactly as long as allowed"
    updater.begin(6_000)
    updater.failed(KafkaTimeoutError("slow"), 6_500, RNG)
    assert updater.is_bootstrapping
    assert updater.asks_known_nodes
    updater.begin(7_000)
    updater.succeeded(answer(), 7_001, RNG)
    assert not updater.is_bootstrapping


def test_without_a_recovery_strategy_known_nodes_are_all_there_is() -> None:
    updater = started(SETTINGS._replace(rebootstrap_trigger_ms=None))
    updater.nodes_lost()
    updater.begin(0)
    updater.failed(NetworkError("lost"), 10**9, RNG)
    assert not updater.is_bootstrapping


def test_a_broker_can_send_us_back_to_the_bootstrap_servers() -> None:
    updater = started()
    updater.begin(10_000)
    updater.succeeded(MetadataResponse(error_code=ErrorCode.REBOOTSTRAP_REQUIRED), 10_001, RNG)
    assert updater.is_bootstrapping
    assert not updater.asks_known_nodes
    assert isinstance(updater.last_error, RebootstrapRequiredError)
    updater.begin(10_500)
    updater.succeeded(answer(), 10_501, RNG)
    assert updater.asks_known_nodes


def test_an_answer_without_brokers_is_none() -> None:
    updater = MetadataUpdater(SETTINGS)
    updater.begin(0)
    updater.succeeded(MetadataResponse(), 1, RNG)
    assert updater.is_bootstrapping
    assert updater.last_error is not None
    assert updater.updated_at_ms is None


class Updates(RuleBasedStateMachine):
    """Anything in any order: what is wanted is asked for in the end, and never too often."""

    def __init__(self) -> None:
        super().__init__()
        self.updater = MetadataUpdater(SETTINGS)
        self.now_ms = 0
        self.plan: UpdatePlan | None = None
        self.wanted: set[str] = set()
        self.rng = Random(2)

    names = st.sampled_from("abcd")

    @rule(names=st.sets(names))
    def want(self, names: set[str]) -> None:
        self.updater.want(names)
        self.wanted = names

    @rule(name=names)
    def use(self, name: str) -> None:
        self.updater.use([name], self.now_ms)

    @rule()
    def request(self) -> None:
        self.updater.request_update()

    @rule(duration_ms=st.sampled_from([1, 50, 100, 1_000, 12_000, 30_000]))
    def wait(self, duration_ms: int) -> None:
        self.now_ms += duration_ms

    @precondition(lambda self: self.plan is None and self.updater.due_at_ms() <= self.now_ms)
    @rule()
    def begin(self) -> None:
        self.plan = self.updater.begin(self.now_ms)
        if not self.plan.is_partial:
            assert self.plan.topics is not None
            assert self.wanted <= set(self.plan.topics)

    @precondition(lambda self: self.plan is not None)
    @rule()
    def succeed(self) -> None:
        assert self.plan is not None
        self.updater.succeeded(answer(*(self.plan.topics or ())), self.now_ms, self.rng)
        self.plan = None

    @precondition(lambda self: self.plan is not None)
    @rule()
    def fail(self) -> None:
        self.updater.failed(NetworkError("lost"), self.now_ms, self.rng)
        self.plan = None
        assert self.updater.due_at_ms() >= self.now_ms + 80
        assert self.updater.due_at_ms() <= self.now_ms + 1_000

    @invariant()
    def a_wanted_topic_that_is_not_known_is_due_or_under_way(self) -> None:
        missing = self.wanted - set(self.updater.image.topics)
        asked = set() if self.plan is None else set(self.plan.topics or ())
        if missing - asked and self.plan is None:
            assert self.updater.due_at_ms() <= self.now_ms + 1_000

    @invariant()
    def the_image_is_never_much_too_old(self) -> None:
        updated_at_ms = self.updater.updated_at_ms
        if updated_at_ms is not None and self.plan is None:
            assert self.updater.due_at_ms() <= max(updated_at_ms + 10_000, self.now_ms + 1_000)


TestUpdates = Updates.TestCase
