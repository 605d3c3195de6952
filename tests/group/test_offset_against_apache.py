"""A long random script of commits, transactions, deletions and expiry, given to Apache's shard and to ours.

Both must write the same records and give the same answers, byte by byte. One difference is left out of the script: a
commit that has no record because all its metadata is too long brings an unknown group into Apache's memory, not ours.
"""

from collections.abc import Sequence
from pathlib import Path
from random import Random

from ottla.common.errors import KafkaError
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.config.sections import GroupCoordinatorConfig
from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.record_serde import RecordSerde
from ottla.coordinator.timers import Timers
from ottla.group.consumer.context import ConsumerGroupConfig
from ottla.group.expiration import TIMER_KEY
from ottla.group.metrics import GroupMetrics
from ottla.group.record_helpers import (
    new_empty_group_metadata_record,
    new_group_metadata_record,
    new_group_metadata_tombstone_record,
)
from ottla.group.records import RECORD_TYPES, MemberMetadata
from ottla.group.shard import GroupCoordinatorShard
from ottla.metadata.image.metadata import EMPTY_IMAGE
from ottla.metrics.registry import Registry
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import encode
from ottla.protocol.messages.delete_groups import DeleteGroupsResponse
from ottla.protocol.messages.describe_groups import DescribeGroupsResponse
from ottla.protocol.messages.list_groups import ListGroupsResponse
from ottla.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from ottla.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from ottla.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.group.consumer_world import context, subscription
from tests.oracle import Oracle

FACTS = Path(__file__).parents[1] / "java" / "OffsetFacts.java"
METADATA_MAX = 6
RETENTION_MINUTES = 10
STEPS = 3_000
NO_PRODUCER = -1
GENERATION = 3

GROUPS = ("g", "h", "i")
TOPICS = ("t", "u", "v")
SHORT = ("", "", None, "m", "m" * METADATA_MAX, "é😀", "😀" * (METADATA_MAX // 2))
METADATA = (*SHORT, "m" * (METADATA_MAX + 1), "😀" * (METADATA_MAX // 2 + 1))
SERDE = RecordSerde(RECORD_TYPES)


def topic_id(name: str) -> Uuid:
    """As the Java program makes it."""
    return Uuid(name.encode().ljust(16, b"\0"))


class Script:
    """Makes the script, and answers each line of it."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.now_ms = 1_000_000
        self.offset = 0
        self.timers = Timers(lambda: self.now_ms)
        self.shard = GroupCoordinatorShard(
            config=GroupCoordinatorConfig(
                offset_metadata_max_bytes=METADATA_MAX, offsets_retention_minutes=RETENTION_MINUTES
            ),
            timers=self.timers,
            rng=self.rng,
            metrics=GroupMetrics(Registry()),
            group_configs=lambda _group_id: ConsumerGroupConfig(),
        )
        self.shard.on_loaded(EMPTY_IMAGE, self.now_ms)
        self.lines: list[str] = []
        self.answers: list[str] = []
        self.say(f"now|{self.now_ms}", "ok")

    def say(self, line: str, answer: str) -> None:
        self.lines.append(line)
        self.answers.append(answer)

    def write(self, records: Sequence[CoordinatorRecord], producer_id: int = NO_PRODUCER) -> str:
        """Replay; the records as the Java program writes them."""
        for record in records:
            self.shard.replay(self.offset, producer_id, 0, record)
            self.offset += 1
        pairs = (SERDE.encode(record) for record in records)
        texts = {f"{key.hex()}={'-' if value is None else value.hex()}" for key, value in pairs}
        return ";".join(sorted(texts))

    def topics(self) -> list[str]:
        return self.rng.sample(TOPICS, self.rng.choice((1, 1, 2)))

    def partitions(self) -> list[int]:
        return self.rng.sample(range(3), self.rng.choice((1, 1, 2)))

    def metadata(self, topic: int, partition: int) -> str | None:
        """Short enough at the first partition."""
        return self.rng.choice(METADATA if topic or partition else SHORT)

    # -- one step each ------------------------------------------------------------------------------------------------

    def pass_time(self) -> None:
        self.now_ms += self.rng.choice((1, 1_000, RETENTION_MINUTES * 20_000, RETENTION_MINUTES * 60_000))
        self.say(f"now|{self.now_ms}", "ok")

    def commit(self) -> None:
        rng, version = self.rng, self.rng.randint(2, 10)
        request = OffsetCommitRequest(
            group_id=rng.choice(GROUPS),
            generation_id_or_member_epoch=rng.choice((-1, -1, GENERATION, GENERATION + 1)),
            member_id=rng.choice(("", "", "m", "x")),
            group_instance_id=rng.choice((None, None, "one", "other")) if version >= 7 else None,
            retention_time_ms=rng.choice((-1, -1, 5_000, 0)) if version <= 4 else -1,
            topics=[
                OffsetCommitRequestTopic(
                    name=name,
                    topic_id=topic_id(name),
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=index,
                            committed_offset=rng.choice((0, 1, 1 << 40)),
                            committed_leader_epoch=rng.choice((-1, 0, 7)) if version >= 6 else -1,
                            committed_metadata=self.metadata(topic, partition),
                        )
                        for partition, index in enumerate(self.partitions())
                    ],
                )
                for topic, name in enumerate(self.topics())
            ],
        )
        line = f"commit|{version}|{encode(request, version).hex()}"
        try:
            result = self.shard.commit_offset(context(ApiKey.OFFSET_COMMIT, version), request, self.now_ms)
            self.say(line, f"{self.write(result.records)}|{encode(result.response, version).hex()}")
        except KafkaError as error:
            self.say(line, f"ERR {int(error.code)}")

    def commit_in_a_transaction(self) -> None:
        rng, version = self.rng, self.rng.randint(0, 5)
        producer_id = rng.randint(1, 3)
        request = TxnOffsetCommitRequest(
            transactional_id="x",
            group_id=rng.choice(GROUPS),
            producer_id=producer_id,
            generation_id=rng.choice((-1, -1, GENERATION, GENERATION + 1)) if version >= 3 else -1,
            member_id=rng.choice(("", "", "m", "x")) if version >= 3 else "",
            group_instance_id=rng.choice((None, None, "one")) if version >= 3 else None,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=name,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=index,
                            committed_offset=rng.randint(0, 1_000),
                            committed_leader_epoch=rng.choice((-1, 7)) if version >= 2 else -1,
                            committed_metadata=self.metadata(topic, partition),
                        )
                        for partition, index in enumerate(self.partitions())
                    ],
                )
                for topic, name in enumerate(self.topics())
            ],
        )
        line = f"txn|{version}|{producer_id}|{encode(request, version).hex()}"
        asked = context(ApiKey.TXN_OFFSET_COMMIT, version)
        try:
            result = self.shard.commit_transactional_offset(asked, request, self.now_ms)
            self.say(line, f"{self.write(result.records, producer_id)}|{encode(result.response, version).hex()}")
        except KafkaError as error:
            self.say(line, f"ERR {int(error.code)}")

    def end_transaction(self) -> None:
        producer_id, committed = self.rng.randint(1, 3), self.rng.random() < 0.7
        self.shard.replay_end_transaction_marker(producer_id, 0, committed=committed)
        self.offset += 1
        self.say(f"end|{producer_id}|{str(committed).lower()}", "ok")

    def delete_offsets(self) -> None:
        request = OffsetDeleteRequest(
            group_id=self.rng.choice(GROUPS),
            topics=[
                OffsetDeleteRequestTopic(
                    name=name,
                    partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in self.partitions()],
                )
                for name in self.topics()
            ],
        )
        line = f"delete|{encode(request, 0).hex()}"
        try:
            result = self.shard.delete_offsets(request)
            self.say(line, f"{self.write(result.records)}|{encode(result.response, 0).hex()}")
        except KafkaError as error:
            self.say(line, f"ERR {int(error.code)}")

    def fetch(self) -> None:
        topics = None
        if self.rng.random() < 0.5:
            topics = [
                OffsetFetchRequestTopics(name=name, topic_id=topic_id(name), partition_indexes=self.partitions())
                for name in self.topics()
            ]
        group = OffsetFetchRequestGroup(group_id=self.rng.choice(GROUPS), topics=topics)
        require_stable = self.rng.random() < 0.5
        line = f"fetch|{str(require_stable).lower()}|{encode(OffsetFetchRequest(groups=[group]), 9).hex()}"
        fetched = self.shard.fetch_offsets(group, require_stable=require_stable)
        fetched.topics = sorted(fetched.topics, key=lambda topic: topic.name)
        for topic in fetched.topics:
            topic.partitions = sorted(topic.partitions, key=lambda partition: partition.partition_index)
        self.say(line, encode(OffsetFetchResponse(groups=[fetched]), 9).hex())

    def clean_up(self) -> None:
        """Run the timer of expiry, until its round is over."""
        records: list[CoordinatorRecord] = []
        self.timers.cancel(TIMER_KEY)
        expiration = self.shard._expiration
        records += expiration.cleanup_group_metadata(self.now_ms).records
        self.say("cleanup", f"{self.write(records)}|")

    def delete_topics(self) -> None:
        names = self.topics()
        result = self.shard.on_topics_deleted({topic_id(name): name for name in names})
        self.say(f"topics|{','.join(names)}", f"{self.write(result.records)}|")

    def delete_groups(self) -> None:
        group_ids = self.rng.sample(GROUPS, 2)
        result = self.shard.delete_groups(group_ids)
        answer = encode(DeleteGroupsResponse(results=result.response), 2).hex()
        self.say(f"groups|{','.join(group_ids)}", f"{self.write(result.records)}|{answer}")

    def list_groups(self) -> None:
        states = self.rng.choice(((), ("Empty",), ("stable", "dead")))
        types = self.rng.choice(((), ("classic",), ("Consumer", "share")))
        listed = sorted(self.shard.list_groups(states, types), key=lambda group: group.group_id)
        self.say(f"list|{','.join(states)}|{','.join(types)}", encode(ListGroupsResponse(groups=listed), 5).hex())

    def describe_groups(self) -> None:
        version = self.rng.choice((5, 6))
        described = self.shard.describe_groups(context(ApiKey.DESCRIBE_GROUPS, version), GROUPS)
        answer = encode(DescribeGroupsResponse(groups=described), version).hex()
        self.say(f"describe|{version}|{','.join(GROUPS)}", answer)

    def replace_group(self) -> None:
        """Another broker's group: one with a member that reads ``t``, an empty one, or none."""
        group_id = self.rng.choice(GROUPS)
        member = MemberMetadata(
            member_id="m",
            group_instance_id=self.rng.choice((None, "one")),
            client_id="c",
            client_host="/127.0.0.1",
            rebalance_timeout=60_000,
            session_timeout=10_000,
            subscription=subscription(["t"], {}, 1),
            assignment=b"",
        )
        stable = new_group_metadata_record(
            group_id,
            protocol_type=self.rng.choice(("consumer", "connect")),
            generation_id=GENERATION,
            protocol_name="range",
            leader="m",
            current_state_timestamp_ms=self.now_ms,
            members=[member],
        )
        left = new_group_metadata_record(
            group_id,
            protocol_type="consumer",
            generation_id=GENERATION,
            protocol_name=None,
            leader=None,
            current_state_timestamp_ms=self.rng.choice((-1, self.now_ms)),
            members=[],
        )
        empty = new_empty_group_metadata_record(group_id, self.now_ms)
        record = self.rng.choice((stable, stable, left, empty, new_group_metadata_tombstone_record(group_id)))
        key, value = SERDE.encode(record)
        self.write([record])
        self.say(f"replay|{key.hex()}|{'-' if value is None else value.hex()}", "ok")

    def run(self, steps: int) -> None:
        often = (self.commit, self.commit_in_a_transaction, self.fetch)
        others = (
            self.pass_time,
            self.end_transaction,
            self.delete_offsets,
            self.clean_up,
            self.delete_topics,
            self.delete_groups,
            self.list_groups,
            self.describe_groups,
            self.replace_group,
        )
        for _ in range(steps):
            self.rng.choice(often * 4 + others)()


def test_apaches_shard_writes_and_answers_the_same(oracle: Oracle, tmp_path: Path) -> None:
    script = Script(11)
    script.run(STEPS)
    file = tmp_path / "script"
    file.write_text("\n".join(script.lines) + "\n")
    done = oracle.run_source(FACTS, file, str(METADATA_MAX), str(RETENTION_MINUTES))
    assert done.returncode == 0, done.stderr
    answers = done.stdout.splitlines()
    assert len(answers) == len(script.lines)
    for number, (line, ours, apaches) in enumerate(zip(script.lines, script.answers, answers, strict=True)):
        assert ours == apaches, f"line {number}: {line}"
    kinds = {line.partition("|")[0] for line in script.lines}
    refusals = {answer for answer in answers if answer.startswith("ERR")}
    assert len(kinds) == 12
    assert len(refusals) >= 5
    assert topic_id("t") != ZERO_UUID
