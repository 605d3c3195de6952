"""Random histories of consumer groups: whatever clients, topics and the log do, no partition has two owners."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ottla.common.error_code import ErrorCode
from ottla.common.uuid import Uuid
from ottla.group.consumer.group import ConsumerGroup, ConsumerGroupState
from ottla.group.consumer.member import LEAVE_GROUP_STATIC_MEMBER_EPOCH, ConsumerGroupMember
from ottla.group.group import Group
from tests.group.consumer_clients import ClassicConsumer, Consumer
from tests.group.consumer_world import GROUP, World, durable_state

TOPICS = ("t0", "t1", "t2", "u0")
SUBSCRIPTIONS = st.lists(st.sampled_from(TOPICS), max_size=3, unique=True)
REGEXES = st.sampled_from((None, None, "t.*", "t[01]", "u.*"))


class ConsumerGroups(RuleBasedStateMachine):
    """One group, with consumers of both protocols."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(group_consumer_assignment_interval_ms=1_000)
        self.consumers: list[Consumer] = []
        self.classic: list[ClassicConsumer] = []
        self.num_clients = 0
        self.seen: dict[str, int] = {}
        self.seen_group: ConsumerGroup | None = None
        self.seen_epochs = (0, 0)
        self.checked_log_size = 0
        for name in TOPICS[:2]:
            self.world.create_topic(name, 3)

    # -- clients ------------------------------------------------------------------------------------------------------

    @rule(topics=SUBSCRIPTIONS, regex=REGEXES, instance=st.sampled_from((None, None, "i0", "i1")))
    def consumer_comes(self, topics: list[str], regex: str | None, instance: str | None) -> None:
        if len(self._live()) < 6:
            self.num_clients += 1
            self.consumers.append(Consumer(f"m{self.num_clients}", topics, regex, instance))
            self.consumers[-1].beat(self.world)

    @rule(
        topics=st.lists(st.sampled_from(TOPICS), min_size=1, max_size=3, unique=True),
        is_cooperative=st.booleans(),
        instance=st.sampled_from((None, None, "i0", "i1")),
    )
    def classic_consumer_comes(self, topics: list[str], is_cooperative: bool, instance: str | None) -> None:
        if len(self._live()) < 6:
            self.classic.append(ClassicConsumer(topics, is_cooperative=is_cooperative, instance_id=instance))
            self.classic[-1].step(self.world)

    @precondition(lambda self: self.consumers)
    @rule(data=st.data(), reconciles=st.booleans(), hears=st.sampled_from((True, True, True, False)))
    def consumer_beats(self, data: st.DataObject, reconciles: bool, hears: bool) -> None:
        consumer = data.draw(st.sampled_from(self.consumers))
        if not consumer.is_gone:
            consumer.beat(self.world, reconciles=reconciles, hears=hears)

    @precondition(lambda self: self.classic)
    @rule(data=st.data())
    def classic_consumer_steps(self, data: st.DataObject) -> None:
        consumer = data.draw(st.sampled_from(self.classic))
        if not consumer.is_gone:
            consumer.step(self.world)

    @rule(times=st.integers(1, 4))
    def all_behave(self, times: int) -> None:
        for _ in range(times):
            for consumer in self.consumers:
                if not consumer.is_gone:
                    consumer.beat(self.world)
            for classic in self.classic:
                if not classic.is_gone:
                    classic.step(self.world)

    @precondition(lambda self: self.consumers)
    @rule(data=st.data(), topics=SUBSCRIPTIONS, regex=REGEXES)
    def consumer_subscribes(self, data: st.DataObject, topics: list[str], regex: str | None) -> None:
        data.draw(st.sampled_from(self.consumers)).subscribe(topics, "" if regex is None else regex)

    @precondition(lambda self: self.consumers)
    @rule(data=st.data(), for_a_while=st.booleans())
    def consumer_leaves(self, data: st.DataObject, for_a_while: bool) -> None:
        consumer = data.draw(st.sampled_from(self.consumers))
        if not consumer.is_gone:
            consumer.leave(self.world, for_a_while=for_a_while and consumer.instance_id is not None)

    @precondition(lambda self: self.classic)
    @rule(data=st.data())
    def classic_consumer_leaves(self, data: st.DataObject) -> None:
        consumer = data.draw(st.sampled_from(self.classic))
        if not consumer.is_gone:
            consumer.leave(self.world)

    @rule(data=st.data(), epoch=st.integers(-2, 12), partition=st.integers(0, 3))
    def somebody_commits(self, data: st.DataObject, epoch: int, partition: int) -> None:
        """Who is no member, or at a wrong epoch, is refused; so is an old epoch for a partition that came later."""
        names = sorted(self.world.image.topics.by_name)
        group = self.world.groups.get(GROUP)
        if not names or not isinstance(group, ConsumerGroup) or not group.members:
            return
        ids = ["stranger", *(consumer.member_id for consumer in self.consumers), *group.members]
        member_id, name = data.draw(st.sampled_from(ids)), data.draw(st.sampled_from(names))
        code = self.world.commit_offset(member_id, epoch, name, partition)
        assert (code == ErrorCode.NONE) is _may_commit(
            group.members.get(member_id), epoch, self.world.image.topics.by_name[name].id, partition
        ), (ErrorCode(code), member_id, epoch)

    # -- the world ----------------------------------------------------------------------------------------------------

    @rule(elapsed_ms=st.sampled_from((1, 500, 1_000, 5_000, 11_000, 46_000, 61_000)))
    def time_passes(self, elapsed_ms: int) -> None:
        self.world.advance(elapsed_ms)

    @rule(name=st.sampled_from(TOPICS), partitions=st.integers(1, 6))
    def topic_changes(self, name: str, partitions: int) -> None:
        topic = self.world.image.topics.topic(name)
        if topic is None:
            self.world.create_topic(name, partitions)
        elif len(topic.partitions) < partitions:
            self.world.add_partitions(name, partitions)
        elif partitions == 1:
            self.world.delete_topic(name)

    @rule(times=st.integers(1, 3), data=st.data())
    def appends_fail(self, times: int, data: st.DataObject) -> None:
        """A failed append leaves no trace."""
        before = self._state()
        self.world.appends_fail = True
        for _ in range(times):
            if live := self._live():
                client = data.draw(st.sampled_from(live))
                client.beat(self.world) if isinstance(client, Consumer) else client.step(self.world)
        self.world.appends_fail = False
        assert self._state() == before

    @rule()
    def commits_are_held_back(self) -> None:
        self.world.holds_commits = True

    @rule()
    def commits_go_on(self) -> None:
        self.world.holds_commits = False
        self.world.commit()

    @rule()
    def partition_is_loaded_again(self) -> None:
        self.commits_go_on()
        before = self._state()
        self.world.reload()
        assert self._state() == before
        self.seen_group = None
        for classic in self.classic:
            classic.lose_connection()

    # -- what must hold -----------------------------------------------------------------------------------------------

    @invariant()
    def no_partition_has_two_owners(self) -> None:
        group = self.world.groups.get(GROUP)
        if not isinstance(group, ConsumerGroup):
            return
        owner: dict[tuple[Uuid, int], str] = {}
        for member in group.members.values():
            for partition in sorted(_believed(member), key=str):
                assert owner.setdefault(partition, member.member_id) == member.member_id, partition

    @invariant()
    def members_own_nothing_that_the_coordinator_does_not_know_of(self) -> None:
        group = self.world.groups.get(GROUP)
        if not isinstance(group, ConsumerGroup):
            return
        for consumer in self.consumers:
            member = group.members.get(consumer.member_id)
            if member is not None and consumer.epoch > 0 and member.member_epoch != LEAVE_GROUP_STATIC_MEMBER_EPOCH:
                owned = {(topic_id, partition) for topic_id in consumer.owned for partition in consumer.owned[topic_id]}
                assert owned <= _believed(member), consumer.member_id
        ids = self.world.image.topics.by_name
        for classic in self.classic:
            member = group.members.get(classic.member_id)
            if member is not None and classic.knows_consumer_group and classic.generation_id == member.member_epoch:
                owned = {(ids[name].id, each) for name in classic.owned if name in ids for each in classic.owned[name]}
                existing = {topic.id for topic in ids.values()}
                believed = {each for each in _believed(member) if each[0] in existing}
                assert {each for each in owned if any(each[0] == t for t, _ in believed)} <= believed

    @invariant()
    def epochs_never_go_back(self) -> None:
        group = self.world.groups.get(GROUP)
        if not isinstance(group, ConsumerGroup):
            self.seen_group, self.seen = None, {}
            return
        if group is not self.seen_group:
            self.seen_group, self.seen, self.seen_epochs = group, {}, (0, 0)
        epochs = (group.group_epoch, group.assignment_epoch)
        assert epochs[0] >= self.seen_epochs[0]
        assert epochs[1] >= self.seen_epochs[1]
        assert group.assignment_epoch <= group.group_epoch
        self.seen_epochs = epochs
        for member_id, member in group.members.items():
            if member.member_epoch >= 0:
                assert member.member_epoch >= self.seen.get(member_id, 0)
                assert member.member_epoch <= group.assignment_epoch
                self.seen[member_id] = member.member_epoch

    @invariant()
    def the_log_tells_all(self) -> None:
        if len(self.world.log) != self.checked_log_size:
            self.checked_log_size = len(self.world.log)
            assert self._state() == _states(self.world.replayed())

    def teardown(self) -> None:
        """When all behave, the group becomes stable, and every partition has exactly one owner."""
        self.commits_go_on()
        group = None
        for _ in range(60):
            self.all_behave(1)
            self.world.advance(1_001)
            group = self.world.groups.get(GROUP)
            for check in (self.no_partition_has_two_owners, self.epochs_never_go_back):
                check()
        if isinstance(group, ConsumerGroup) and group.members:
            self._check_settled(group)

    def _check_settled(self, group: ConsumerGroup) -> None:
        world = self.world
        assert group.state is ConsumerGroupState.STABLE
        owners: dict[tuple[Uuid, int], str] = {}
        for member in group.members.values():
            for partition in _believed(member):
                assert owners.setdefault(partition, member.member_id) == member.member_id
        wanted = {
            (topic.id, partition)
            for member in group.members.values()
            for name in group.subscriptions.topics_of(member)
            if (topic := world.image.topics.topic(name)) is not None
            for partition in topic.partitions
        }
        assert owners.keys() == wanted
        for consumer in self.consumers:
            if not consumer.is_gone and consumer.member_id in group.members:
                owned = {(topic_id, partition) for topic_id in consumer.owned for partition in consumer.owned[topic_id]}
                assert owned == _believed(group.members[consumer.member_id])
        if len({tuple(group.subscriptions.topics_of(member)) for member in group.members.values()}) == 1:
            sizes = [len(_believed(member)) for member in group.members.values()]
            assert max(sizes) - min(sizes) <= 1

    def _live(self) -> list[Consumer | ClassicConsumer]:
        clients: list[Consumer | ClassicConsumer] = [*self.consumers, *self.classic]
        return [client for client in clients if not client.is_gone]

    def _state(self) -> dict[str, object]:
        return _states(self.world.groups)


def _states(groups: dict[str, Group]) -> dict[str, object]:
    return {
        group_id: durable_state(group) if isinstance(group, ConsumerGroup) else group.type
        for group_id, group in groups.items()
    }


def _believed(member: ConsumerGroupMember) -> set[tuple[Uuid, int]]:
    """What the coordinator takes a member to own."""
    return {
        (topic_id, partition)
        for partitions in (member.assigned_partitions, member.partitions_pending_revocation)
        for topic_id, epochs in partitions.items()
        for partition in epochs
    }


def _may_commit(member: ConsumerGroupMember | None, epoch: int, topic_id: Uuid, partition: int) -> bool:
    if member is None:
        return False
    if epoch == member.member_epoch:
        return True
    since = member.assignment_epoch(topic_id, partition)
    return epoch < member.member_epoch and since is not None and since <= epoch


TestConsumerGroups = ConsumerGroups.TestCase
TestConsumerGroups.settings = settings(max_examples=150, stateful_step_count=40)
