"""Every metric moves: on a node that clients and another broker use, as its Prometheus endpoint shows it."""

import re
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from ottla.common.topic_partition import TopicPartition
from ottla.runtime import open_files
from ottla.server import process_metrics
from ottla.server.metrics_endpoint import MetricsEndpoint
from tests.server import metrics_story as story_of
from tests.server import metrics_story_groups as groups
from tests.server import metrics_story_transactions as transactions
from tests.server.metrics_story import TOPIC, Scrape, Story, get, moved, parse

pytestmark = pytest.mark.xdist_group("metrics")  # one story for all of them

ROOT = Path(__file__).parents[2]

_REQUEST = "network_requestmetrics_"
_TOPIC = "server_brokertopicmetrics_"
_CONTROLLER = "controller_kafkacontroller_"
_SOCKET = "server_socket_server_metrics_"
_REPLICAS = "server_replicamanager_"
_RAFT = "server_raftmetrics_"
_GROUPS = "server_group_coordinator_metrics_"
_GROUP_MANAGER = "coordinator_group_groupmetadatamanager_"
_TRANSACTIONS = "server_transaction_coordinator_metrics_"
_MARKERS = "coordinator_transaction_transactionmarkerchannelmanager_"
_VERIFICATION = "server_addpartitionstotxnmanager_"
_BROKER_METADATA = "server_brokermetadatametrics_"


def _with(prefix: str, *names: str) -> tuple[str, ...]:
    return tuple(prefix + name for name in names)


START = (
    *_with(_CONTROLLER, "activecontrollercount", "newactivecontrollerscount", "lastappliedrecordlagms"),
    *_with("server_metadataloader_", "currentcontrollerid", "currentmetadataversion", "finalizedlevel"),
    *_with(_RAFT, "current_leader", "current_state", "current_vote", "number_of_voters"),
    *_with(_BROKER_METADATA, "last_applied_record_lag_ms"),
    "server_kafkaserver_brokerstate",
)
"""What the start itself moves; kafka_ is left out here and below, as is _total, which the parser takes off."""

STEPS: tuple[tuple[Callable[[Story], None], tuple[str, ...]], ...] = (
    (
        story_of.a_topic_is_made,
        (
            *_with("cluster_partition_", "atminisr", "insyncreplicascount", "replicascount"),
            *_with("controller_controllereventmanager_", "eventqueueprocessingtimems", "eventqueuetimems"),
            *_with(_CONTROLLER, "eventqueueoperationsstartedcount", "globalpartitioncount", "globaltopiccount"),
            *_with(_CONTROLLER, "lastappliedrecordoffset", "lastcommittedrecordoffset", "lastappliedrecordtimestamp"),
            *_with(_REPLICAS, "atminisrpartitioncount", "leadercount", "partitioncount"),
            *_with(_BROKER_METADATA, "last_applied_record_offset", "last_applied_record_timestamp"),
            *_with(_RAFT, "append_records_rate", "high_watermark", "log_end_offset"),
            "log_log_numlogsegments",
        ),
    ),
    (
        story_of.records_are_produced,
        (
            *_with("log_log_", "size", "logendoffset"),
            *_with(_TOPIC, "bytesin", "messagesin", "totalproducerequests"),
            *_with(_REQUEST, "requests", "errors", "requestbytes", "totaltimems", "requestqueuetimems"),
            *_with(_REQUEST, "localtimems", "remotetimems", "responsequeuetimems", "responsesendtimems"),
            *_with(_REQUEST, "throttletimems", "messageconversionstimems", "temporarymemorybytes"),
            *_with(_SOCKET, "connection_creation", "connection_close"),
            *_with(_SOCKET, "connection_accept_rate", "broker_connection_accept_rate"),
            *_with("network_", "processor_idle_percent", "socketserver_networkprocessoravgidle_percent"),
            "server_kafkarequesthandlerpool_brokerrequesthandleravgidle_percent",
            "server_kafkarequesthandlerpool_requesthandleravgidle_percent",
        ),
    ),
    (story_of.a_client_says_what_it_is, _with(_SOCKET, "connections_software", "connection_count")),
    (story_of.a_producer_gets_an_id, _with(_REPLICAS, "produceridcount")),
    (story_of.a_batch_is_too_large, _with(_TOPIC, "bytesrejected")),
    (story_of.a_batch_is_corrupt, _with(_TOPIC, "invalidmessagecrcrecords")),
    (story_of.a_sequence_has_a_gap, _with(_TOPIC, "failedproducerequests")),
    (story_of.records_are_consumed, _with(_TOPIC, "bytesout", "totalfetchrequests")),
    (
        story_of.a_consumer_waits_in_vain,
        ("server_delayedfetchmetrics_expires", "server_delayedoperationpurgatory_purgatorysize"),
    ),
    (
        story_of.sessions_compete,
        _with("server_fetchsessioncache_", "incrementalfetchsessionevictions")
        + _with("server_fetchsessioncache_", "numincrementalfetchpartitionscached", "numincrementalfetchsessions"),
    ),
    (story_of.records_are_deleted, ("log_log_logstartoffset",)),
    (
        groups.offsets_are_committed,
        (
            *_with(_GROUPS, "offset_commit_count", "group_count", "num_partitions"),
            *_with(_GROUPS, "partition_load_time", "event_processing_time_ms", "batch_flush_time_ms"),
            *_with(_GROUP_MANAGER, "numgroups", "numgroupsempty", "numoffsets"),
        ),
    ),
    (groups.offsets_are_deleted, _with(_GROUPS, "offset_deletion_count")),
    (groups.a_classic_group_begins_to_rebalance, _with(_GROUP_MANAGER, "numgroups", "numgroupscompletingrebalance")),
    (
        groups.a_classic_group_is_stable,
        (_GROUPS + "group_completed_rebalance_count", _GROUP_MANAGER + "numgroupsstable"),
    ),
    (groups.a_classic_group_waits_for_a_member, _with(_GROUP_MANAGER, "numgroupspreparingrebalance")),
    (groups.a_consumer_group_rebalances, _with(_GROUPS, "consumer_group_count", "consumer_group_rebalance_count")),
    (
        transactions.a_transaction_is_committed,
        (
            *_with(_TRANSACTIONS, "num_partitions", "partition_load_time"),
            *_with(_TRANSACTIONS, "event_processing_time_ms", "batch_flush_time_ms"),
            _VERIFICATION + "verificationtimems",
        ),
    ),
    (transactions.a_transaction_cannot_be_verified, _with(_VERIFICATION, "verificationfailurerate_count")),
    (story_of.a_consumer_waits, ("server_delayedoperationpurgatory_numdelayedoperations",)),
    (story_of.frames_hold_the_memory, _with("network_socketserver_", "memorypoolavailable", "memorypoolused")),
    (
        story_of.everybody_hangs_up,
        _with(_SOCKET, "memorypooldepletedtimetotal", "connection_count", "connections_software"),
    ),
    (story_of.a_record_goes_to_the_disk, ("log_logflushstats_logflushrateandtimems",)),
    (
        story_of.a_transaction_is_left_open,
        ("cluster_partition_laststableoffsetlag", _REPLICAS + "partitionswithlatetransactionscount"),
    ),
    (story_of.a_read_fails, _with(_TOPIC, "failedfetchrequests")),
    (
        story_of.another_broker_comes,
        (
            _CONTROLLER + "activebrokercount",
            "server_kafkarequesthandlerpool_controllerrequesthandleravgidle_percent",
        ),
    ),
    (story_of.acks_do_not_come, ("server_delayedproducerrequestmetrics_expires",)),
    (story_of.a_follower_fetches, _with(_TOPIC, "replicationbytesout")),
    (story_of.a_follower_waits_in_vain, ("server_delayedfetchmetrics_expires",)),
    (story_of.deleting_waits_in_vain, ("server_delayeddeleterecordsmetrics_expires",)),
    (
        story_of.the_other_broker_wants_to_go,
        (
            *_with("cluster_partition_", "underreplicated", "underminisr"),
            *_with(_CONTROLLER, "controlledshutdownbrokercount"),
            *_with(_REPLICAS, "isrshrinks", "underreplicatedpartitions", "underminisrpartitioncount"),
        ),
    ),
    (story_of.the_other_broker_is_lost, _with(_CONTROLLER, "fencedbrokercount")),
    (story_of.topics_are_deleted, _with(_CONTROLLER, "globaltopiccount")),
    (
        story_of.a_disk_fails,
        (
            *_with("log_logmanager_", "logdirectoryoffline", "offlinelogdirectorycount"),
            _REPLICAS + "offlinereplicacount",
        ),
    ),
    (
        story_of.the_node_restarts,
        (
            *_with(_CONTROLLER, "offlinepartitionscount", "preferredreplicaimbalancecount"),
            *_with(_RAFT, "current_epoch", "log_end_epoch"),
            "server_metadataloader_handleloadsnapshotcount",
            "log_logmanager_logsloaded",
        ),
    ),
)


# -- what no client can move, on one node or in a short time ----------------------------------------------------------


def _set(target: object, name: str, number: object) -> Callable[[], None]:
    before = getattr(target, name)
    setattr(target, name, number)
    return lambda: setattr(target, name, before)


def _queue(story: Story) -> Callable[[], object]:
    requests = story.node._broker.socket_server.request_channel.requests  # type: ignore[union-attr]
    requests.append(None)  # type: ignore[arg-type]
    return requests.pop


def _respond(story: Story) -> Callable[[], object]:
    server = story.node._broker.socket_server  # type: ignore[union-attr]
    request = SimpleNamespace(channel=SimpleNamespace(processor=next(iter(server.processors()))))
    server.request_channel.responses.append((None, request))  # type: ignore[arg-type]
    return server.request_channel.responses.pop


def _throttle(story: Story) -> Callable[[], object]:
    quota = story.node._broker.socket_server.quotas.listeners["PLAINTEXT"]  # type: ignore[union-attr]
    names = ("throttles", "throttle_time_ms", "ip_throttles", "ip_throttle_time_ms")
    undo = [_set(quota, name, 3) for name in names]
    return lambda: [one() for one in undo]


def _expire(story: Story) -> Callable[[], None]:
    return _set(next(iter(story.node._broker.socket_server.processors())), "expired_connections_killed_count", 3)  # type: ignore[union-attr]


def _observe(story: Story) -> Callable[[], None]:
    leader = story.node._controller.raft._quorum.leader  # type: ignore[union-attr]
    return _set(leader, "_observers", {None: None})


def _commit_late(story: Story) -> Callable[[], object]:
    metrics = story.node._controller.raft.metrics  # type: ignore[union-attr]
    undo = [_set(metrics, name, 10**6) for name in ("commit_latency_ms_max", "commit_latency_ms_total")]
    return lambda: [one() for one in undo]


def _count(story: Story, name: str) -> Callable[[], None]:
    return _set(story.node._controller.controller.metrics, name, 3)  # type: ignore[union-attr]


def _reassign(story: Story) -> Callable[[], None]:
    partition = story.replicas.partitions.get(TopicPartition(TOPIC, 0))
    story.replicas.stats.update_bytes_out(partition, 100, is_follower=True, is_reassignment=True)
    return _set(partition, "adding_replicas", (2,))


def _change_isr(story: Story) -> Callable[[], None]:
    story.replicas.metrics.isr_changed(frozenset((1,)), frozenset((1, 2)))
    return _set(story.replicas.metrics.failed_isr_updates, "value", 3)


def _block(story: Story) -> Callable[[], None]:
    acceptor = story.node._broker.socket_server.acceptors["PLAINTEXT"]  # type: ignore[union-attr]
    return _set(acceptor, "total_blocked_ns", lambda: 10**9)


def _slow(story: Story) -> Callable[[], object]:
    counters = story.node._broker.socket_server.metrics  # type: ignore[union-attr]
    undo = [_set(counters, name, getattr(counters, name) + 1) for name in ("slow_turns", "slow_handlers")]
    return lambda: [one() for one in undo]


def _limit_files(_story: Story) -> Callable[[], None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _read_disks(story: Story) -> Callable[[], None]:
    path = Path(story.directories[0]).parent / "io"
    path.write_text("read_bytes: 123456789\nwrite_bytes: 987654321\n")
    return _set(process_metrics, "_IO", str(path))


INSIDE: tuple[tuple[Callable[[Story], Callable[[], object]], tuple[str, ...]], ...] = (
    (_queue, ("network_requestchannel_requestqueuesize",)),
    (_respond, ("network_requestchannel_responsequeuesize",)),
    (_throttle, _with(_SOCKET, "connection_accept_throttle_time", "ip_connection_accept_throttle_time")),
    (_expire, (_SOCKET + "expired_connections_killed_count", "network_socketserver_expiredconnectionskilledcount")),
    (_block, ("network_acceptor_acceptorblocked_percent",)),
    (_slow, _with("ottla_network_reactor_", "slowturns", "slowhandlers")),
    (_commit_late, _with(_RAFT, "commit_latency_avg", "commit_latency_max")),
    (_observe, _with(_RAFT, "number_of_observers")),
    (
        lambda story: _count(story, "timed_out_broker_heartbeat_count"),
        _with(_CONTROLLER, "timedoutbrokerheartbeatcount"),
    ),
    (lambda story: _count(story, "operations_timed_out"), _with(_CONTROLLER, "eventqueueoperationstimedoutcount")),
    (lambda story: _count(story, "metadata_error_count"), _with(_CONTROLLER, "metadataerrorcount")),
    (
        lambda story: _set(story.node._controller.loader, "load_errors", 3),  # type: ignore[union-attr]
        _with(_BROKER_METADATA, "metadata_load_error_count"),
    ),
    (_reassign, (_REPLICAS + "reassigningpartitions", _TOPIC + "reassignmentbytesout")),
    (_change_isr, _with(_REPLICAS, "isrexpands", "failedisrupdates")),
    (groups.offsets_expire, _with(_GROUPS, "offset_expiration_count")),
    (groups.a_group_dies, _with(_GROUP_MANAGER, "numgroupsdead")),
    (groups.an_answer_waits_for_its_commit, _with(_GROUPS, "event_purgatory_time_ms")),
    (transactions.an_answer_waits_for_its_commit, _with(_TRANSACTIONS, "event_purgatory_time_ms")),
    (transactions.markers_have_nowhere_to_go, _with(_MARKERS, "unknowndestinationqueuesize")),
    (transactions.a_completion_cannot_be_appended, _with(_MARKERS, "logappendretryqueuesize")),
    (_limit_files, ("process_max_fds",)),
    (_read_disks, _with("server_kafkaserver_", "linux_disk_read_bytes", "linux_disk_write_bytes")),
    (
        lambda story: _set(open_files, "_PROC", story.directories[0]),
        ("process_open_fds",),
    ),
    (lambda _story: lambda: None, ("process_cpu_seconds",)),  # to look is to work
)

ELSEWHERE = {
    "tests/log/test_log_manager_metrics.py": (
        *_with("log_logmanager_", "remaininglogstorecover", "remainingsegmentstorecover"),
        *_with("log_logcleaner_", "max_buffer_utilization_percent", "cleaner_recopy_percent", "max_clean_time_secs"),
        *_with("log_logcleaner_", "max_compaction_delay_secs"),
        *_with("log_logcleanermanager_", "max_dirty_percent", "time_since_last_run_ms"),
        *_with("log_logcleanermanager_", "uncleanable_partitions_count", "uncleanable_bytes"),
    ),
}
UNPREDICTABLE = ("process_resident_memory_bytes",)


def _full(names: tuple[str, ...]) -> set[str]:
    return {name if name.startswith(("process_", "ottla_")) else f"kafka_{name}" for name in names}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, set[str]]]:
    """What each part of the story moved, by its name, and under ``all`` every family that was ever seen."""
    story = Story(tmp_path_factory.mktemp("metrics"))
    told: dict[str, set[str]] = {}
    before: list[Scrape] = []
    start = MetricsEndpoint.start

    async def start_and_look(self: MetricsEndpoint) -> None:
        await start(self)
        before.append(parse(await get(self.port)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MetricsEndpoint, "start", start_and_look)
        story.broker.start()
    shown = story.scrape()
    told["start"] = moved(before[0], shown)
    told["all"] = shown.keys() | before[0].keys()
    try:
        for step, _ in STEPS:
            before = [story.scrape()]
            step(story)
            shown = story.scrape()
            told[step.__name__] = moved(before[0], shown)
            told["all"] |= shown.keys()
        for number, (change, _) in enumerate(INSIDE):
            told[f"inside {number}"] = story.run(_look_around(story, change))
        yield told
    finally:
        story.broker.close()


async def _look_around(story: Story, change: Callable[[Story], Callable[[], object]]) -> set[str]:
    """Changes something, looks, and changes it back, with nothing else at work meanwhile."""
    before = parse(b"".join(story.node.render_metrics()).decode())
    undo = change(story)
    try:
        return moved(before, parse(b"".join(story.node.render_metrics()).decode()))
    finally:
        undo()


def test_the_start_moves_its_metrics(told: dict[str, set[str]]) -> None:
    assert _full(START) - told["start"] == set()


@pytest.mark.parametrize(("step", "names"), [(step.__name__, names) for step, names in STEPS])
def test_each_step_moves_its_metrics(told: dict[str, set[str]], step: str, names: tuple[str, ...]) -> None:
    assert _full(names) - told[step] == set()


@pytest.mark.parametrize(("number", "names"), [(number, names) for number, (_, names) in enumerate(INSIDE)])
def test_each_change_inside_moves_its_metrics(told: dict[str, set[str]], number: int, names: tuple[str, ...]) -> None:
    assert _full(names) - told[f"inside {number}"] == set()


def test_no_metric_is_left_unmoved(told: dict[str, set[str]]) -> None:
    by_a_test = [START, *(names for _, names in (*STEPS, *INSIDE)), *ELSEWHERE.values(), UNPREDICTABLE]
    assert told["all"] == set().union(*map(_full, by_a_test))


@pytest.mark.parametrize("path", ELSEWHERE)
def test_the_other_tests_know_these_metrics(path: str) -> None:
    text = (ROOT / path).read_text()
    assert [name for name in ELSEWHERE[path] if name.removeprefix("log_") not in text] == []


def test_the_documentation_has_every_metric_and_no_other(told: dict[str, set[str]]) -> None:
    documented = re.findall(r"^\| `[^`]+` \| `(\w+)", (ROOT / "docs" / "metrics.md").read_text(), re.MULTILINE)
    assert len(documented) == len(set(documented))
    assert {name.removesuffix("_total") if name not in told["all"] else name for name in documented} == told["all"]
