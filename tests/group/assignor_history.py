"""Histories of consumer groups, drawn by chance, that our assignors and Apache's go through alike."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from ottla.common.uuid import Uuid
from ottla.group.assignor.hash_order import assigned_partition_order, assigned_topic_order
from ottla.group.assignor.registry import ASSIGNORS
from ottla.group.assignor.spec import Assignment, GroupSpec, MemberSpec, SubscriptionType
from ottla.metadata.image.topics import TopicImage, TopicsImage
from ottla.metadata.partition_registration import PartitionRegistration
from tests.oracle import Oracle

PROGRAM = Path(__file__).parents[1] / "java" / "AssignorFacts.java"

Step = dict[str, Any]
History = dict[str, Any]
Written = list[list[Any]]
"""The records that a step writes: [[member, [[topic id, [partition]]]]]."""

_LETTERS = "a\u00e9\ue000\U0001f600"
"""The last two stand in another order in Java, which compares UTF-16."""

_REGISTRATION = PartitionRegistration(
    replicas=(1,), directories=(Uuid(bytes(16)),), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0
)


def topics_image(topics: list[list[Any]]) -> TopicsImage:
    """The image of topics given as [name, id, partitions]."""
    images = [
        TopicImage(name, Uuid.from_string(topic_id), dict.fromkeys(range(count), _REGISTRATION))
        for name, topic_id, count in topics
    ]
    return TopicsImage({topic.id: topic for topic in images}, {topic.name: topic for topic in images})


class Group:
    """A consumer group of ours, as far as assignors are concerned."""

    def __init__(self, topics: list[list[Any]]) -> None:
        self.image = topics_image(topics)
        self.names: dict[str, tuple[str, ...]] = {}
        self.instances: dict[str, str] = {}
        self.targets: dict[str, Assignment] = {}
        self.num_members_max = 0

    def apply(self, step: Step) -> Written:
        """Take a step as AssignorFacts.java describes it, and return the records that it writes."""
        member_id: str = step["member"]
        replaced_id: str | None = None
        if "topics" in step:
            self.image = topics_image(step["topics"])
        if step["op"] == "leave":
            self._remove(step["left"])
        is_new = member_id not in self.names
        instance_id = step.get("instance") or self.instances.get(member_id)
        if is_new and instance_id is not None:
            replaced_id = next((each for each, instance in self.instances.items() if instance == instance_id), None)
        if replaced_id is not None:
            inherited = self.targets[replaced_id]
            self._remove(replaced_id)
            self.targets[member_id] = inherited
        if instance_id is not None:
            self.instances[member_id] = instance_id
        if "names" in step:
            self.names[member_id] = tuple(step["names"])
        written = self._assign(step, member_id if is_new else None, replaced_id)
        self.num_members_max = max(self.num_members_max, len(self.names))
        return written

    def _assign(self, step: Step, new_id: str | None, replaced_id: str | None) -> Written:
        shared = {frozenset(names): names for names in self.names.values()}
        spec = GroupSpec(
            {
                each: MemberSpec(shared[frozenset(names)], self.targets.get(each, {}), self.instances.get(each))
                for each, names in self.names.items()
            },
            SubscriptionType[step["type"]],
            self.num_members_max,
            new_id,
            replaced_id,
        )
        written: Written = []
        for each, assignment in ASSIGNORS[step["assignor"]](spec, self.image).items():
            is_kept = assignment is spec.members[each].assignment
            if is_kept and each == new_id:  # who takes a place over gets a record even if the partitions are the same
                assignment = as_read(assignment)
            self.targets[each] = assignment
            if not is_kept or each == new_id:
                written.append([each, [[str(topic), list(partitions)] for topic, partitions in assignment.items()]])
        return written

    def _remove(self, member_id: str) -> None:
        for table in (self.names, self.instances, self.targets):
            table.pop(member_id, None)


def as_read(assignment: Assignment) -> Assignment:
    """The order that an assignment has in Java after it was read from its record."""
    return {topic: tuple(assigned_partition_order(assignment[topic])) for topic in assigned_topic_order(assignment)}


def ours(history: History) -> list[Written]:
    """What our assignors write in each step."""
    group = Group(history["topics"])
    return [group.apply(step) for step in history["steps"]]


def apaches(oracle: Oracle, histories: list[History], directory: Path) -> list[list[Written]]:
    """What Apache's assignors write in each step of each history."""
    file = directory / "histories"
    file.write_text("".join(json.dumps(history) + "\n" for history in histories))
    done = oracle.run_source(PROGRAM, file)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


class HistoryMaker:
    """Draws one history: members come, go, are replaced and change their minds; topics come, grow and go."""

    def __init__(self, seed: int) -> None:
        self._rng = rng = Random(seed)
        self._is_homogeneous = rng.random() < 0.5
        self._members_max = rng.choice((3, 8, 12, 14, 30))
        self._static_share = rng.choice((0.3, 1))
        self._partitions_max = rng.choice((3, 12, 30, 90))
        self._num_drawn = 0
        self._topics: list[list[Any]] = []
        for _ in range(rng.choice((1, 2, 5, 14, 26))):
            self._add_topic()
        self._names: dict[str, list[str]] = {}
        self._instances: dict[str, str] = {}
        self._common = self._draw_names()
        self._steps: list[Step] = []
        self._initial = deepcopy(self._topics)

    def make(self, length: int) -> History:
        """A history with at most ``length`` steps."""
        while len(self._steps) < length:
            self._draw_step()
        return {"topics": self._initial, "steps": self._steps}

    def _draw_step(self) -> None:
        rng = self._rng
        kinds = ["join"] * 4 + ["topics"]
        if self._names:
            kinds += ["subscribe", "replace"]
        if len(self._names) > 1:
            kinds += ["leave"] * 2
        if len(self._names) >= self._members_max:
            kinds = ["leave"] + ["replace"] * 3 + ["topics"]
        self._KINDS[rng.choice(kinds)](self)

    def _join(self) -> None:
        letter = self._rng.choice(_LETTERS)
        instance = f"i-{letter}{len(self._steps)}" if self._rng.random() < self._static_share else None
        self._come(self._draw_member_id(), instance, list(self._common) if self._is_homogeneous else self._draw_names())

    def _replace(self) -> None:
        if self._instances:
            old = self._rng.choice(list(self._instances))
            instance, names = self._instances.pop(old), self._names.pop(old)
            self._come(self._draw_member_id(), instance, names)
            if self._rng.random() < 0.7:  # else everybody keeps what there is, in whatever order they are asked
                self._change_topics()
                self._steps[-1]["topics"] = deepcopy(self._topics)

    def _come(self, member: str, instance: str | None, names: list[str]) -> None:
        self._names[member] = names
        if instance is not None:
            self._instances[member] = instance
        self._add_step({"op": "join", "member": member, "instance": instance, "names": names})

    def _subscribe(self) -> None:
        member = self._rng.choice(list(self._names))
        if self._is_homogeneous:
            self._common = self._draw_names()
        names = self._names[member] = self._draw_names() if not self._is_homogeneous else list(self._common)
        self._add_step({"op": "subscribe", "member": member, "names": names})

    def _leave(self) -> None:
        left = self._rng.choice(list(self._names))
        del self._names[left]
        self._instances.pop(left, None)
        self._add_step({"op": "leave", "left": left, "member": self._rng.choice(list(self._names))})

    def _change_topics(self) -> None:
        kind = self._rng.random()
        if kind < 0.4 or not self._topics:
            self._add_topic()
        elif kind < 0.8:
            self._rng.choice(self._topics)[2] += self._rng.randrange(1, 9)
        else:
            self._topics.remove(self._rng.choice(self._topics))

    def _topics_step(self) -> None:
        if self._names:
            self._change_topics()
            member = self._rng.choice(list(self._names))
            self._add_step({"op": "topics", "member": member, "topics": deepcopy(self._topics)})

    def _add_step(self, step: Step) -> None:
        distinct = {frozenset(names) for names in self._names.values()}
        step["type"] = "HOMOGENEOUS" if len(distinct) <= 1 else "HETEROGENEOUS"
        step["assignor"] = "uniform" if self._rng.random() < 0.75 else "range"
        self._steps.append(step)

    def _add_topic(self) -> None:
        self._num_drawn += 1
        count = self._rng.choice((0, 1, self._partitions_max, self._rng.randint(0, self._partitions_max)))
        self._topics.append([f"topic-{self._num_drawn}", str(Uuid.random(self._rng)), count])

    def _draw_names(self) -> list[str]:
        known = [f"topic-{number}" for number in range(1, self._num_drawn + 3)]  # two that do not exist
        return sorted(self._rng.sample(known, self._rng.randint(0, len(known))))

    def _draw_member_id(self) -> str:
        return self._rng.choice((str(Uuid.random(self._rng)), f"m{self._rng.randrange(10**6)}"))

    _KINDS: ClassVar[dict[str, Callable[["HistoryMaker"], None]]] = {
        "join": _join,
        "replace": _replace,
        "subscribe": _subscribe,
        "leave": _leave,
        "topics": _topics_step,
    }
