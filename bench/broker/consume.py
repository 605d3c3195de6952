"""Reading a topic back: from the page cache and from the disk, with librdkafka and on raw sockets."""

from contextlib import ExitStack

from bench.broker import nodes, wire
from bench.broker.arena import Arena, Cost, drop_from_page_cache, loaded
from bench.broker.board import Line, at_least, megabytes_per_second, milliseconds_per_gigabyte, per_second
from bench.broker.librdkafka import measure
from tests.node import Node

PARTITIONS, RECORDS, VALUE_BYTES, FETCH_BYTES = 4, 60, 1_000, 1 << 20
ROUNDS = 7
"""More than elsewhere: two clients' threads beside the broker on two cores make for uneven rounds."""
BATCH_BYTES = len(wire.batch_of(VALUE_BYTES, RECORDS, 0))

CLIENT = Line("librdkafka, records of 1 KB, page cache", per_second, at_least(1))
CLIENT_COLD = Line("librdkafka, records of 1 KB, cold", per_second, at_least(1))
RAW = Line("4 connections, 1 MiB fetches, page cache", megabytes_per_second, at_least(1))
RAW_CPU = Line("  broker CPU, page cache", milliseconds_per_gigabyte)
RAW_COLD = Line("4 connections, 1 MiB fetches, cold", megabytes_per_second, at_least(1))
RAW_COLD_CPU = Line("  broker CPU, cold", milliseconds_per_gigabyte)


def consume(arena: Arena) -> None:
    """Fill a topic of each contender, and read it again and again."""
    requests = 16_000 if arena.long else 4_000
    with arena.board("Consuming") as board, ExitStack() as topics:
        filled: dict[str, tuple[str, int]] = {}
        for name, node in arena.turns(1):
            topic = topics.enter_context(arena.topic(node, PARTITIONS))
            _fill(node, topic, requests)
            filled[name] = topic, _end_offset(node, topic)
        for number, (name, node) in enumerate(arena.turns(ROUNDS + 1)):
            topic, end_offset = filled[name]
            warm = _read(node, topic, end_offset)
            client = _consume(node, topic, end_offset)
            drop_from_page_cache(node, topic, PARTITIONS)
            cold = _read(node, topic, end_offset)
            drop_from_page_cache(node, topic, PARTITIONS)
            client_cold = _consume(node, topic, end_offset)
            _read(node, topic, end_offset)  # into the page cache again
            if number < len(arena.names):
                continue
            board.add(CLIENT, name, client)
            board.add(CLIENT_COLD, name, client_cold)
            board.add(RAW, name, warm.load.bytes_received / warm.load.wall_s)
            board.add(RAW_CPU, name, warm.broker_cpu_s / warm.load.bytes_received)
            board.add(RAW_COLD, name, cold.load.bytes_received / cold.load.wall_s)
            board.add(RAW_COLD_CPU, name, cold.broker_cpu_s / cold.load.bytes_received)


def sendfile(arena: Arena) -> None:
    """Ottla's answers from the page cache by sendfile, against copying them through the process."""
    if "ottla" not in arena.names:
        return
    requests = 16_000 if arena.long else 4_000
    ways = {"sendfile": {}, "copied": nodes.COPY_PROPERTIES}
    others = list(arena.nodes.values())
    with arena.board("Ottla's fetches, by sendfile and copied") as board:
        for way, properties in ways.items():
            directory = arena.directory / way
            with (
                nodes.standing_still(others),
                arena.contenders.node("ottla", directory, properties) as node,
                arena.topic(node, PARTITIONS) as topic,
            ):
                _fill(node, topic, requests)
                end_offset = _end_offset(node, topic)
                for number in range(arena.rounds + 1):
                    cost = _read(node, topic, end_offset)
                    if number:
                        rate = cost.load.bytes_received / cost.load.wall_s
                        board.add(Line(f"{way}, page cache", megabytes_per_second), "ottla", rate)
                        cpu = cost.broker_cpu_s / cost.load.bytes_received
                        board.add(Line(f"{way}, broker CPU", milliseconds_per_gigabyte), "ottla", cpu)


def _consume(node: Node, topic: str, end_offset: int) -> float:
    """Messages a second that librdkafka's consumer gets."""
    messages = end_offset * PARTITIONS
    plan = {"bootstrap": node.bootstrap, "topic": topic, "partitions": PARTITIONS, "messages": messages}
    return messages / float(measure(kind="consume", **plan)["wall_s"])


def _fill(node: Node, topic: str, requests: int) -> None:
    loaded(
        node,
        kind="produce",
        topic=topic,
        connections=PARTITIONS,
        in_flight=5,
        value_bytes=VALUE_BYTES,
        records=RECORDS,
        requests=requests,
    )


def _end_offset(node: Node, topic: str) -> int:
    """The shortest partition's end, which all are read to."""
    sizes = [
        sum(path.stat().st_size for path in node.partition_dir(topic, each).glob("*.log")) for each in range(PARTITIONS)
    ]
    return min(sizes) // BATCH_BYTES * RECORDS


def _read(node: Node, topic: str, end_offset: int) -> Cost:
    return loaded(
        node,
        kind="fetch",
        topic=topic,
        connections=PARTITIONS,
        records=RECORDS,
        batch_bytes=BATCH_BYTES,
        max_bytes=FETCH_BYTES,
        end_offset=end_offset,
    )
