"""Histories of groups for the client-side assignors, drawn by chance, to be told to Apache's and to ours."""

import json
from pathlib import Path
from random import Random
from typing import Any

from ottla.clients.consumer.assignors.assignor import MemberSubscription, PartitionAssignor
from ottla.clients.consumer.assignors.registry import make_assignors
from ottla.clients.consumer.assignors.sticky_user_data import encode_generation, encode_previous_assignment
from ottla.common.topic_partition import TopicPartition
from tests.oracle import Oracle

JAVA = Path(__file__).parents[2] / "java" / "ClientAssignorFacts.java"
ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")
TOPICS = ("a", "b", "orders", "payments.v2", "clicks-eu", "t5", "t6")
RACKS = ("r0", "r1", "r2")

Step = dict[str, Any]


def ours(assignor: PartitionAssignor, step: Step) -> dict[str, list[list[Any]]]:
    """What our assignor makes of a step, as Apache's answer is written."""
    topics = {topic: [frozenset(racks) for racks in partitions] for topic, partitions in step["topics"].items()}
    group = {}
    for member_id, said in step["members"]:
        group[member_id] = MemberSubscription(
            topics=sorted(said["topics"]),
            user_data=None if said["user_data"] is None else bytes.fromhex(said["user_data"]),
            owned_partitions=sorted(TopicPartition(*partition) for partition in said["owned"]),
            generation_id=said["generation"],
            rack_id=said["rack"],
            group_instance_id=said["instance"],
        )
    answer = assignor.assign(topics, group)
    return {member_id: [list(partition) for partition in given.partitions] for member_id, given in answer.items()}


def apaches(oracle: Oracle, histories: list[tuple[str, list[Step]]], directory: Path) -> list[list[Any]]:
    """What Apache's assignors make of the histories."""
    file = directory / "histories.jsonl"
    lines = [json.dumps({"assignor": name, "steps": steps}) for name, steps in histories]
    file.write_text("\n".join(lines))
    done = oracle.run_source(JAVA, file)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


class HistoryMaker:
    """A group that lives: members come, go, change their minds and lag behind; topics come, grow and go."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.name = ASSIGNORS[seed % len(ASSIGNORS)]
        self.with_racks = self.rng.random() < 0.3
        self.is_mixed = self.rng.random() < 0.5
        self.topics: dict[str, list[list[str]]] = {}
        self.wanted: dict[str, list[str]] = {}
        self.owned: dict[str, list[list[Any]]] = {}
        self.generations: dict[str, int] = {}
        self.racks: dict[str, str | None] = {}
        self.instances: dict[str, str | None] = {}

    def make(self, steps: int) -> tuple[str, list[Step], list[dict[str, list[list[Any]]]]]:
        """The name of the assignor, the steps, and what ours answers to each."""
        assignor = make_assignors([self.name])[0]
        for topic in self.rng.sample(TOPICS, self.rng.randint(1, 4)):
            self._change_topic(topic)
        made, answers = [], []
        for generation in range(1, steps + 1):
            self._change()
            step = self._step(generation)
            answer = ours(assignor, step)
            made.append(step)
            answers.append(answer)
            for member_id, given in answer.items():
                if self.rng.random() < 0.9:  # some miss a generation and claim what they had
                    self.owned[member_id] = given
                    self.generations[member_id] = generation
        return self.name, made, answers

    def _change(self) -> None:
        rng = self.rng
        if not self.wanted or rng.random() < 0.4:
            for _ in range(rng.randint(1, 5)):
                member_id = f"consumer-{rng.randrange(10**6)}-{rng.choice('abcdef')}"
                self.racks[member_id] = rng.choice(RACKS) if self.with_racks and rng.random() < 0.8 else None
                number = len(self.instances)
                self.instances[member_id] = f"i{rng.randrange(10**4)}-{number}" if rng.random() < 0.2 else None
                self.wanted[member_id] = self._draw_topics()
        elif rng.random() < 0.4 and len(self.wanted) > 1:
            gone = rng.choice(sorted(self.wanted))
            for table in (self.wanted, self.owned, self.generations):
                table.pop(gone, None)
        elif rng.random() < 0.5:
            self._change_topic(rng.choice(TOPICS))
        elif self.is_mixed:
            member_id = rng.choice(sorted(self.wanted))
            self.wanted[member_id] = self._draw_topics()
            # A member that lagged behind and changed its mind makes Apache's assignor give it what it does not want.
            self.owned[member_id] = [p for p in self.owned.get(member_id, []) if p[0] in self.wanted[member_id]]

    def _draw_topics(self) -> list[str]:
        return sorted(self.rng.sample(TOPICS, self.rng.randint(1, 5))) if self.is_mixed else list(TOPICS[:5])

    def _change_topic(self, topic: str) -> None:
        if topic in self.topics and self.rng.random() < 0.3:
            del self.topics[topic]
            for member_id, owned in self.owned.items():  # or else it may come back with fewer partitions
                self.owned[member_id] = [partition for partition in owned if partition[0] != topic]
            return
        partitions = self.topics.setdefault(topic, [])
        for _ in range(self.rng.randint(1, 9)):
            partitions.append(self.rng.sample(RACKS, self.rng.randint(1, 2)) if self.with_racks else [])

    def _step(self, generation: int) -> Step:
        members = []
        for member_id, topics in self.wanted.items():
            owned = self.owned.get(member_id, [])
            known = self.generations.get(member_id, -1)
            partitions = [TopicPartition(*partition) for partition in owned]
            user_data = None
            if self.name == "sticky" and known >= 0:
                user_data = encode_previous_assignment(partitions, known).hex()
            elif self.name == "cooperative-sticky":
                user_data = encode_generation(known).hex()
            said = {
                "topics": topics,
                "owned": owned if self.name == "cooperative-sticky" else [],
                "generation": known,
                "rack": self.racks[member_id],
                "instance": self.instances[member_id],
                "user_data": user_data,
            }
            members.append([member_id, said])
        self.rng.shuffle(members)
        return {"topics": {topic: list(racks) for topic, racks in self.topics.items()}, "members": members}
