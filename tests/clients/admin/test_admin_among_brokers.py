"""An admin client among brokers of which one goes."""

import pytest

from ottla.clients.admin import Admin, routing
from ottla.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from ottla.protocol.messages.metadata import MetadataRequest
from tests.clients.cluster.scripted_cluster import QUICK, scripted_cluster
from tests.network.client_harness import Received, run


def test_what_a_broker_had_that_goes_is_asked_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in the metadata when the call begins, and dies of the question; its group is with the other then."""
    monkeypatch.setattr(routing, "ABSENCE_GRACE_MS", 20)

    async def test() -> None:
        async with scripted_cluster(2) as cluster:
            stays, goes = cluster.brokers
            groups = ["stays"]

            def die(received: Received) -> None:
                if isinstance(received.body, MetadataRequest):
                    metadata(received)
                    return
                cluster.advertised = [stays]
                groups.append("moved")
                goes.drop_connections()

            def tell(received: Received) -> None:
                if isinstance(received.body, ListGroupsRequest):
                    listed = [ListedGroup(group_id=name, group_state="Empty", group_type="classic") for name in groups]
                    received.answer(ListGroupsResponse(groups=listed))
                else:
                    metadata(received)

            metadata, stays.handle = stays.handle, tell
            goes.handle = die
            async with Admin(QUICK, bootstrap_servers=cluster.bootstrap) as admin:
                assert set(await admin.list_groups()) == {"stays", "moved"}

    run(test())
