"""The client against a real Apache broker."""

import asyncio
from pathlib import Path
from random import Random

from ottla.network.client_config import NetworkClientConfig
from ottla.network.network_client import NetworkClient
from ottla.network.node import Node
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from ottla.runtime.live import AsyncioRuntime
from tests.oracle import Oracle

REQUESTS = 1_000


def test_versions_and_a_thousand_pipelined_requests(oracle: Oracle, tmp_path: Path) -> None:
    """Each asks for a topic of its own that does not exist, so that each answer says whose it is."""

    async def test(port: int) -> None:
        runtime = AsyncioRuntime(rng=Random(1), blocking_threads=1)
        config = NetworkClientConfig(max_in_flight_requests_per_connection=100)
        node = Node(-1, "127.0.0.1", port)
        async with NetworkClient(runtime, "ottla-test", config) as client:
            versions = await client.connect(node)
            for key in (ApiKey.METADATA, ApiKey.FETCH, ApiKey.PRODUCE, ApiKey.CREATE_TOPICS):
                ours = key.request_class.schema.versions
                assert versions.latest_usable_version(key.request_class) == ours.highest
            assert "metadata.version" in versions.finalized_features

            cluster = await client.send(node, MetadataRequest(topics=None))
            assert [broker.port for broker in cluster.brokers] == [port]

            answers = [
                client.send(
                    node,
                    MetadataRequest(topics=[MetadataRequestTopic(name=f"t{n}")], allow_auto_topic_creation=False),
                    max_version=n % 10 + 4,
                )
                for n in range(REQUESTS)
            ]
            order: list[int] = []
            for answer in answers:
                answer.add_done_callback(lambda done: order.append(int(done.result().topics[0].name[1:])))
            responses = await asyncio.gather(*answers)
            assert [response.topics[0].name for response in responses] == [f"t{n}" for n in range(REQUESTS)]
            assert {response.topics[0].error_code for response in responses} == {3}
            assert order == list(range(REQUESTS))
        runtime.close()

    with oracle.broker(tmp_path) as broker:
        asyncio.run(asyncio.wait_for(test(broker.ports.broker), 60))
