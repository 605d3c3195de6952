"""Levels of metadata.version, and features."""

import pytest

from ottla.metadata.bootstrap import BootstrapMetadata
from ottla.metadata.features import SERVED_FEATURES, check_dependencies, format_levels, supported_features
from ottla.metadata.metadata_version import LATEST_PRODUCTION, MetadataVersion, metadata_changed_between
from ottla.metadata.records import FeatureLevelRecord, NoOpRecord
from ottla.metadata.serde import decode_record


@pytest.mark.parametrize(
    ("text", "level"), [("4.3-IV0", 30), ("4.3", 30), ("4.3.1", 30), ("4.0", 25), ("3.7-IV2", 17), ("3.9.x", 21)]
)
def test_a_level_has_many_names(text: str, level: int) -> None:
    assert MetadataVersion.from_version_string(text) == level


@pytest.mark.parametrize("text", ["4.4", "3.2", "", "4.3-IV1"])
def test_an_unknown_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"Unknown metadata\.version"):
        MetadataVersion.from_version_string(text)


@pytest.mark.parametrize(
    ("low", "high", "changed"), [(30, 30, False), (28, 29, False), (29, 30, True), (24, 29, False)]
)
def test_whether_the_format_of_records_changes(low: int, high: int, changed: bool) -> None:
    assert metadata_changed_between(MetadataVersion(low), MetadataVersion(high)) is changed
    assert metadata_changed_between(MetadataVersion(high), MetadataVersion(low)) is changed


def test_our_clusters_are_formatted_without_what_we_do_not_serve() -> None:
    assert format_levels() == {
        "transaction.version": 2,
        "group.version": 1,
        "eligible.leader.replicas.version": 1,
        "share.version": 0,
        "streams.version": 0,
    }
    assert format_levels(MetadataVersion.IBP_3_9_IV0)["group.version"] == 0


def test_what_is_not_served_is_supported_only_where_it_is_finalized() -> None:
    assert supported_features({"share.version": 0}) == SERVED_FEATURES
    assert not {"share.version", "streams.version"} & SERVED_FEATURES.keys()
    from_apache = supported_features({"share.version": 1, "group.version": 1})
    assert from_apache == {**SERVED_FEATURES, "share.version": (0, 1)}
    assert supported_features({"share.version": 9})["share.version"] == (0, 1), "not what nobody knows yet"


def test_a_feature_waits_for_what_it_depends_on() -> None:
    check_dependencies("eligible.leader.replicas.version", 1, {"metadata.version": 23})
    with pytest.raises(ValueError, match=r"depends on metadata.version level 23"):
        check_dependencies("eligible.leader.replicas.version", 1, {"metadata.version": 22})
    with pytest.raises(ValueError, match=r"depends on metadata.version=7 \(3.3-IV3\)"):
        check_dependencies("group.version", 1, {})
    with pytest.raises(ValueError, match=r"No feature:group\.version with feature level 2"):
        check_dependencies("group.version", 2, {"metadata.version": 30})


def test_bootstrap_records_are_the_levels_above_0_in_order() -> None:
    bootstrap = BootstrapMetadata.from_versions(LATEST_PRODUCTION, {**format_levels(), "kraft.version": 1}, "a test")
    assert bootstrap.records == [
        FeatureLevelRecord(name="metadata.version", feature_level=30),
        FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1),
        FeatureLevelRecord(name="group.version", feature_level=1),
        FeatureLevelRecord(name="transaction.version", feature_level=2),
    ]
    again = BootstrapMetadata.from_records([decode_record(value) for value in bootstrap.values()], "a test")
    assert again.metadata_version == LATEST_PRODUCTION
    assert list(again.records) == list(bootstrap.records)
    assert again.feature_level("group.version") == 1
    assert again.feature_level("share.version") == 0


def test_bootstrap_features_can_be_changed() -> None:
    bootstrap = BootstrapMetadata.default().with_feature("group.version", 1).with_feature("metadata.version", 29)
    assert bootstrap.metadata_version == MetadataVersion.IBP_4_2_IV1
    assert bootstrap.feature_level("group.version") == 1


def test_bootstrap_records_without_a_level_are_refused() -> None:
    with pytest.raises(ValueError, match=r"No FeatureLevelRecord for metadata\.version"):
        BootstrapMetadata.from_records([NoOpRecord(), FeatureLevelRecord(name="x", feature_level=1)], "a test")
