"""Apache's consumer-groups, groups, configs, console-consumer and consumer-perf-test tools, with groups."""

import re
from itertools import count
from pathlib import Path

import pytest

from tests.interop.groups.crew import Crew, await_processed, await_shared
from tests.interop.groups.group_admin import GroupAdmin
from tests.interop.groups.host import Member
from tests.interop.groups.kinds import CONFLUENT_CONSUMER, CONFLUENT_RANGE, member
from tests.interop.groups.member_spec import Partition
from tests.interop.tools import CONFIGS, CONSOLE_CONSUMER, CONSUMER_GROUPS, GROUPS, TOOLS, Row, Tools, table
from tests.node import Node
from tests.oracle import Oracle

_numbers = count()


@pytest.fixture
def tools(oracle: Oracle, kafka_cluster: Node) -> Tools:
    return Tools(oracle, kafka_cluster.bootstrap, shared=True)


@pytest.fixture
def name() -> str:
    """A name that fits into a column."""
    return f"tools-{next(_numbers)}"


def rows(tools: Tools, *arguments: str) -> list[Row]:
    """The tables that consumer-groups prints, in order of all that they say."""
    return sorted(table(tools.run(CONSUMER_GROUPS, *arguments)), key=lambda row: list(row.values()))


def test_list_and_describe(tools: Tools, crew: Crew, admin: GroupAdmin, name: str, kafka_cluster: Node) -> None:
    partitions = admin.create_topic(name, 3)
    classic, modern = f"{name}-old", f"{name}-new"
    admin.produce(partitions)
    groups = {
        group: [crew.join(member(kind, name, group, instance_id="inst")), crew.join(member(kind, name, group))]
        for group, kind in ((classic, CONFLUENT_RANGE), (modern, CONFLUENT_CONSUMER))
    }
    for pair in groups.values():
        await_shared(pair, partitions)
        await_processed(pair, admin.ends)
        admin.await_committed(pair[0].spec.group)
    for group, pair in groups.items():
        admin.await_described(group, lambda each: each.state == "STABLE", "stable")
        for each in pair:
            each.stop_polling()
            each.status()
    admin.produce(partitions[:1], 5)

    assert {classic, modern} <= set(tools.run(CONSUMER_GROUPS, "--list").split())
    ours = (
        {"GROUP": classic, "TYPE": "Classic", "STATE": "Stable"},
        {"GROUP": modern, "TYPE": "Consumer", "STATE": "Stable"},
    )
    listed = rows(tools, "--list", "--state", "--type")
    assert all(row in listed for row in ours)
    assert {"GROUP": classic, "STATE": "Stable"} in rows(tools, "--list", "--state", "stable")
    assert {"GROUP": classic, "STATE": "Stable"} not in rows(tools, "--list", "--state", "empty,dead")
    of_type = [row["GROUP"] for row in rows(tools, "--list", "--type", "consumer")]
    assert modern in of_type
    assert classic not in of_type

    for group, pair in groups.items():
        assert rows(tools, "--describe", "--group", group) == [
            offset_row(group, partition, 10, admin.ends[partition], owner(partition, pair)) for partition in partitions
        ]
    everything = rows(tools, "--describe", "--all-groups", "--offsets")
    assert [row for row in everything if row["GROUP"] == modern] == rows(tools, "--describe", "--group", modern)
    (first, *_) = rows(tools, "--describe", "--group", classic, "--verbose")
    assert first["LEADER-EPOCH"] == "-"

    for group, pair in groups.items():
        epoch = "-" if group == classic else str(pair[0].generation)
        assert rows(tools, "--describe", "--group", group, "--members", "--verbose") == sorted(
            (member_row(group, each, epoch) for each in pair), key=lambda row: list(row.values())
        )
        short = rows(tools, "--describe", "--group", group, "--members")
        assert {tuple(row) for row in short} == {
            ("GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS")
        }

    coordinator = f"127.0.0.1:{kafka_cluster.ports.broker}  (1)"
    state = {"COORDINATOR (ID)": coordinator, "STATE": "Stable", "#MEMBERS": "2"}
    assert rows(tools, "--describe", "--group", classic, "--state") == [
        {"GROUP": classic, "ASSIGNMENT-STRATEGY": "range", **state}
    ]
    epoch = str(groups[modern][0].generation)
    assert rows(tools, "--describe", "--group", modern, "--state", "--verbose") == [
        {"GROUP": modern, "ASSIGNMENT-STRATEGY": "uniform", **state}
        | {"GROUP-EPOCH": epoch, "TARGET-ASSIGNMENT-EPOCH": epoch}
    ]
    missing = tools.run(CONSUMER_GROUPS, "--describe", "--group", "nobody")
    assert "GroupIdNotFoundException: Group nobody not found." in missing


def test_what_a_live_group_refuses(tools: Tools, crew: Crew, admin: GroupAdmin, name: str) -> None:
    partitions = admin.create_topic(name, 1)
    admin.produce(partitions)
    for kind, group in ((CONFLUENT_RANGE, f"{name}-old"), (CONFLUENT_CONSUMER, f"{name}-new")):
        one = crew.join(member(kind, name, group))
        await_processed([one], admin.ends)
        admin.await_committed(group)
        refused = tools.run(CONSUMER_GROUPS, "--delete", "--group", group)
        assert (
            f"* Group '{group}' could not be deleted due to: "
            "org.apache.kafka.common.errors.GroupNotEmptyException: The group is not empty." in refused
        )
        refused = tools.run(CONSUMER_GROUPS, "--delete-offsets", "--group", group, "--topic", name)
        assert "GroupSubscribedToTopicException: Deleting offsets of a topic is forbidden while" in refused
        refused = tools.run(
            CONSUMER_GROUPS, "--reset-offsets", "--group", group, "--topic", name, "--to-earliest", "--execute"
        )
        assert f"can only be reset if the group '{group}' is inactive, but the current state is Stable." in refused
        assert admin.committed(group) == admin.ends


def test_reset_offsets(tools: Tools, crew: Crew, admin: GroupAdmin, name: str, tmp_path: Path) -> None:
    partitions = admin.create_topic(name, 3)
    admin.produce(partitions)
    one = crew.join(member(CONFLUENT_RANGE, name))
    await_processed([one], admin.ends)
    one.leave()

    def reset(*how: str) -> list[str]:
        """The new offsets, by partition, and how many partitions there are."""
        found = rows(tools, "--reset-offsets", "--group", name, "--topic", name, *how)
        assert [(row["GROUP"], row["TOPIC"], row["PARTITION"]) for row in found] == [(name, name, n) for n in "012"]
        return [row["NEW-OFFSET"] for row in found]

    def committed() -> list[int]:
        return [admin.committed(name)[partition] for partition in partitions]

    assert reset("--to-earliest", "--dry-run") == ["0", "0", "0"]
    assert committed() == [10, 10, 10]
    assert reset("--shift-by", "-3", "--execute") == ["7", "7", "7"]
    assert committed() == [7, 7, 7]
    assert reset("--to-offset", "4", "--execute") == ["4", "4", "4"]
    assert reset("--to-current", "--execute") == ["4", "4", "4"]
    assert committed() == [4, 4, 4]
    assert reset("--to-latest", "--execute") == ["10", "10", "10"]
    assert reset("--by-duration", "PT1H", "--execute") == ["0", "0", "0"]
    assert reset("--to-datetime", "2099-01-01T00:00:00.000", "--execute") == ["10", "10", "10"]
    assert committed() == [10, 10, 10]

    of_group = ("--reset-offsets", "--group", name)
    exported = tools.run(CONSUMER_GROUPS, *of_group, "--all-topics", "--to-offset", "2", "--execute", "--export")
    lines = [line for line in exported.splitlines() if line]
    assert sorted(lines) == [f"{name},{number},2" for number in range(3)]
    assert committed() == [2, 2, 2]
    plan = tmp_path / "plan.csv"
    plan.write_text(f"{name},0,1\n{name},2,9\n")
    tools.run(CONSUMER_GROUPS, *of_group, "--from-file", str(plan), "--execute")
    assert committed() == [1, 2, 9]

    fresh = f"{name}-fresh"
    tools.run(
        CONSUMER_GROUPS, "--reset-offsets", "--group", fresh, "--topic", f"{name}:0,1", "--to-latest", "--execute"
    )
    assert admin.committed(fresh) == {partitions[0]: 10, partitions[1]: 10}
    assert rows(tools, "--describe", "--group", name) == [
        offset_row(name, partition, admin.committed(name)[partition], 10, None) for partition in partitions
    ]
    assert f"Consumer group '{name}' has no active members." in tools.run(
        CONSUMER_GROUPS, "--describe", "--group", name
    )
    after = crew.join(member(CONFLUENT_RANGE, name))
    await_processed([after], admin.ends, dict(zip(partitions, (1, 2, 9), strict=True)))
    assert len(after.processed) == 9 + 8 + 1


def test_delete(tools: Tools, admin: GroupAdmin, name: str) -> None:
    partitions = admin.create_topic(name, 2)
    admin.alter_offsets(name, dict.fromkeys(partitions, 7))
    deleted = tools.run(CONSUMER_GROUPS, "--delete-offsets", "--group", name, "--topic", f"{name}:0")
    assert f"Request succeeded for deleting offsets from group {name}." in deleted
    assert table(deleted) == [{"TOPIC": name, "PARTITION": "0", "STATUS": "Successful"}]
    missing = tools.run(CONSUMER_GROUPS, "--delete-offsets", "--group", name, "--topic", "nowhere:0")
    assert "UnknownTopicOrPartitionException: This server does not host this topic-partition." in missing
    assert admin.committed(name) == {partitions[1]: 7}
    both = tools.run(CONSUMER_GROUPS, "--delete", "--group", name, "--group", "nobody")
    assert (
        "* Group 'nobody' could not be deleted due to: "
        "org.apache.kafka.common.errors.GroupIdNotFoundException: The group id does not exist." in both
    )
    assert f"These consumer groups were deleted successfully: '{name}'" in both
    assert name not in admin.groups()
    assert admin.committed(name) == {}
    admin.alter_offsets(name, dict.fromkeys(partitions, 8))
    assert f"Deletion of requested consumer groups ('{name}') was successful." in tools.run(
        CONSUMER_GROUPS, "--delete", "--group", name
    )


def test_groups(oracle: Oracle, kafka_cluster: Node, crew: Crew, admin: GroupAdmin, name: str) -> None:
    partitions = admin.create_topic(name, 1)
    old, new, offsets = f"{name}-old", f"{name}-new", f"{name}-none"
    await_shared([crew.join(member(CONFLUENT_RANGE, name, old))], partitions)
    await_shared([crew.join(member(CONFLUENT_CONSUMER, name, new))], partitions)
    admin.alter_offsets(offsets, {partitions[0]: 0})
    tools = Tools(oracle, kafka_cluster.bootstrap)
    classic = {"GROUP": old, "TYPE": "Classic", "PROTOCOL": "consumer"}
    modern = {"GROUP": new, "TYPE": "Consumer", "PROTOCOL": "consumer"}
    only_offsets = {"GROUP": offsets, "TYPE": "Classic", "PROTOCOL": ""}
    everything = table(tools.run(GROUPS, "--list"))
    assert all(row in everything for row in (classic, modern, only_offsets))
    of_type = table(tools.run(GROUPS, "--list", "--group-type", "classic"))
    assert classic in of_type
    assert modern not in of_type
    assert {row["PROTOCOL"] for row in table(tools.run(GROUPS, "--list", "--protocol", "consumer"))} == {"consumer"}
    assert "The regular expression `^a.*` is valid." in tools.run(CONSUMER_GROUPS, "--validate-regex", "^a.*")


def test_group_configs(tools: Tools, crew: Crew, admin: GroupAdmin, name: str) -> None:
    of_group = ("--entity-type", "groups", "--entity-name", name)
    wanted = "consumer.session.timeout.ms=7000,consumer.heartbeat.interval.ms=500"
    changed = tools.run(CONFIGS, "--alter", *of_group, "--add-config", wanted)
    assert f"Completed updating config for group {name}." in changed
    described = tools.run(CONFIGS, "--describe", *of_group)
    assert described.splitlines()[:3] == [
        f"Dynamic configs for group {name} are:",
        "  consumer.heartbeat.interval.ms=500 sensitive=false synonyms={DYNAMIC_GROUP_CONFIG:consumer.heartbeat."
        "interval.ms=500, STATIC_BROKER_CONFIG:group.consumer.heartbeat.interval.ms=300, "
        "DEFAULT_CONFIG:group.consumer.heartbeat.interval.ms=5000}",
        "  consumer.session.timeout.ms=7000 sensitive=false synonyms={DYNAMIC_GROUP_CONFIG:consumer.session."
        "timeout.ms=7000, STATIC_BROKER_CONFIG:group.consumer.session.timeout.ms=10000, "
        "DEFAULT_CONFIG:group.consumer.session.timeout.ms=45000}",
    ]
    status, refused = tools.attempt(CONFIGS, "--alter", *of_group, "--add-config", "consumer.session.timeout.ms=1")
    assert status == 1
    least = "group.consumer.min.session.timeout.ms"
    assert f"consumer.session.timeout.ms must be greater than or equal to {least}" in refused
    tools.run(CONFIGS, "--alter", *of_group, "--delete-config", "consumer.session.timeout.ms")
    assert "consumer.session.timeout.ms" not in tools.run(CONFIGS, "--describe", *of_group)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_console_consumer_and_performance(tools: Tools, admin: GroupAdmin, name: str, protocol: str) -> None:
    partitions = admin.create_topic(name, 3)
    admin.produce(partitions)
    options = ("--topic", name, "--command-property", f"group.protocol={protocol}")
    console, perf = f"{name}-con", f"{name}-perf"
    read = tools.run(CONSOLE_CONSUMER, *options, "--group", console, "--from-beginning", "--max-messages", "30")
    assert read.splitlines().count("value") == 30
    assert "Processed a total of 30 messages" in read
    assert admin.committed(console) == admin.ends
    report = tools.run(
        f"{TOOLS}.ConsumerPerformance", *options, "--group", perf, "--num-records", "30", "--timeout", "30000"
    )
    *_, heading, figures = [line for line in report.splitlines() if re.match(r"start\.time|\d{4}-", line)]
    row = dict(zip(heading.split(", "), figures.split(", "), strict=True))
    assert row["data.consumed.in.nMsg"] == "30"
    assert admin.committed(perf) == admin.ends
    assert {row["GROUP"] for row in rows(tools, "--describe", "--all-groups", "--state")} >= {console, perf}


def owner(partition: Partition, members: list[Member]) -> Member:
    (found,) = [each for each in members if partition in each.owned]
    return found


def offset_row(group: str, partition: Partition, offset: int, end: int, consumer: Member | None) -> Row:
    topic, index = partition
    by = ("-", "-", "-") if consumer is None else (consumer.member_id, "/127.0.0.1", "rdkafka")
    return {
        "GROUP": group,
        "TOPIC": topic,
        "PARTITION": str(index),
        "CURRENT-OFFSET": str(offset),
        "LOG-END-OFFSET": str(end),
        "LAG": str(end - offset),
        "CONSUMER-ID": by[0],
        "HOST": by[1],
        "CLIENT-ID": by[2],
    }


def member_row(group: str, of: Member, epoch: str) -> Row:
    (topic,) = {topic for topic, _ in of.owned}
    assignment = f"{topic}:{','.join(str(partition) for _, partition in sorted(of.owned))}"
    return {
        "GROUP": group,
        "CONSUMER-ID": of.member_id,
        "GROUP-INSTANCE-ID": of.spec.instance_id or "",
        "HOST": "/127.0.0.1",
        "CLIENT-ID": "rdkafka",
        "#PARTITIONS": str(len(of.owned)),
        "CURRENT-EPOCH": epoch,
        "CURRENT-ASSIGNMENT": assignment,
        "TARGET-EPOCH": epoch,
        "TARGET-ASSIGNMENT": "-" if epoch == "-" else assignment,
    }
