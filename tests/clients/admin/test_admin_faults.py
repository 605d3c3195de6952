"""An admin client whose broker is paused, killed, restarted or never there: an error in time, and recovery."""

import asyncio
import socket
import threading

import pytest

from ottla.clients.admin import Admin, GroupState, NewTopic, OffsetAndMetadata, OffsetSpec, TopicPartition
from ottla.clients.errors import ClientClosedError, InvalidConfigError, KafkaTimeoutError
from ottla.clients.sync.admin import Admin as SyncAdmin
from ottla.common.errors import KafkaError
from tests.clients.admin.waiting import create, eventually
from tests.node import Node


def test_a_paused_broker_is_a_timeout(kafka: Node, topic: str) -> None:
    with SyncAdmin(bootstrap_servers=kafka.bootstrap) as admin:
        create(admin, [NewTopic(topic, 1)])
        zero = TopicPartition(topic, 0)
        admin.alter_group_offsets(topic, {zero: OffsetAndMetadata(1)})
        with kafka.paused():
            for call in (
                lambda: admin.list_topics(timeout_ms=300),
                lambda: admin.describe_cluster(timeout_ms=300),
                lambda: admin.list_groups(timeout_ms=300),
                lambda: admin.create_topics([NewTopic(topic + "-b")], timeout_ms=300),
                lambda: admin.describe_consumer_groups([topic], timeout_ms=300),
                lambda: admin.list_offsets({zero: OffsetSpec.latest()}, timeout_ms=300),
            ):
                with pytest.raises(KafkaTimeoutError):
                    call()
            values = admin.delete_groups([topic], timeout_ms=300, raise_errors=False)
            assert isinstance(values[topic], KafkaTimeoutError)
        assert topic in admin.list_topics()
        assert admin.list_offsets({zero: OffsetSpec.latest()})[zero].offset == 0


def test_the_default_timeout_is_the_clients(kafka: Node) -> None:
    with SyncAdmin(bootstrap_servers=kafka.bootstrap, default_api_timeout_ms=400, request_timeout_ms=200) as admin:
        with kafka.paused(), pytest.raises(KafkaTimeoutError, match="400 ms") as timeout:
            admin.describe_cluster()
        assert timeout.value.retriable
        eventually(lambda: admin.describe_cluster(timeout_ms=30_000).nodes)


def test_a_call_outlives_a_restart(kafka: Node, topic: str) -> None:
    with SyncAdmin(bootstrap_servers=kafka.bootstrap) as admin:
        create(admin, [NewTopic(topic, 1)])

    async def story() -> None:
        async with Admin(bootstrap_servers=kafka.bootstrap) as admin:
            zero = TopicPartition(topic, 0)
            await admin.alter_group_offsets(topic, {zero: OffsetAndMetadata(7)})
            kafka.kill()
            asking = asyncio.gather(
                admin.list_offsets({zero: OffsetSpec.earliest()}),
                admin.list_group_offsets(topic),
                admin.describe_topics([topic]),
                admin.list_groups(states=[GroupState.EMPTY]),
            )
            await asyncio.sleep(0)
            await asyncio.to_thread(kafka.start)
            offsets, committed, described, groups = await asking
            assert offsets[zero].offset == 0
            assert committed == {zero: OffsetAndMetadata(7)}
            assert len(described[topic].partitions) == 1
            assert topic in groups

    asyncio.run(story())


def test_nobody_at_the_bootstrap_address() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{held.getsockname()[1]}"
        with pytest.raises(KafkaTimeoutError, match=address):
            SyncAdmin(bootstrap_servers=address, default_api_timeout_ms=300, request_timeout_ms=300).start()


def test_wrong_configurations_are_told() -> None:
    with pytest.raises(InvalidConfigError, match="bootstrap"):
        SyncAdmin()
    with pytest.raises(InvalidConfigError, match="retries"):
        SyncAdmin(bootstrap_servers="127.0.0.1:9092", retires=3)
    with pytest.raises(InvalidConfigError):
        SyncAdmin(bootstrap_servers="127.0.0.1:9092", bootstrap_controllers="127.0.0.1:9093")


def test_closing_ends_calls_under_way(kafka: Node) -> None:
    admin = SyncAdmin(bootstrap_servers=kafka.bootstrap)
    admin.start()
    errors: list[BaseException] = []
    began = threading.Event()

    def ask() -> None:
        began.set()
        try:
            admin.describe_cluster()
        except KafkaError as error:
            errors.append(error)

    with kafka.paused():
        asking = threading.Thread(target=ask)
        asking.start()
        assert began.wait(10)
        admin.close()
        asking.join(10)
        assert not asking.is_alive()
    assert len(errors) == 1
    assert isinstance(errors[0], ClientClosedError)
    with pytest.raises(ClientClosedError):
        admin.describe_cluster()
    admin.close()
