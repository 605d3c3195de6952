"""Finding a cluster of which some servers are dead, and finding it again."""

import asyncio

from ottla.clients.admin.admin import Admin as AsyncAdmin
from ottla.clients.consumer.consumer import Consumer
from ottla.clients.producer.producer import Producer
from ottla.clients.sync.admin import Admin
from ottla.common.topic_partition import TopicPartition
from tests.apache.properties import free_ports
from tests.clients.admin.waiting import eventually
from tests.clients.consumer.writing import read
from tests.clients.three_brokers.replicas import await_in_sync, make_topic
from tests.clients.three_brokers.trouble import run
from tests.node_cluster import NodeCluster


def test_one_of_the_bootstrap_servers_is_enough(brokers: NodeCluster, admin: Admin, topic: str) -> None:
    """One was never there and one stands still; the third is named last."""
    make_topic(admin, topic, [1, 1])
    servers = [f"127.0.0.1:{free_ports().broker}", brokers.nodes[3].bootstrap, brokers.nodes[1].bootstrap]

    async def story() -> None:
        async with (
            Producer(bootstrap_servers=servers, request_timeout_ms=2_000, delivery_timeout_ms=20_000) as producer,
            Consumer(
                bootstrap_servers=servers, auto_offset_reset="earliest", request_timeout_ms=2_000, fetch_max_wait_ms=500
            ) as consumer,
            AsyncAdmin(bootstrap_servers=servers, request_timeout_ms=2_000) as asker,
        ):
            consumer.assign([TopicPartition(topic, 0)])
            await producer.send_and_wait(topic, b"here", partition=0)
            assert [record.value for record in await read(consumer, 1)] == [b"here"]
            assert topic in await asker.list_topics()

    with brokers.nodes[3].paused():
        run(story())


def test_a_client_that_has_lost_all_brokers_it_knows_asks_the_bootstrap_servers(
    brokers: NodeCluster, admin: Admin, topic: str
) -> None:
    make_topic(admin, topic, [1])
    brokers.nodes[2].kill()
    eventually(lambda: {node.id for node in admin.describe_cluster().nodes} == {1, 3})

    async def story() -> None:
        async with Producer(bootstrap_servers=brokers.bootstrap) as producer:
            await producer.send_and_wait(topic, b"first", partition=0)
            known = producer._core.cluster
            assert set(known.metadata.nodes) == {1, 3}
            await asyncio.to_thread(brokers.start)
            await asyncio.to_thread(await_in_sync, admin, topic)
            assert set(known.metadata.nodes) == {1, 3}
            brokers.nodes[1].kill()
            brokers.nodes[3].kill()
            delivery = await producer.send(topic, b"last", partition=0)
            while 2 not in known.metadata.nodes:  # nobody else can tell
                await asyncio.sleep(0.02)
            await asyncio.to_thread(brokers.start)
            assert (await delivery).offset == 1

    run(story())
