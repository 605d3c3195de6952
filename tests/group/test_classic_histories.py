"""Random histories of a classic group: members come, stall, crash and come back, writes fail, coordinators change."""

from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.group.classic.state import ClassicGroupState
from ottla.protocol.messages.join_group import JoinGroupResponse
from ottla.protocol.messages.sync_group import SyncGroupResponse
from tests.group.classic_client import Asked, Client, Clients
from tests.group.classic_world import GROUP, World

INSTANCES = ["a", "b"]
PROTOCOLS = ["range", "sticky"]  # everybody supports both: the log knows only the one that was chosen
ACTIONS = ["behave", "behave", "join_again", "sync_again", "subscribe", "restart", "crash", "leave"]
STALE = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION}
TROUBLES = ["hold", "hold", "commit", "commit", "fail append", "fail commits", "remove", "reload"]
STEP_MS = 1_000
REBALANCE_MS_MAX = 20_000
SESSION_MS_MAX = 9_000


class ClassicGroupHistory(RuleBasedStateMachine):
    """See the module. At the end everybody behaves, and the group must get stable and stay so."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.clients = Clients()
        self.live: list[Client] = []
        self.num_clients = self.num_subscriptions = 0
        self.num_coordinators = 0
        self.seen: list[tuple[str, int, str | None]] = []
        self.protocols: dict[tuple[int, int], str | None] = {}
        self.serials: dict[tuple[int, int], str] = {}
        self.members_of: dict[str, set[str]] = {}
        """The ids that a static member has had, by its instance id."""
        self.open_joins: list[Asked[JoinGroupResponse]] = []
        self.open_syncs: list[Asked[SyncGroupResponse]] = []
        self.num_joins = self.num_syncs = 0

    # -- what happens -------------------------------------------------------------------------------------------------

    @initialize(instances=st.lists(st.none() | st.sampled_from(INSTANCES), min_size=1, max_size=4))
    def start_some(self, instances: list[str | None]) -> None:
        """Some processes run when it begins."""
        for instance_id in instances:
            self.start(instance_id, 9, PROTOCOLS, SESSION_MS_MAX, REBALANCE_MS_MAX)
        self.all_behave(10)

    @rule(
        instance_id=st.none() | st.sampled_from(INSTANCES),
        api_version=st.sampled_from([1, 3, 4, 8, 9]),
        protocols=st.permutations(PROTOCOLS),
        session_ms=st.sampled_from([6_000, SESSION_MS_MAX]),
        rebalance_ms=st.sampled_from([5_000, REBALANCE_MS_MAX]),
    )
    def start(
        self, instance_id: str | None, api_version: int, protocols: list[str], session_ms: int, rebalance_ms: int
    ) -> None:
        """A process starts, perhaps with the instance id of one that runs."""
        self.num_clients += 1
        offered = [(name, b"%d" % self.num_clients) for name in protocols]
        client = Client(self.num_clients, instance_id, api_version, offered, session_ms, rebalance_ms)
        self.live.append(client)
        self.clients.behave(self.world, client)

    @rule(steps=st.sampled_from([1, 2, 5, 40]))
    def all_behave(self, steps: int) -> None:
        """All clients do what they should, for a while."""
        for _ in range(steps):
            for client in self.live:
                self.clients.behave(self.world, client)
            self.world.advance(0 if steps == 1 else STEP_MS)
            self._check_answers()

    @rule(actions=st.lists(st.tuples(st.integers(0, 5), st.sampled_from(ACTIONS)), min_size=1, max_size=4))
    def some_act(self, actions: list[tuple[int, str]]) -> None:
        """Some clients do this or that, as if they were alone."""
        for index, action in actions:
            if not self.live:
                return
            client = self.live[index % len(self.live)]
            self.clients.hear(client)
            getattr(self, f"_{action}")(client)

    def _behave(self, client: Client) -> None:
        """Do what it should."""
        self.clients.behave(self.world, client)

    def _join_again(self, client: Client) -> None:
        """Join, whatever else it waits for: it has lost its connection."""
        if not client.is_stopped:
            self.clients.join(self.world, client)

    def _sync_again(self, client: Client) -> None:
        """Sync once more."""
        if client.has_joined:
            self.clients.sync(self.world, client)

    def _subscribe(self, client: Client) -> None:
        """Join with other metadata."""
        self.num_subscriptions += 1
        client.protocols = [(name, b"s%d" % self.num_subscriptions) for name, _ in client.protocols]
        self._join_again(client)

    def _restart(self, client: Client) -> None:
        """Crash, and come back at once."""
        self.live.remove(client)
        self.start(client.instance_id, client.api_version, PROTOCOLS, client.session_ms, client.rebalance_ms)

    def _crash(self, client: Client) -> None:
        """Be gone without a word."""
        self.live.remove(client)

    def _leave(self, client: Client) -> None:
        """Leave the group."""
        self.live.remove(client)
        if client.member_id and self.world.groups.get(GROUP) is not None:
            self.world.leave((client.member_id, client.instance_id))

    @rule(elapsed_ms=st.sampled_from([1, 1_000, 3_000, 7_000, 25_000]))
    def advance(self, elapsed_ms: int) -> None:
        """Time passes, and nobody does anything."""
        self.world.advance(elapsed_ms)

    @rule(trouble=st.sampled_from(TROUBLES))
    def trouble(self, trouble: str) -> None:
        """Followers lag, the next append fails, what was appended is lost, an admin interferes, the leader changes."""
        world = self.world
        if trouble == "hold":
            world.holds_commits = True
        elif trouble == "commit":
            world.holds_commits = False
            world.commit()
        elif trouble == "fail append":
            world.append_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        elif trouble == "fail commits":
            world.commit(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        elif trouble == "remove":
            if world.groups.get(GROUP) is not None:
                world.leave(*(("", instance_id) for instance_id in INSTANCES))
        else:
            self._reload()

    def _reload(self) -> None:
        """Another coordinator takes over, with nothing but the log."""
        self._check_answers()
        before = self.world.groups.find_classic_group(GROUP)
        self.world.reload()
        self._check_answers()
        after = self.world.groups.find_classic_group(GROUP)
        assert (before is None) == (after is None)
        if after is not None:  # what members were told of this generation still holds
            serial = self.serials.get((self.num_coordinators, after.generation_id))
            if serial is not None:
                self.serials[self.num_coordinators + 1, after.generation_id] = serial
        self.num_coordinators += 1

    @precondition(lambda self: self.seen)
    @rule(index=st.integers(0, 5))
    def replay_old_request(self, index: int) -> None:
        """Somebody heartbeats, syncs and commits with an identity that was good once, not long ago."""
        member_id, generation_id, instance_id = self.seen[-1 - index % len(self.seen)]
        group = self.world.group
        is_replaced = group.members.static_member_ids.get(instance_id or "", member_id) != member_id
        refusals = {ErrorCode.FENCED_INSTANCE_ID} if is_replaced else STALE
        member = group.members.by_id.get(member_id)
        is_member = member is not None and member.group_instance_id == (instance_id or member.group_instance_id)
        is_current = is_member and generation_id == group.generation_id
        try:
            group.validate_offset_commit(member_id, instance_id, generation_id, is_transactional=False, api_version=9)
        except KafkaError as refused:
            code = refused.code
        else:
            code = ErrorCode.NONE
        if not is_current:
            assert code in refusals
        else:
            is_completing = group.state is ClassicGroupState.COMPLETING_REBALANCE
            assert code == (ErrorCode.REBALANCE_IN_PROGRESS if is_completing else ErrorCode.NONE)
        code = self.world.heartbeat(member_id, generation_id, instance_id)
        is_preparing = group.state is ClassicGroupState.PREPARING_REBALANCE
        if not is_current:
            assert code in refusals
            (synced,) = self.world.sync(member_id, generation_id, {member_id: b"stale"}, instance_id=instance_id)
            assert synced.error_code in refusals
            assert not synced.assignment
        else:
            assert code == (ErrorCode.REBALANCE_IN_PROGRESS if is_preparing else ErrorCode.NONE)

    # -- what must hold -----------------------------------------------------------------------------------------------

    @invariant()
    def answers_agree(self) -> None:
        """See ``_check_answers``."""
        self._check_answers()

    def _check_answers(self) -> None:
        """Nobody is answered twice; a generation has one protocol, one leader and one assignment."""
        self.open_joins += self.clients.joins[self.num_joins :]
        self.open_syncs += self.clients.syncs[self.num_syncs :]
        self.num_joins, self.num_syncs = len(self.clients.joins), len(self.clients.syncs)
        for joined in self.open_joins:
            if joined.answers and joined.answers[0].error_code == ErrorCode.NONE:
                self._check_joined(joined)
        for synced in self.open_syncs:
            if synced.answers and synced.answers[0].error_code == ErrorCode.NONE:
                self._check_synced(synced)
        self.open_joins = [asked for asked in self.open_joins if not asked.answers]
        self.open_syncs = [asked for asked in self.open_syncs if not asked.answers]

    def _check_joined(self, asked: Asked[JoinGroupResponse]) -> None:
        (answer,) = asked.answers
        generation = (self.num_coordinators, answer.generation_id)
        instance_id = asked.client.instance_id
        identity = (answer.member_id, answer.generation_id, instance_id)
        if identity not in self.seen:
            self.seen.append(identity)
        assert self.protocols.setdefault(generation, answer.protocol_name) == answer.protocol_name
        assert answer.protocol_name in dict(asked.protocols)
        if answer.members:
            assert answer.leader == answer.member_id
            metadata = {member.member_id: member.metadata for member in answer.members}
            assert len(metadata) == len(answer.members)
            assert metadata[answer.member_id] == dict(asked.protocols)[answer.protocol_name or ""]
        if instance_id is not None:
            self.members_of.setdefault(instance_id, set()).add(answer.member_id)

    def _check_synced(self, asked: Asked[SyncGroupResponse]) -> None:
        """Its share is in its name, or in that of a static member that it replaced."""
        (answer,) = asked.answers
        serial, _, owner = bytes(answer.assignment).decode().partition("/")
        assert owner in self.members_of.get(asked.client.instance_id or "", {asked.member_id})
        generation = (self.num_coordinators, asked.generation_id)
        assert self.serials.setdefault(generation, serial) == serial

    @invariant()
    def members_add_up(self) -> None:
        """What the group counts is what is there."""
        group = self.world.groups.find_classic_group(GROUP)
        if group is None:
            assert not len(self.world.timers)
            return
        members = group.members
        by_id = members.by_id
        assert members.num_awaiting_join == sum(member.is_awaiting_join for member in by_id.values())
        counts: dict[str, int] = {}
        for member in by_id.values():
            for name in member.supported_protocols:
                counts[name] = counts.get(name, 0) + 1
        assert members.protocol_counts == counts
        assert members.static_member_ids == {
            member.group_instance_id: member_id
            for member_id, member in by_id.items()
            if member.group_instance_id is not None
        }
        assert members.leader_id in by_id if by_id else members.leader_id is None
        assert not set(members.pending_joins) & set(by_id)
        assert set(members.pending_syncs) <= set(by_id)
        if group.state is ClassicGroupState.EMPTY:
            assert not by_id
        elif group.state is not ClassicGroupState.PREPARING_REBALANCE:
            assert by_id

    @invariant()
    def timers_are_those_of_who_is_there(self) -> None:
        """Nobody who is gone has a timer; whoever could keep the group waiting has one."""
        group = self.world.groups.find_classic_group(GROUP)
        if group is None:
            return
        members = group.members
        sessions = {f"heartbeat-{GROUP}-{member_id}" for member_id in [*members.by_id, *members.pending_joins]}
        join_key, sync_key = f"join-{GROUP}", f"sync-{GROUP}"
        scheduled = set(self.world.timers._timers)
        assert scheduled <= sessions | {join_key, sync_key}
        for member in members.by_id.values():
            waits = member.is_awaiting_join or member.is_awaiting_sync
            assert waits or f"heartbeat-{GROUP}-{member.member_id}" in scheduled
        assert (join_key in scheduled) == (group.state is ClassicGroupState.PREPARING_REBALANCE)
        assert (sync_key in scheduled) == bool(members.pending_syncs)

    # -- the end ------------------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        """Everybody behaves from now on."""
        world, clients = self.world, self.clients
        world.append_error, world.holds_commits = None, False
        world.commit()
        # The last process of an instance goes on, and whoever is fenced stops.
        by_instance = {client.instance_id or client.number: client for client in self.live if not client.is_stopped}
        live = list(by_instance.values())
        for client in live:  # whoever has been silent for too long hears of it now
            clients.hear(client)
        for _ in range(4 * (REBALANCE_MS_MAX + SESSION_MS_MAX) // STEP_MS):
            for client in live:
                clients.behave(world, client)
            world.advance(STEP_MS)
            self._check_answers()
        live = [client for client in live if not client.is_stopped]
        if live:
            self._check_stable(live)
        elif world.groups.get(GROUP) is not None:
            assert world.group.state is ClassicGroupState.EMPTY
            assert not len(world.timers)
        world.unload()
        assert [len(asked.answers) for asked in clients.joins] == [1] * len(clients.joins)
        assert [len(asked.answers) for asked in clients.syncs] == [1] * len(clients.syncs)

    def _check_stable(self, live: list[Client]) -> None:
        """The group has the members that live, and nothing changes while they heartbeat."""
        world, clients = self.world, self.clients
        generation_id = world.group.generation_id
        for _ in range(2 * SESSION_MS_MAX // STEP_MS):
            for client in live:
                clients.behave(world, client)
                assert client.has_synced, f"{client} was refused in {world.group.state}"
            world.advance(STEP_MS)
        group = world.group
        assert (group.state, group.generation_id) == (ClassicGroupState.STABLE, generation_id)
        assert sorted(group.members.by_id) == sorted(client.member_id for client in live)
        assert {client.generation_id for client in live} == {generation_id}
        assert {client.protocol_name for client in live} == {group.protocol_name}
        assert len({client.assignment.partition(b"/")[0] for client in live}) == 1
        assert len({client.assignment for client in live}) == len(live)


TestClassicGroupHistory = ClassicGroupHistory.TestCase
TestClassicGroupHistory.settings = settings(max_examples=100, stateful_step_count=50)


def _random_walk(rng: Random, steps: int) -> ClassicGroupHistory:
    """A long history, of which hypothesis would only make short ones."""
    history = ClassicGroupHistory()
    for _ in range(steps):
        kind = rng.randrange(8)
        if kind == 0 and len(history.live) < 5:
            history.start(
                rng.choice([None, *INSTANCES]),
                rng.choice([1, 3, 4, 8, 9]),
                rng.sample(PROTOCOLS, 2),
                rng.choice([6_000, SESSION_MS_MAX]),
                rng.choice([5_000, REBALANCE_MS_MAX]),
            )
        elif kind <= 3:
            history.all_behave(rng.choice([1, 1, 2, 5, 40]))
        elif kind == 4:
            history.some_act([(rng.randrange(6), rng.choice(ACTIONS)) for _ in range(rng.randrange(1, 4))])
        elif kind == 5:
            history.trouble(rng.choice(TROUBLES))
        elif kind == 6 and history.seen:
            history.replay_old_request(rng.randrange(6))
        elif rng.random() < 0.3:
            history.advance(rng.choice([1, 1_000, 3_000, 7_000, 25_000]))
        history.answers_agree()
        history.members_add_up()
        history.timers_are_those_of_who_is_there()
        history.live = [client for client in history.live if not client.is_stopped]
    return history


@pytest.mark.parametrize("seed", range(6))
def test_long_histories(seed: int) -> None:
    history = _random_walk(Random(seed), 1_500)
    assert history.world.metrics.completed_rebalances.value >= 40
    history.teardown()
