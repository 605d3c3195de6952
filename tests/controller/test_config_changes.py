"""IncrementalAlterConfigs, AlterConfigs and UpdateFeatures."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NoReturn

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.controller.configs import alter_configs, incremental_alter_configs
from ottla.controller.features import update_features
from ottla.controller.settings import ControllerRequestContext, ControllerSettings
from ottla.metadata.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from ottla.metadata.image import MetadataImage
from ottla.metadata.image.configs import ConfigResource
from ottla.metadata.records import (
    ClearElrRecord,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    NoOpRecord,
    TopicRecord,
)
from ottla.protocol.messages import alter_configs as legacy
from ottla.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from ottla.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse
from tests.controller.controller_world import (
    CONTEXT,
    SETTINGS,
    all_of,
    image_of,
    register_record,
    replayed,
    uuid,
)

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)

Change = tuple[str, int, str | None]
"""A key, an operation and its value."""
Answer = tuple[int, str | None]
"""An error's code and message."""
FeatureChange = tuple[str, int, int]
"""A feature, its new level and the type of upgrade."""


def config(name: str, value: str | None, resource_name: str = "t", resource_type: int = TOPIC) -> ConfigRecord:
    return ConfigRecord(resource_type=resource_type, resource_name=resource_name, name=name, value=value)


IMAGE = image_of(register_record(1), TopicRecord(name="t", topic_id=uuid(1)), config("retention.ms", "5"))


def resource(*changes: Change, name: str = "t", resource_type: int = TOPIC) -> AlterConfigsResource:
    return AlterConfigsResource(
        resource_type=resource_type,
        resource_name=name,
        configs=[AlterableConfig(name=key, config_operation=op, value=value) for key, op, value in changes],
    )


def alter(
    *resources: AlterConfigsResource,
    image: MetadataImage = IMAGE,
    context: ControllerRequestContext = CONTEXT,
    validate_only: bool = False,
) -> tuple[list[MetadataRecord], list[Answer]]:
    request = IncrementalAlterConfigsRequest(resources=resources, validate_only=validate_only)
    result = incremental_alter_configs(image, SETTINGS, context, request)
    return list(result.records), [(one.error_code, one.error_message) for one in result.response.responses]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("retention.ms", SET, "7"), [config("retention.ms", "7")]),
        (("retention.ms", SET, "5"), []),
        (("retention.ms", DELETE, None), [config("retention.ms", None)]),
        (("segment.ms", DELETE, None), []),
        (("cleanup.policy", APPEND, "compact"), [config("cleanup.policy", "delete,compact")]),
        (("cleanup.policy", APPEND, "delete"), [config("cleanup.policy", "delete")]),
        (("cleanup.policy", SUBTRACT, "delete"), [config("cleanup.policy", "")]),
        (("min.insync.replicas", SET, "2"), [config("min.insync.replicas", "2"), ClearElrRecord(topic_name="t")]),
    ],
)
def test_one_key_changes(change: Change, expected: list[MetadataRecord]) -> None:
    assert alter(resource(change)) == (expected, [(0, None)])


def test_a_broker_hears_even_of_a_value_that_it_has() -> None:
    change = resource(("log.cleaner.threads", SET, "2"), name="1", resource_type=BROKER)
    records, answers = alter(change)
    assert (records, answers) == ([config("log.cleaner.threads", "2", "1", BROKER)], [(0, None)])
    assert alter(change, image=replayed(IMAGE, records))[0] == records


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (resource(("retention.ms", SET, "soon")), "INVALID_CONFIG", None),
        (resource(("retention", SET, "1")), "INVALID_CONFIG", None),
        (
            resource(("retention.ms", APPEND, "1")),
            "INVALID_CONFIG",
            "Can't APPEND to key retention.ms because its type is not LIST.",
        ),
        (resource(("retention.ms", 9, "1")), "INVALID_REQUEST", "Unknown config operation 9."),
        (
            resource(("retention.ms", SET, "1"), name="gone"),
            "UNKNOWN_TOPIC_OR_PARTITION",
            "The topic 'gone' does not exist.",
        ),
        (resource(("retention.ms", SET, "1"), name=""), "INVALID_REQUEST", "Default topic resources are not allowed."),
        (resource(("retention.ms", SET, "1"), name="a b"), "INVALID_TOPIC_EXCEPTION", None),
        (
            resource(("follower.replication.throttled.replicas", SET, "0:0," * 9000 + "0:0")),
            "INVALID_CONFIG",
            "The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes.",
        ),
        (
            resource(("a", SET, "1"), name="9", resource_type=BROKER),
            "BROKER_ID_NOT_REGISTERED",
            "No node with id 9 found.",
        ),
        (
            resource(("a", SET, "1"), name="x", resource_type=BROKER),
            "INVALID_REQUEST",
            "Unable to parse broker name as a base 10 number.",
        ),
        (
            resource(("a", SET, "1"), name="-1", resource_type=BROKER),
            "INVALID_REQUEST",
            "Invalid negative broker ID.",
        ),
        (
            resource(("min.insync.replicas", SET, "1"), name="1", resource_type=BROKER),
            "INVALID_CONFIG",
            "Broker-level min.insync.replicas cannot be altered while ELR is enabled.",
        ),
        (
            resource(("min.insync.replicas", DELETE, None), name="", resource_type=BROKER),
            "INVALID_CONFIG",
            "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
        ),
        (resource(("min.insync.replicas", SET, "many"), name="", resource_type=BROKER), "INVALID_CONFIG", None),
        (resource(("log.cleaner.threads", SET, "-1"), name="1", resource_type=BROKER), "INVALID_CONFIG", None),
        (resource(("a", SET, "1"), resource_type=77), "UNSUPPORTED_VERSION", "Unknown resource type 77."),
        (
            resource(("cordoned.log.dirs", SET, "/d"), name="1", resource_type=BROKER),
            "INVALID_CONFIG",
            "When updating cordoned.log.dirs via controllers,  the new value must be a subset of the current "
            "configuration value.",
        ),
    ],
)
def test_changes_that_are_refused(change: AlterConfigsResource, code: str, message: str | None) -> None:
    records, ((got, why),) = alter(change)
    assert (records, ErrorCode(got).name) == ([], code)
    assert message is None or why == message


def test_a_broker_may_cordon_its_directories() -> None:
    change = resource(("cordoned.log.dirs", SET, "/d"), name="1", resource_type=BROKER)
    records, answers = alter(change, context=ControllerRequestContext(forwarded=True))
    assert answers == [(0, None)]
    fewer = resource(("cordoned.log.dirs", SET, ""), name="1", resource_type=BROKER)
    assert alter(fewer, image=replayed(IMAGE, records))[1] == [(0, None)]
    old = image_of(register_record(1), level=29)
    assert (
        alter(change, image=old, context=ControllerRequestContext(forwarded=True))[1][0][0] == ErrorCode.INVALID_CONFIG
    )


def test_the_cluster_sets_min_insync_replicas_for_all() -> None:
    change = resource(("min.insync.replicas", SET, "2"), name="", resource_type=BROKER)
    assert alter(change)[0] == [config("min.insync.replicas", "2", "", BROKER), ClearElrRecord()]
    own = resource(("min.insync.replicas", SET, "1"), name="1", resource_type=BROKER)
    without_elr = image_of(register_record(1), elr=False)
    assert alter(own, image=without_elr)[0] == [config("min.insync.replicas", "1", "1", BROKER)]


def test_one_bad_key_spoils_its_resource_but_no_other() -> None:
    records, answers = alter(
        resource(("retention.ms", SET, "7"), ("segment.ms", SET, "no")),
        resource(("log.cleaner.threads", SET, "2"), name="", resource_type=BROKER),
    )
    assert [record.name for record in all_of(ConfigRecord, records)] == ["log.cleaner.threads"]
    assert [code for code, _ in answers] == [ErrorCode.INVALID_CONFIG, 0]


def test_a_resource_named_twice_changes_nothing() -> None:
    twice = [resource(("retention.ms", SET, str(value))) for value in (7, 8)]
    assert alter(*twice) == ([], [(ErrorCode.INVALID_REQUEST, "Duplicate resource.")])


def test_validating_changes_nothing() -> None:
    assert alter(resource(("retention.ms", SET, "7")), validate_only=True) == ([], [(0, None)])
    assert alter(resource(("retention.ms", SET, "x")), validate_only=True)[1][0][0] == ErrorCode.INVALID_CONFIG


def replace_all(
    configs: Mapping[str, str], name: str = "t", resource_type: int = TOPIC
) -> tuple[list[MetadataRecord], list[Answer]]:
    one = legacy.AlterConfigsResource(
        resource_type=resource_type,
        resource_name=name,
        configs=[legacy.AlterableConfig(name=key, value=value) for key, value in configs.items()],
    )
    result = alter_configs(IMAGE, SETTINGS, CONTEXT, legacy.AlterConfigsRequest(resources=[one]))
    return list(result.records), [(one.error_code, one.error_message) for one in result.response.responses]


def test_the_old_api_replaces_everything() -> None:
    records, answers = replace_all({"segment.ms": "9"})
    assert (records, answers) == ([config("segment.ms", "9"), config("retention.ms", None)], [(0, None)])
    assert replace_all({"retention.ms": "5"}) == ([], [(0, None)])
    assert replace_all({"segment.ms": "x"})[1][0][0] == ErrorCode.INVALID_CONFIG


def update(
    *updates: FeatureChange,
    image: MetadataImage = IMAGE,
    settings: ControllerSettings = SETTINGS,
    version: int = 2,
    validate_only: bool = False,
) -> tuple[list[MetadataRecord], UpdateFeaturesResponse]:
    request = UpdateFeaturesRequest(
        feature_updates=[
            FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind) for name, level, kind in updates
        ],
        validate_only=validate_only,
    )
    result = update_features(image, settings, ControllerRequestContext(api_version=version), request, 1)
    return list(result.records), result.response


UPGRADE, SAFE, UNSAFE = 1, 2, 3


def level(name: str, number: int) -> FeatureLevelRecord:
    return FeatureLevelRecord(name=name, feature_level=number)


def test_features_go_up_and_down() -> None:
    assert update(("group.version", 1, UPGRADE))[0] == [level("group.version", 1)]
    records, response = update(("metadata.version", 29, SAFE), image=image_of(register_record(1), level=29))
    assert (records, response.error_code) == ([level("metadata.version", 29)], 0)
    assert update((ELIGIBLE_LEADER_REPLICAS_VERSION, 0, SAFE))[0] == [level(ELIGIBLE_LEADER_REPLICAS_VERSION, 0)]
    assert update(("kraft.version", 1, UPGRADE))[0] == [NoOpRecord()]
    assert update(("group.version", 1, UPGRADE), validate_only=True)[0] == []


def test_old_requests_get_an_answer_for_each_feature() -> None:
    _, response = update(("group.version", 1, UPGRADE), version=1)
    assert [(one.feature, one.error_code) for one in response.results] == [("group.version", 0)]


def test_eligible_leader_replicas_need_one_min_insync_replicas_for_all() -> None:
    image = image_of(register_record(1), config("min.insync.replicas", "3", "1", BROKER), elr=False)
    settings = replace(SETTINGS, static_config={"min.insync.replicas": "2"})
    records, _ = update((ELIGIBLE_LEADER_REPLICAS_VERSION, 1, UPGRADE), image=image, settings=settings)
    assert records == [
        config("min.insync.replicas", "2", "", BROKER),
        config("min.insync.replicas", None, "1", BROKER),
        level(ELIGIBLE_LEADER_REPLICAS_VERSION, 1),
    ]


PREFIX = "The update failed for all features since the following feature had an error: "


@pytest.mark.parametrize(
    ("change", "image", "message"),
    [
        (
            ("group.version", 2, UPGRADE),
            IMAGE,
            "Invalid update version 2 for feature group.version. Local controller 3000 only supports versions 0-1",
        ),
        (
            ("new.version", 1, UPGRADE),
            IMAGE,
            "Invalid update version 1 for feature new.version. Local controller 3000 does not support this feature.",
        ),
        (
            ("group.version", -1, UPGRADE),
            IMAGE,
            "Invalid update version -1 for feature group.version. A feature version cannot be less than 0.",
        ),
        (
            ("group.version", 1, 9),
            IMAGE,
            "Invalid update version 1 for feature group.version. The controller does not support the given upgrade "
            "type.",
        ),
        (
            (ELIGIBLE_LEADER_REPLICAS_VERSION, 0, UPGRADE),
            IMAGE,
            "Invalid update version 0 for feature eligible.leader.replicas.version. Can't downgrade the version of "
            "this feature without setting the upgrade type to either safe or unsafe downgrade.",
        ),
        (
            ("group.version", 1, SAFE),
            IMAGE,
            "Invalid update version 1 for feature group.version. Can't downgrade to a newer version.",
        ),
        (
            ("metadata.version", 29, SAFE),
            IMAGE,
            "Unsupported metadata.version downgrade from 30 to 29. Refusing to perform the requested downgrade because "
            "it might delete metadata information.",
        ),
        (
            ("metadata.version", 29, UNSAFE),
            IMAGE,
            "Unsupported metadata.version downgrade from 30 to 29. Unsafe metadata downgrade is not supported in this "
            "version.",
        ),
        (
            (ELIGIBLE_LEADER_REPLICAS_VERSION, 1, UPGRADE),
            image_of(elr=False, level=22),
            "Invalid update version 1 for feature eligible.leader.replicas.version. eligible.leader.replicas.version "
            "could not be set to 1 because it depends on metadata.version level 23",
        ),
    ],
)
def test_feature_updates_that_are_refused(change: FeatureChange, image: MetadataImage, message: str) -> None:
    records, response = update(("transaction.version", 1, UPGRADE), change, image=image)
    assert records == []
    assert response.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert response.error_message == PREFIX + message


def test_every_broker_and_controller_must_support_a_level() -> None:
    old = register_record(4)
    old.features = [feature for feature in old.features if feature.name != "group.version"]
    _, response = update(("group.version", 1, UPGRADE), image=image_of(old))
    assert (response.error_message or "").endswith("Broker 4 does not support this feature.")
    settings = replace(SETTINGS, quorum_node_ids=(3000, 3001))
    _, response = update(("group.version", 1, UPGRADE), settings=settings)
    assert (response.error_message or "").endswith(
        "controller 3001 has not registered, and may not support this feature"
    )


GROUP, CLIENT_METRICS = 32, 16


def test_groups_and_client_metrics_have_configurations_too() -> None:
    change = resource(("consumer.session.timeout.ms", SET, "50000"), name="g", resource_type=GROUP)
    assert alter(change)[0] == [config("consumer.session.timeout.ms", "50000", "g", GROUP)]
    low = resource(("consumer.session.timeout.ms", SET, "1"), name="g", resource_type=GROUP)
    assert alter(low)[1][0][0] == ErrorCode.INVALID_CONFIG
    nobody = resource(("consumer.session.timeout.ms", SET, "50000"), name="", resource_type=GROUP)
    assert alter(nobody)[1] == [(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")]
    change = resource(("metrics", APPEND, "a"), name="s", resource_type=CLIENT_METRICS)
    assert alter(change)[0] == [config("metrics", "a", "s", CLIENT_METRICS)]


def test_a_policy_can_refuse_a_change() -> None:
    asked: list[tuple[ConfigResource, Mapping[str, str | None]]] = []

    def policy(owner: ConfigResource, changes: Mapping[str, str | None]) -> NoReturn:
        asked.append((owner, changes))
        raise ApiError(ErrorCode.POLICY_VIOLATION, "not here")

    request = IncrementalAlterConfigsRequest(resources=[resource(("retention.ms", DELETE, None))])
    settings = replace(SETTINGS, alter_config_policy=policy)
    result = incremental_alter_configs(IMAGE, settings, CONTEXT, request)
    assert (list(result.records), result.response.responses[0].error_message) == ([], "not here")
    assert asked == [((TOPIC, "t"), {"retention.ms": None})]
