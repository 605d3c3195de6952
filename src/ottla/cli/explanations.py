"""Sentences about a group, a topic or a transaction: what state, what it waits for, what to do. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ottla.common.topic_partition import TopicPartition

if TYPE_CHECKING:
    from ottla.clients.admin import ConsumerGroupDescription, MemberDescription


NO_TOPIC: Final = "the topic does not exist any more"
NO_LEADER: Final = "no broker leads it"
_UNREADABLE_ADVICE: Final = {
    NO_TOPIC: "Forget the offsets with `ottla consumer-groups --delete-offsets --group {group} --topic …`, or let them "
    "expire.",
    NO_LEADER: "`ottla topics --describe --unavailable-partitions` shows the brokers that have to be started.",
}
"""Why a partition cannot be read, and what to do."""


@dataclass(slots=True)
class Explanation:
    """What there is to say: the facts, and what to do, each a sentence."""

    facts: list[str] = field(default_factory=list)
    todo: list[str] = field(default_factory=list)

    def say(self, fact: str, todo: str = "") -> None:
        """A fact, and what to do about it."""
        self.facts.append(fact)
        if todo and todo not in self.todo:
            self.todo.append(todo)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a group has read a partition; None where it has committed nothing."""

    committed: int | None
    start: int
    end: int

    @property
    def lag(self) -> int:
        """Records that are not read yet."""
        return max(0, self.end - max(self.committed if self.committed is not None else self.start, self.start))


def explain_group(
    group: "ConsumerGroupDescription",
    read: Mapping[TopicPartition, Progress],
    unreadable: Mapping[TopicPartition, str] | None = None,
) -> Explanation:
    """A consumer group, classic or of KIP-848; ``unreadable`` says why partitions that it is about cannot be read."""
    told = Explanation()
    members = len(group.members)
    told.say(
        f"Group {group.group_id} is a {group.type.value.lower()} group in state {group.state}, with "
        f"{_count(members, 'member')}, "
        f"coordinated by broker {group.coordinator.id} at {group.coordinator.host}:{group.coordinator.port}."
    )
    _explain_state(group, told)
    _explain_owners(group, read, told)
    _explain_unreadable(group, unreadable or {}, told)
    _explain_commits(group, read, told)
    _explain_lag(group, read, told)
    return told


def _explain_state(group: "ConsumerGroupDescription", told: Explanation) -> None:
    match group.state.name:
        case "EMPTY":
            told.say(
                "Nobody reads for it; its committed offsets are kept for offsets.retention.minutes of the broker.",
                "Start a consumer with this group.id to read on from there.",
            )
        case "DEAD":
            told.say(
                "It does not exist, or has just been deleted.", "`ottla groups --list` shows the groups there are."
            )
        case "PREPARING_REBALANCE":
            _explain_waiting(group, told)
        case "COMPLETING_REBALANCE":
            told.say(
                "It rebalances: all have joined, and wait for the assignment that the member chosen as leader makes.",
                "If this lasts, the leader is stuck; stop its members one by one to have another chosen.",
            )
        case "ASSIGNING":
            told.say("The coordinator is making a new assignment; members read on meanwhile.")
        case "RECONCILING":
            _explain_reconciling(group, told)


def _explain_waiting(group: "ConsumerGroupDescription", told: Explanation) -> None:
    """Who has not joined again. The protocol tells it of newcomers only: they have joined, and no assignment yet."""
    before = [member for member in group.members if member.is_assigned]
    newcomers = [member for member in group.members if not member.is_assigned]
    awaited = before or newcomers
    names = ", ".join(map(_name, awaited))
    if len(awaited) == 1:
        told.say(f"It rebalances, and waits for {names} to join again.")
    else:
        told.say(
            f"It rebalances, and waits for one or more of these members to join again: {names}. Kafka's protocol does "
            "not tell which of them have."
        )
    if before and newcomers:
        told.say(f"New, and has joined: {', '.join(map(_name, newcomers))}.")
    told.say(
        "Whoever does not join again within its max.poll.interval.ms is left out, and the group goes on.",
        f"Look whether {'it' if len(awaited) == 1 else 'one of them'} is stuck in its work between two polls; stop it, "
        "or wait.",
    )


def _explain_reconciling(group: "ConsumerGroupDescription", told: Explanation) -> None:
    told.say("Members are moving from their old partitions to new ones.")
    owner = {partition: member for member in group.members for partition in member.assignment}
    for member in group.members:
        target = member.target_assignment
        if target is None:
            continue
        giving = sorted(member.assignment - target)
        for partition in giving:
            receiver = next((each for each in group.members if partition in (each.target_assignment or ())), None)
            goes = f", which goes to {_name(receiver)}" if receiver is not None else ""
            told.say(
                f"It waits for {_name(member)} to give up {partition}{goes}.",
                f"If this lasts, {_name(member)} does not poll: look at it, or stop it.",
            )
        waiting = sorted(partition for partition in target - member.assignment if partition not in owner)
        if waiting:
            told.say(f"{_name(member)} is about to take over {_listed(waiting)}.")


def _explain_owners(
    group: "ConsumerGroupDescription", read: Mapping[TopicPartition, Progress], told: Explanation
) -> None:
    for member in group.members:
        owned = _listed(sorted(member.assignment)) if member.assignment else "nothing"
        told.say(f"{_name(member)} on {member.host.lstrip('/')} reads {owned}.")
    if group.state.name == "STABLE":
        idle = [member for member in group.members if not member.assignment]
        if idle:
            told.say(
                f"{_count(len(idle), 'member')} {'has' if len(idle) == 1 else 'have'} nothing to read: there "
                f"are more members "
                "than partitions.",
                "Stop those, or give the topics more partitions.",
            )
        owned_ones = {partition for member in group.members for partition in member.assignment}
        topics = {partition.topic for partition in owned_ones}
        orphans = sorted(
            partition for partition in read if partition not in owned_ones and partition.topic not in topics
        )
        if orphans:
            told.say(
                f"Nobody reads {_listed(orphans)} any more, but offsets are committed for it.",
                f"Delete those with `ottla consumer-groups --delete-offsets --group {group.group_id} --topic …` "
                f"if they are "
                "not needed.",
            )


def _explain_unreadable(
    group: "ConsumerGroupDescription", unreadable: Mapping[TopicPartition, str], told: Explanation
) -> None:
    for why in sorted(set(unreadable.values())):
        partitions = sorted(partition for partition, each in unreadable.items() if each == why)
        told.say(f"{_listed(partitions)} cannot be read: {why}.", _UNREADABLE_ADVICE[why].format(group=group.group_id))


def _explain_commits(
    group: "ConsumerGroupDescription", read: Mapping[TopicPartition, Progress], told: Explanation
) -> None:
    """Members that have something to read, and have committed nothing of it."""
    if group.state.name != "STABLE":
        return
    for member in group.members:
        silent = sorted(
            partition
            for partition in member.assignment
            if partition in read and read[partition].committed is None and read[partition].end > read[partition].start
        )
        if silent:
            told.say(
                f"{_name(member)} has committed nothing of {_listed(silent)}: it has got nothing done yet, or does not "
                "commit; whoever reads there next begins where its auto.offset.reset says.",
                f"Let {_name(member)} commit (enable.auto.commit=true, or a commit after its work), if it does not.",
            )


def _explain_lag(group: "ConsumerGroupDescription", read: Mapping[TopicPartition, Progress], told: Explanation) -> None:
    if not read:
        told.say(
            "It has committed no offsets, so that a consumer begins where its auto.offset.reset says.",
        )
        return
    total = sum(progress.lag for progress in read.values())
    if not total:
        told.say("It has read everything.")
    else:
        worst, progress = max(read.items(), key=lambda item: item[1].lag)
        told.say(
            f"It is {_count(total, 'record')} behind in all, the most on {worst}: {progress.lag} "
            f"(committed {progress.committed if progress.committed is not None else 'nothing'}, end {progress.end})."
        )
        if group.members and group.state.name == "STABLE":
            told.todo.append(
                "If the lag grows, add members (up to the number of partitions) or make each record cheaper."
            )
    for partition, progress in sorted(read.items()):
        if progress.committed is not None and progress.committed < progress.start:
            told.say(
                f"Records {progress.committed} to {progress.start - 1} of {partition} were deleted before it "
                f"read them.",
                f"Raise retention.ms or retention.bytes of {partition.topic}, or read faster; a consumer goes "
                f"on where its "
                "auto.offset.reset says.",
            )
        elif progress.committed is not None and progress.committed > progress.end:
            told.say(
                f"Its committed offset {progress.committed} of {partition} is beyond the end {progress.end}: "
                f"the topic was "
                "made anew, or lost records.",
                f"Reset it: `ottla consumer-groups --reset-offsets --group {group.group_id} --topic {partition.topic} "
                "--to-earliest --execute`.",
            )


@dataclass(frozen=True, slots=True)
class HeldPartition:
    """A partition in a transaction: where the transaction began, how far committed and all readers get, and whose."""

    start_offset: int | None
    last_stable_offset: int
    high_watermark: int
    producer_id: int | None = None


def _name(member: "MemberDescription") -> str:
    instance = f" (static, {member.group_instance_id})" if member.group_instance_id else ""
    return f"member {member.member_id}{instance}"


def _listed(partitions: Sequence[TopicPartition] | Iterable[TopicPartition]) -> str:
    return ", ".join(map(str, partitions))


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
