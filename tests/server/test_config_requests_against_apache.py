"""The same requests about configurations and data directories, to Apache's node and to ours, are answered alike.

Left out: operations that do not exist (Apache trips over most of them and answers UNKNOWN_SERVER_ERROR), and what
documentation says, which is in our own words.
"""

import shutil
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from ottla.controller.configs import OpType
from ottla.metadata.image.configs import ConfigResourceType
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.headers import decode_response, encode_request
from ottla.protocol.message import Message
from ottla.protocol.messages import alter_configs as legacy
from ottla.protocol.messages import incremental_alter_configs as incremental
from ottla.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from ottla.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from ottla.protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from ottla.protocol.messages.list_config_resources import ListConfigResourcesRequest
from tests.apache.properties import free_ports
from tests.node import Node
from tests.oracle import Oracle
from tests.ottla_broker import OttlaBroker

TOPIC, BROKER, LOGGER = ConfigResourceType.TOPIC, ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER
METRICS, GROUP = ConfigResourceType.CLIENT_METRICS, ConfigResourceType.GROUP
SET, DELETE, APPEND, SUBTRACT = OpType
BOUND_S = 30
POLL_S = 0.05
UNKNOWN_DIR = "/nowhere"
QUESTIONS = (DescribeConfigsRequest, ListConfigResourcesRequest, DescribeLogDirsRequest)
DIFFERENT = {"documentation", "topic_id", "total_bytes", "usable_bytes"}
OUR_KEYS = ("ottla.", "metrics.listener")


class Ask(NamedTuple):
    """A request, in a version, to the broker's or the controller's listener."""

    request: Message
    version: int
    to_controller: bool = False


def alter(
    *resources: tuple[int, str, Sequence[tuple[str, int, str | None]]],
    to_controller: bool = False,
    validate_only: bool = False,
) -> Ask:
    """IncrementalAlterConfigs."""
    request = incremental.IncrementalAlterConfigsRequest(
        resources=[
            incremental.AlterConfigsResource(
                resource_type=type_,
                resource_name=name,
                configs=[
                    incremental.AlterableConfig(name=key, config_operation=operation, value=value)
                    for key, operation, value in changes
                ],
            )
            for type_, name, changes in resources
        ],
        validate_only=validate_only,
    )
    return Ask(request, 1, to_controller)


def replace(*resources: tuple[int, str, Sequence[tuple[str, str | None]]], to_controller: bool = False) -> Ask:
    """AlterConfigs."""
    request = legacy.AlterConfigsRequest(
        resources=[
            legacy.AlterConfigsResource(
                resource_type=type_,
                resource_name=name,
                configs=[legacy.AlterableConfig(name=key, value=value) for key, value in values],
            )
            for type_, name, values in resources
        ]
    )
    return Ask(request, 2, to_controller)


def describe(*resources: tuple[int, str], keys: Sequence[str] | None = None, to_controller: bool = False) -> Ask:
    """DescribeConfigs, with synonyms."""
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(resource_type=type_, resource_name=name, configuration_keys=keys)
            for type_, name in resources
        ],
        include_synonyms=True,
    )
    return Ask(request, 4, to_controller)


def move(topic: str, partition: int, path: str) -> Ask:
    """AlterReplicaLogDirs."""
    topics = [AlterReplicaLogDirTopic(name=topic, partitions=[partition])]
    return Ask(AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=path, topics=topics)]), 2)


CONVERSATION = [
    Ask(CreateTopicsRequest(topics=[CreatableTopic(name="orders", num_partitions=1, replication_factor=1)]), 7),
    describe((TOPIC, "orders")),
    alter((TOPIC, "orders", [("retention.ms", SET, "5000"), ("cleanup.policy", APPEND, "compact")])),
    alter((BROKER, "", [("log.retention.ms", SET, "7000"), ("log.cleanup.policy", APPEND, "compact")])),
    alter((BROKER, "1", [("log.cleaner.threads", SET, "2")])),
    alter((GROUP, "g", [("consumer.session.timeout.ms", SET, "46000")]), (METRICS, "m", [("interval.ms", SET, "200")])),
    describe((TOPIC, "orders"), (BROKER, ""), (GROUP, "g"), (METRICS, "m"), (GROUP, "nobody"), (METRICS, "nobody")),
    describe((BROKER, "1")),
    describe((BROKER, "1"), keys=["log.cleaner.threads", "log.retention.ms", "nothing"], to_controller=True),
    describe((TOPIC, "orders"), keys=["retention.ms"], to_controller=True),
    # Refused, one by one.
    describe((TOPIC, "nobody"), (TOPIC, "not/good"), (BROKER, "2"), (BROKER, "one"), (LOGGER, ""), (LOGGER, "2")),
    describe((METRICS, ""), (GROUP, "")),
    alter((TOPIC, "orders", []), (TOPIC, "nobody", [("retention.ms", SET, "1")]), (BROKER, "2", []), (BROKER, "x", [])),
    alter((TOPIC, "orders", [("retention.ms", SET, "1"), ("retention.ms", SET, "2")])),
    alter((TOPIC, "orders", [("retention.ms", SET, None), ("segment.ms", APPEND, None), ("flush.ms", DELETE, None)])),
    alter((TOPIC, "orders", [("nothing", SET, "1")])),
    alter((TOPIC, "orders", [("retention.ms", APPEND, "1")])),
    alter((TOPIC, "orders", [("retention.ms", SET, "1")]), validate_only=True),
    alter((BROKER, "1", [("log.cleaner.threads", APPEND, "1")]), (BROKER, "", [("nothing", SUBTRACT, "1")])),
    alter((BROKER, "1", [("broker.rack", SET, "r")])),
    alter((BROKER, "", [("broker.rack", SET, "r")])),
    alter((BROKER, "1", [("log.cleaner.threads", 9, "r")])),
    alter((99, "x", [])),
    alter((LOGGER, "2", [("root", SET, "INFO")])),
    alter((LOGGER, "", [("root", SET, "INFO")])),
    alter((LOGGER, "1", [("no.such.logger", SET, "INFO")])),
    alter((LOGGER, "1", [("root", SET, "LOUD")])),
    alter((LOGGER, "1", [("root", DELETE, None)])),
    alter((LOGGER, "1", [("root", APPEND, "INFO")])),
    alter((LOGGER, "1", [("root", SET, "WARN")])),
    describe((LOGGER, "1"), keys=["root"]),
    alter((LOGGER, "1", [("root", SET, "ERROR")]), to_controller=True),
    describe((LOGGER, "1"), keys=["root"], to_controller=True),
    alter((TOPIC, "orders", [("retention.ms", SET, "6000")]), (99, "x", []), to_controller=True),
    alter((GROUP, "", []), (METRICS, "", []), (GROUP, "g", [("nothing", SET, "1")])),
    replace((LOGGER, "1", [("root", "INFO")]), (99, "x", [])),
    replace((LOGGER, "1", [("root", "INFO")]), to_controller=True),
    replace((TOPIC, "orders", [("segment.ms", "5")]), (BROKER, "2", []), (TOPIC, "nobody", [("segment.ms", None)])),
    replace((BROKER, "1", [("log.cleaner.threads", "1")]), (GROUP, "g", [])),
    describe(
        (TOPIC, "orders"), (BROKER, "1"), (GROUP, "g"), keys=["segment.ms", "retention.ms", "log.cleaner.threads"]
    ),
    Ask(ListConfigResourcesRequest(), 0),
    Ask(ListConfigResourcesRequest(), 1),
    Ask(ListConfigResourcesRequest(resource_types=[TOPIC, GROUP]), 1),
    Ask(ListConfigResourcesRequest(resource_types=[99]), 1),
    Ask(DescribeLogDirsRequest(topics=None), 5),
    Ask(DescribeLogDirsRequest(topics=[]), 5),
    Ask(DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic="orders", partitions=[0, 5])]), 1),
    move("orders", 0, UNKNOWN_DIR),
    move("nobody", 0, "{directory}/data"),
    move("x" * 249, 0, "{directory}/data"),
    move("orders", 0, "{directory}/data"),
]


class Conversation:
    """One connection to each listener of a node."""

    def __init__(self, node: Node, directory: Path, stack: ExitStack) -> None:
        self._directory = str(directory)
        ports = (node.ports.broker, node.ports.controller)
        self._sockets = [stack.enter_context(socket.create_connection(("127.0.0.1", port), BOUND_S)) for port in ports]

    def ask(self, ask: Ask) -> Any:
        """What the node answers, in a form that can be compared."""
        api_key = ApiKey(ask.request.schema.api_key)
        request = ask.request
        if isinstance(request, AlterReplicaLogDirsRequest):
            for directory in request.dirs:
                directory.path = directory.path.replace("{directory}", self._directory)
        connection = self._sockets[ask.to_controller]
        connection.sendall(encode_request(api_key, ask.version, 1, "test", request))
        size = int.from_bytes(self._receive(connection, 4))
        _, response = decode_response(api_key, ask.version, memoryview(self._receive(connection, size)))
        return self._plain(response)

    @staticmethod
    def _receive(connection: socket.socket, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            part = connection.recv(size - len(received))
            assert part, "the node has hung up"
            received += part
        return bytes(received)

    def _plain(self, value: Any) -> Any:
        """Fields by name, keys by name; without what differs by nature."""
        if isinstance(value, Message):
            fields = {field.name: getattr(value, field.name) for field in value.schema.fields}
            return {name: self._plain(found) for name, found in fields.items() if name not in DIFFERENT}
        if isinstance(value, list):
            items = [self._plain(item) for item in value]
            if items and isinstance(items[0], dict) and "config_source" in items[0]:
                return {item["name"]: item for item in items if not item["name"].startswith(OUR_KEYS)}
            if items and isinstance(items[0], dict) and "source" in items[0]:
                return items  # synonyms: the first one counts
            return sorted(items, key=repr)
        return value.replace(self._directory, "") if isinstance(value, str) else value


def tell(node: Node, directory: Path, expected: Sequence[Any] | None = None) -> list[Any]:
    """The answers of a node, from its first start to its end.

    A broker learns of a change some time after the controller has answered: with ``expected`` answers, a question is
    asked again until it gets them, or long enough.
    """
    answers = []
    with node, ExitStack() as stack:
        conversation = Conversation(node, directory, stack)
        for position, ask in enumerate(CONVERSATION):
            answer = conversation.ask(ask)
            if expected is not None and isinstance(ask.request, QUESTIONS):
                deadline = time.monotonic() + BOUND_S
                while answer != expected[position] and time.monotonic() < deadline:
                    time.sleep(POLL_S)
                    answer = conversation.ask(ask)
            answers.append(answer)
    return answers


def test_answers_are_apaches(oracle: Oracle, tmp_path: Path) -> None:
    ports = free_ports()
    directory = tmp_path / "node"
    answers = tell(OttlaBroker(directory, {}, ports), directory)
    shutil.rmtree(directory)
    expected = tell(oracle.broker(directory, ports=ports), directory, answers)
    for ask, answer, apaches in zip(CONVERSATION, answers, expected, strict=True):
        assert answer == apaches, ask
