"""Leaders, in-sync replicas and eligible leader replicas: the smallest record for each change."""

from collections.abc import Collection
from typing import Any

import pytest

from ottla.common.uuid import Uuid
from ottla.controller.partition_change import Election, PartitionPolicy, partition_change
from ottla.metadata.metadata_version import MetadataVersion
from ottla.metadata.partition_registration import LeaderRecoveryState, PartitionRegistration
from ottla.metadata.records import PartitionChangeRecord
from tests.controller.controller_world import directory, uuid

TOPIC_ID = uuid(77)


def partition(**fields: Any) -> PartitionRegistration:
    values: dict[str, Any] = {
        "replicas": (1, 2, 3),
        "directories": tuple(directory(broker) for broker in (1, 2, 3)),
        "isr": (1, 2, 3),
        "leader": 1,
        "leader_epoch": 5,
        "partition_epoch": 9,
    }
    return PartitionRegistration(**(values | fields))


def change(
    before: PartitionRegistration,
    *,
    alive: Collection[int] = (1, 2, 3),
    min_isr: int = 2,
    elr: bool = True,
    election: Election = Election.ONLINE,
    level: int = 30,
    **fields: Any,
) -> PartitionChangeRecord | None:
    policy = PartitionPolicy(
        is_acceptable_leader=lambda _, broker: broker in alive,
        default_dir=lambda broker: directory(broker),
        metadata_version=MetadataVersion(level),
        min_isr=min_isr,
        elr_enabled=elr,
        election=election,
    )
    return partition_change(before, TOPIC_ID, 0, policy, **fields)


def record(**fields: Any) -> PartitionChangeRecord:
    return PartitionChangeRecord(topic_id=TOPIC_ID, partition_id=0, **fields)


RECOVERING = LeaderRecoveryState.RECOVERING
LEADERLESS: dict[str, Any] = {"leader": -1, "isr": ()}


@pytest.mark.parametrize(
    ("before", "how", "expected"),
    [
        pytest.param(partition(), {}, None, id="nothing changes"),
        pytest.param(partition(), {"isr": [1, 2]}, record(isr=[1, 2]), id="the ISR shrinks"),
        pytest.param(partition(isr=(1,)), {"isr": [1, 2]}, record(isr=[1, 2]), id="the ISR grows"),
        pytest.param(partition(), {"isr": [2, 3], "alive": (2, 3)}, record(isr=[2, 3], leader=2), id="the leader goes"),
        pytest.param(
            partition(isr=(1, 2)),
            {"isr": [2], "alive": (2, 3)},
            record(isr=[2], leader=2, eligible_leader_replicas=[1]),
            id="below min.insync.replicas who leaves stays eligible",
        ),
        pytest.param(
            partition(isr=(1, 2)),
            {"isr": [2], "alive": (2, 3), "unclean_shutdown": (1,)},
            record(isr=[2], leader=2),
            id="who may have lost records is not eligible",
        ),
        pytest.param(
            partition(isr=(2,), leader=2, elr=(1,)),
            {"isr": [], "alive": (3,)},
            record(isr=[], leader=-1, eligible_leader_replicas=[1, 2], last_known_elr=[2]),
            id="nobody is left",
        ),
        pytest.param(
            partition(**LEADERLESS, elr=(1, 2), last_known_elr=(2,)),
            {"alive": (1,)},
            record(isr=[1], leader=1, eligible_leader_replicas=[2], last_known_elr=[]),
            id="an eligible replica comes back",
        ),
        pytest.param(
            partition(**LEADERLESS, elr=(1,), last_known_elr=(2,)),
            {"alive": (2, 3)},
            None,
            id="the last leader must wait for an eligible replica",
        ),
        pytest.param(
            partition(**LEADERLESS, last_known_elr=(2,)),
            {"alive": (2, 3)},
            record(isr=[2], leader=2, last_known_elr=[], leader_recovery_state=RECOVERING),
            id="without eligible replicas the last leader comes back uncleanly",
        ),
        pytest.param(
            partition(**LEADERLESS, elr=(1,), last_known_elr=(1,)),
            {"alive": (3,), "election": Election.UNCLEAN},
            record(
                isr=[3],
                leader=3,
                eligible_leader_replicas=[],
                last_known_elr=[],
                leader_recovery_state=RECOVERING,
            ),
            id="an unclean election takes anybody",
        ),
        pytest.param(
            partition(isr=(1,)),
            {"isr": [], "alive": (2, 3), "elr": False},
            record(leader=-1),
            id="without eligible replicas the last of the ISR stays in it",
        ),
        pytest.param(
            partition(isr=(1,), leader=-1),
            {"alive": (1,), "elr": False},
            record(leader=1),
            id="and leads again when it is back",
        ),
        pytest.param(
            partition(isr=(1,), leader=-1),
            {"alive": (2,), "elr": False, "election": Election.UNCLEAN},
            record(isr=[2], leader=2, leader_recovery_state=RECOVERING),
            id="an unclean election without eligible replicas",
        ),
        pytest.param(
            partition(leader=2), {"election": Election.PREFERRED}, record(leader=1), id="the preferred replica leads"
        ),
        pytest.param(partition(leader=2), {}, None, id="a leader that is in sync stays"),
        pytest.param(
            partition(leader=2),
            {"election": Election.PREFERRED, "alive": (2, 3)},
            None,
            id="the preferred replica is down",
        ),
        pytest.param(
            partition(isr=(1,), leader_recovery_state=RECOVERING),
            {"leader_recovery_state": LeaderRecoveryState.RECOVERED},
            record(leader_recovery_state=0),
            id="the leader has recovered",
        ),
        pytest.param(
            partition(),
            {"directories": {2: directory(2, 5)}},
            record(directories=[directory(1), directory(2, 5), directory(3)]),
            id="a replica moves to another directory",
        ),
        pytest.param(
            partition(), {"directories": {2: directory(2, 5)}, "level": 16, "elr": False}, None, id="before directories"
        ),
        pytest.param(
            partition(),
            {"isr": [1, 2], "level": 11, "elr": False},
            record(isr=[1, 2], leader=1),
            id="before 3.6 a smaller ISR makes a new leader epoch",
        ),
        pytest.param(
            partition(isr=(1, 2)),
            {"isr": [1, 2, 3], "level": 11, "elr": False},
            record(isr=[1, 2, 3]),
            id="a larger one does not",
        ),
    ],
)
def test_changes(before: PartitionRegistration, how: dict[str, Any], expected: PartitionChangeRecord | None) -> None:
    assert change(before, **how) == expected


def test_an_id_of_a_topic_is_in_the_record() -> None:
    made = change(partition(), isr=[1, 2])
    assert made is not None
    assert isinstance(made.topic_id, Uuid)
    assert made.topic_id == TOPIC_ID
