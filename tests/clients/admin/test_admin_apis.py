"""What Apache's admin client can be asked, ours can be asked, but for what is named here; the docs say the same."""

import re
from pathlib import Path
from typing import Final

from ottla.clients.admin.admin import Admin
from tests.oracle import Oracle

ROOT: Final = Path(__file__).parents[3]
OTHER_NAMES: Final = {
    "alter_consumer_group_offsets": "alter_group_offsets",
    "delete_consumer_group_offsets": "delete_group_offsets",
    "delete_consumer_groups": "delete_groups",
    "describe_replica_log_dirs": "describe_log_dirs",
    "force_terminate_transaction": "fence_producers",
    "incremental_alter_configs": "alter_configs",
    "list_client_metrics_resources": "list_config_resources",
    "list_consumer_group_offsets": "list_group_offsets",
    "list_consumer_groups": "list_groups",
    "remove_members_from_consumer_group": "remove_members",
}
"""Ours have one method for all kinds of groups, and one name for a thing."""
LEFT_OUT: Final = {
    "share groups": r".*_share_group.*",
    "streams groups": r".*_streams_group.*",
    "client telemetry": r"client_instance_id|metrics|(un)?register_metric_.*",
}


def test_all_but_what_is_left_out(oracle: Oracle) -> None:
    printed = oracle.run_source(Path(__file__).parents[2] / "java" / "AdminFacts.java").stdout
    names = {re.sub(r"(?<!^)([A-Z])", r"_\1", line).lower() for line in printed.split()}
    assert len(names) > 60
    missing = {name for name in names if not hasattr(Admin, OTHER_NAMES.get(name, name))}
    for pattern in LEFT_OUT.values():
        assert any(re.fullmatch(pattern, name) for name in missing)
        missing = {name for name in missing if not re.fullmatch(pattern, name)}
    assert missing == set()
    assert set(OTHER_NAMES) <= names


def test_the_changelog_says_what_is_left_out() -> None:
    text = " ".join((ROOT / "CHANGELOG.md").read_text().split())
    claimed = re.search(r"all admin APIs(.*?);", text)
    assert claimed is not None
    assert all(what in claimed[1] for what in LEFT_OUT)
