"""Figures of a group's members, by Apache's names: each is moved by what it counts."""

import asyncio
from typing import Any

import pytest

from ottla.clients.admin.admin import Admin
from ottla.clients.consumer.consumer import Consumer
from ottla.clients.consumer.coordinator_metrics import CoordinatorMetrics
from ottla.common.error_code import ErrorCode
from ottla.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from ottla.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from tests.clients.consumer_groups.group_life import Member, create_topic, members_of, produce, until
from tests.node import Node

OF_APACHE = """
assigned-partitions commit-latency-avg commit-latency-max commit-rate commit-total failed-rebalance-rate-per-hour
failed-rebalance-total heartbeat-rate heartbeat-response-time-max heartbeat-total join-rate join-time-avg join-time-max
join-total last-heartbeat-seconds-ago last-rebalance-seconds-ago partition-assigned-latency-avg
partition-assigned-latency-max partition-lost-latency-avg partition-lost-latency-max partition-revoked-latency-avg
partition-revoked-latency-max rebalance-latency-avg rebalance-latency-max rebalance-latency-total
rebalance-rate-per-hour rebalance-total sync-rate sync-time-avg sync-time-max sync-total
"""
"""The consumer-coordinator-metrics that KafkaConsumer 4.3.1 names with group.protocol=classic."""


def test_a_classic_rebalance_lasts_until_it_succeeds() -> None:
    metrics = CoordinatorMetrics(0)
    assert metrics.snapshot(0)["last-heartbeat-seconds-ago"] == -1
    assert metrics.snapshot(0)["last-rebalance-seconds-ago"] == -1
    join, sync = JoinGroupRequest(), SyncGroupRequest()
    metrics.sent(join, 1000)
    metrics.answered(join, JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED), 1000, 1010)
    metrics.sent(join, 1010)
    metrics.failed(join)
    metrics.sent(join, 1200)
    metrics.answered(join, JoinGroupResponse(), 1200, 1500)
    metrics.answered(sync, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS), 1500, 1550)
    metrics.sent(join, 1550)
    metrics.answered(join, JoinGroupResponse(), 1550, 1650)
    metrics.answered(sync, SyncGroupResponse(), 1650, 1700)
    beat = HeartbeatRequest()
    metrics.sent(beat, 1800)
    metrics.answered(beat, HeartbeatResponse(), 1800, 1807)
    metrics.failed(beat)
    figures = metrics.snapshot(3700)
    expected = {
        "join-total": 2,
        "join-time-avg": 200,
        "join-time-max": 300,
        "sync-total": 1,
        "sync-time-avg": 50,
        "sync-time-max": 50,
        "failed-rebalance-total": 3,
        "rebalance-total": 1,
        "rebalance-latency-avg": 700,
        "rebalance-latency-max": 700,
        "rebalance-latency-total": 700,
        "heartbeat-total": 1,
        "heartbeat-response-time-max": 7,
        "last-heartbeat-seconds-ago": 1.9,
        "last-rebalance-seconds-ago": 2.0,
        "heartbeat-rate": pytest.approx(1 / 3.7),
        "join-rate": pytest.approx(2 / 3.7),
        "sync-rate": pytest.approx(1 / 3.7),
        "rebalance-rate-per-hour": pytest.approx(3600 / 3.7),
        "failed-rebalance-rate-per-hour": pytest.approx(3 * 3600 / 3.7),
    }
    assert {name: figures[name] for name in expected} == expected


def test_heartbeats_of_both_protocols_count() -> None:
    metrics = CoordinatorMetrics(0)
    beat = ConsumerGroupHeartbeatRequest()
    metrics.sent(beat, 5)
    metrics.answered(beat, ConsumerGroupHeartbeatResponse(), 5, 9)
    figures = metrics.snapshot(1005)
    assert (figures["heartbeat-total"], figures["heartbeat-response-time-max"]) == (1, 4)
    assert figures["last-heartbeat-seconds-ago"] == 1.0
    assert figures["rebalance-total"] == figures["failed-rebalance-total"] == 0


def test_times_are_averaged_and_the_longest_is_kept() -> None:
    metrics = CoordinatorMetrics(0)
    timings = {
        "commit-latency": metrics.commits,
        "partition-assigned-latency": metrics.assigned,
        "partition-revoked-latency": metrics.revoked,
        "partition-lost-latency": metrics.lost,
    }
    for factor, (name, timing) in enumerate(timings.items(), 1):
        assert (metrics.snapshot(1)[f"{name}-avg"], metrics.snapshot(1)[f"{name}-max"]) == (0, 0)
        timing.took(10 * factor)
        timing.took(30 * factor)
    for factor, name in enumerate(timings, 1):
        figures = metrics.snapshot(4000)
        assert (figures[f"{name}-avg"], figures[f"{name}-max"]) == (20 * factor, 30 * factor)
    assert (figures["commit-total"], figures["commit-rate"]) == (2, 0.5)


class Slow:
    """A listener that takes its time."""

    async def on_partitions_assigned(self, partitions: frozenset[Any]) -> None:
        await asyncio.sleep(0.03)

    on_partitions_revoked = on_partitions_assigned
    on_partitions_lost = on_partitions_assigned


@pytest.mark.parametrize("protocol", ["range", "consumer"])
def test_a_member_counts_what_it_does(kafka: Node, topic: str, protocol: str) -> None:
    """It joins, reads, commits, shares with another, and is thrown out."""

    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, 2)
        produce(kafka.bootstrap, topic, 2, range(10))
        one = Member(kafka.bootstrap, topic, topic, protocol=protocol, enable_auto_commit=False)
        one.consumer.subscribe([topic], listener=Slow())
        async with members_of(one):
            reader = one.consumer
            await until(lambda: len(one.records) == 10, "reading")
            before = reader.metrics()
            assert before["assigned-partitions"] == 2
            assert before["rebalance-total"] == 1
            assert before["last-rebalance-seconds-ago"] >= 0
            assert before["partition-assigned-latency-max"] >= 30 > before["partition-revoked-latency-max"]
            assert before["commit-total"] == before["commit-latency-max"] == 0
            for _ in range(3):
                await reader.commit()
            await until(lambda: reader.metrics()["heartbeat-total"] > before["heartbeat-total"], "a heartbeat")
            figures = reader.metrics()
            assert figures["commit-total"] == 3
            assert figures["commit-rate"] > 0
            assert figures["heartbeat-rate"] > 0
            assert 0 <= figures["last-heartbeat-seconds-ago"] < 40
            async with members_of(Member(kafka.bootstrap, topic, topic, protocol=protocol)):
                await until(lambda: reader.metrics()["assigned-partitions"] == 1, "sharing")
                await until(lambda: reader.metrics()["rebalance-total"] >= 2, "a second rebalance")
                figures = reader.metrics()
                assert figures["partition-revoked-latency-max"] >= 30 > figures["partition-lost-latency-max"]
                assert figures["rebalance-latency-total"] >= figures["rebalance-latency-max"]
                assert figures["rebalance-rate-per-hour"] > 0
                if protocol == "range":
                    assert figures["join-total"] >= 2
                    assert figures["sync-total"] >= 2
                    assert figures["failed-rebalance-total"] >= 1, "a new member is sent away once, with an id"
            await until(lambda: reader.metrics()["assigned-partitions"] == 2, "having all again")
            async with Admin(bootstrap_servers=kafka.bootstrap) as admin:
                await admin.remove_members(topic)
            await until(lambda: reader.metrics()["partition-lost-latency-max"] >= 30, "a loss")

    asyncio.run(run())


def test_who_is_in_no_group_has_no_figures_of_one(kafka: Node) -> None:
    async def run() -> None:
        async with Consumer(bootstrap_servers=kafka.bootstrap) as reader:
            alone = reader.metrics()
        async with Consumer(bootstrap_servers=kafka.bootstrap, group_id="figures") as reader:
            member = reader.metrics()
        assert member.keys() - alone.keys() | {"assigned-partitions"} == set(OF_APACHE.split())

    asyncio.run(run())
