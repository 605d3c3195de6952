"""What plain code may do to synchronous clients: odd callbacks, reuse of what was sent, forks, an end in between."""

import inspect
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ottla.clients.admin.admin import Admin as AsyncAdmin
from ottla.clients.consumer.consumer import Consumer as AsyncConsumer
from ottla.clients.errors import ClientClosedError, IllegalStateError, KafkaTimeoutError, SerializationError
from ottla.clients.producer.batch_delivery import BatchDelivery as AsyncBatchDelivery
from ottla.clients.producer.delivery import Delivery as AsyncDelivery
from ottla.clients.producer.interceptors import ProducerRecord
from ottla.clients.producer.producer import Producer as AsyncProducer
from ottla.clients.sync import Admin, Consumer, Producer
from ottla.protocol.messages.produce import ProduceRequest
from ottla.runtime.loop_thread import LoopThread
from tests.clients.producer.scripted_kafka import QUICK, ScriptedKafka

PATIENCE_S = 20


def started_kafka(thread: LoopThread) -> ScriptedKafka:
    """A scripted broker with the topic ``t``, on a loop of its own."""

    async def start() -> ScriptedKafka:
        kafka = ScriptedKafka()
        kafka.topics["t"] = 2
        await kafka.broker.listen()
        return kafka

    return thread.run(start())


@contextmanager
def running_kafka() -> Iterator[ScriptedKafka]:
    thread = LoopThread("scripted-kafka")
    kafka = started_kafka(thread)
    try:
        yield kafka
    finally:
        thread.run(kafka.broker.stop())
        thread.close()


def producer(kafka: ScriptedKafka, **keywords: Any) -> Producer:
    node = kafka.broker.node
    return Producer(QUICK, bootstrap_servers=f"{node.host}:{node.port}", **keywords)


def values(kafka: ScriptedKafka) -> list[bytes | None]:
    return [value for _, _, value in kafka.written]


@pytest.mark.parametrize(
    ("ours", "theirs", "apart"),
    [
        (Producer, AsyncProducer, {"prepare", "send_prepared"}),
        (Consumer, AsyncConsumer, {"next_records", "take_back"}),
        (Admin, AsyncAdmin, set()),
    ],
)
def test_every_public_method_has_its_twin(ours: type, theirs: type, apart: set[str]) -> None:
    """``apart`` is what the asyncio clients have for their twins."""
    names = {name for name, _ in inspect.getmembers(theirs, callable) if not name.startswith("_")} - apart
    assert len(names) > 10
    assert {name for name, _ in inspect.getmembers(ours, callable) if not name.startswith("_")} == names
    for name in names:
        assert _parameters(getattr(ours, name)) == _parameters(getattr(theirs, name)), name
        assert not inspect.iscoroutinefunction(getattr(ours, name)), name
        assert inspect.getdoc(getattr(ours, name)), name


def _parameters(method: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    return [(one.name, one.kind, one.default) for one in inspect.signature(method).parameters.values()]


def test_deliveries_have_their_twins_as_well() -> None:
    from ottla.clients.sync.batch_delivery import BatchDelivery
    from ottla.clients.sync.delivery import Delivery

    for ours, theirs in ((Delivery, AsyncDelivery), (BatchDelivery, AsyncBatchDelivery)):
        for name in ("done", "result", "add_done_callback"):
            assert hasattr(theirs, name)
            assert hasattr(ours, name), (ours, name)


def test_a_partitioner_that_raises_stops_no_other_record() -> None:
    def choose(_topic: str, _key: object, value: bytes | None, *_: object) -> int:
        if value == b"bad":
            raise KeyError("mine")
        return 0

    with running_kafka() as kafka, producer(kafka, partitioner=choose) as client:
        refused, taken = client.send("t", b"bad"), client.send("t", b"good")
        with pytest.raises(KeyError, match="mine"):
            refused.result(PATIENCE_S)
        assert taken.result(PATIENCE_S).offset == 0
        client.flush()


def test_what_was_sent_may_be_changed() -> None:
    """It is serialized before ``send`` returns, and not when the loop gets to it."""

    class Marking:
        def on_send(self, record: ProducerRecord) -> ProducerRecord:
            threads.append(threading.current_thread())
            return record

        def on_acknowledgement(self, metadata: object, error: object) -> None:
            pass

    threads: list[threading.Thread] = []
    with (
        running_kafka() as kafka,
        producer(kafka, value_serializer=lambda _topic, data: repr(data).encode(), interceptors=[Marking()]) as client,
        producer(kafka) as plain,
    ):
        data: dict[str, int] = {}
        for number in range(3):
            data["n"] = number
            client.send("t", data, partition=0)
        client.flush()
        buffer, header = bytearray(b"one"), bytearray(b"h")
        plain.send("t", buffer, headers=[("h", header)], partition=0)  # type: ignore[list-item]
        buffer[:] = b"two"
        header[:] = b"?"
        plain.flush()
        assert values(kafka) == [b"{'n': 0}", b"{'n': 1}", b"{'n': 2}", b"one"]
        assert set(threads) == {threading.main_thread()}
        with pytest.raises(SerializationError):
            plain.send("t", 5)


def test_a_flush_does_not_wait_for_what_others_send_meanwhile() -> None:
    with running_kafka() as kafka, producer(kafka) as client:
        kafka.held.add(ProduceRequest)
        first = client.send("t", b"x" * 10)
        stopping = threading.Event()

        def hammer() -> None:
            while not stopping.is_set():
                client.send("t", b"y")

        threads = [threading.Thread(target=hammer) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            with pytest.raises(KafkaTimeoutError):
                first.result(0.05)
            thread_of_kafka = kafka.broker._server
            assert thread_of_kafka is not None
            thread_of_kafka.get_loop().call_soon_threadsafe(kafka.release, ProduceRequest)
            client.flush()
            assert first.done()
        finally:
            stopping.set()
            for thread in threads:
                thread.join()


def test_a_callback_cannot_close_the_client_and_does_no_harm() -> None:
    """It runs in the loop's thread, which would wait for its own end."""
    with running_kafka() as kafka, producer(kafka) as client:
        called = threading.Event()
        raised: list[BaseException] = []

        def close(_: object) -> None:
            try:
                client.close()
            except IllegalStateError as error:
                raised.append(error)
            called.set()

        client.send("t", b"x").add_done_callback(close)
        assert called.wait(PATIENCE_S)
        assert len(raised) == 1
        assert client.send("t", b"y").result(PATIENCE_S).offset == 1


def test_a_client_is_closed_by_another_thread_under_those_who_use_it() -> None:
    """Each of them gets a result or a ClientClosedError, and none hangs."""
    with running_kafka() as kafka, producer(kafka) as client:
        outcomes: list[str] = []
        begun = threading.Barrier(5)

        def use() -> None:
            begun.wait(PATIENCE_S)
            try:
                while True:
                    client.send("t", b"x").result(PATIENCE_S)
            except ClientClosedError:
                outcomes.append("closed")

        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        begun.wait(PATIENCE_S)
        client.send("t", b"x").result(PATIENCE_S)
        client.close()
        for thread in threads:
            thread.join(PATIENCE_S)
        assert outcomes == ["closed"] * 4


def test_a_closed_client_refuses_without_a_warning() -> None:
    with running_kafka() as kafka, warnings.catch_warnings():
        warnings.simplefilter("error")
        with producer(kafka) as client:
            client.send("t", b"x").result()
        for call in (client.flush, client.init_transactions, lambda: client.send_batch("t", [b"x"])):
            with pytest.raises(ClientClosedError):
                call()
        client.close()


FORKED = """
import os, sys
from ottla.runtime.loop_thread import LoopThread
from tests.clients.sync.test_sync_breakers import producer, started_kafka

kafka = started_kafka(LoopThread("scripted-kafka"))
with producer(kafka) as client, producer(kafka) as left:
    client.send("t", b"x").result()
    child = os.fork()
    if child == 0:
        for call in (lambda: client.send("t", b"y").result(), client.flush, client.metrics):
            try:
                call()
            except Exception as error:
                print(type(error).__name__, flush=True)
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    print(client.send("t", b"z").result().offset, flush=True)
"""

LEFT = """
from ottla.runtime.loop_thread import LoopThread
from tests.clients.sync.test_sync_breakers import producer, started_kafka
import ottla.clients.sync.runner as runner

runner._PATIENCE_S = 0.5
thread = LoopThread("scripted-kafka")
kafka = started_kafka(thread)
kafka.broker._host = "localhost"
client = producer(kafka)
client.start()
client.send("t", b"x").result()
thread.run(kafka.broker.stop())
left = client.send("t", b"y")
print("end", flush=True)
"""


def _run(program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_child_of_a_fork_cannot_use_its_parents_client() -> None:
    done = _run(FORKED)
    assert done.stdout.splitlines() == ["IllegalStateError"] * 3 + ["1"], done.stderr
    assert done.returncode == 0


def test_an_end_with_an_unclosed_client_and_without_a_broker_is_quiet() -> None:
    """Names are looked up in threads, and at the end of the interpreter there are none any more."""
    done = _run(LEFT)
    assert (done.stdout, done.returncode) == ("end\n", 0)
    assert "Traceback" not in done.stderr, done.stderr
    assert "could not be closed: it took longer" in done.stderr
