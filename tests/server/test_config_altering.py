"""IncrementalAlterConfigs and AlterConfigs, on brokers and on controllers."""

import logging

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.config.broker_loggers import LEVELS
from ottla.protocol.messages import alter_configs as legacy
from ottla.protocol.messages import incremental_alter_configs as incremental
from ottla.server.authorizer import AclOperation, ResourceType
from tests.server.config_world import (
    APPEND,
    BROKER,
    DELETE,
    GROUP,
    LOGGER,
    METRICS,
    SET,
    SUBTRACT,
    TOPIC,
    Refuse,
    World,
    change,
    setting,
    whole,
)

# -- altering, one key at a time --------------------------------------------------------------------------------------


def test_alter_is_forwarded_and_answered_in_the_order_of_the_request() -> None:
    world = World()
    outcomes = world.alter(
        change(BROKER, "2", ("log.cleaner.threads", SET, "2")),
        change(TOPIC, "orders", ("retention.ms", SET, "5")),
        change(BROKER, "", ("log.retention.ms", SET, "5")),
        change(TOPIC, "nobody", ("retention.ms", SET, "5")),
        change(BROKER, "1", ("log.cleaner.threads", SET, "2")),
    )
    assert outcomes == [
        (ErrorCode.INVALID_REQUEST, "Unexpected broker id, expected 1, but received 2"),
        (0, None),
        (0, None),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The topic 'nobody' does not exist."),
        (0, None),
    ]
    ((asked_context, asked),) = world.controller.asked
    assert asked_context.forwarded
    assert isinstance(asked, incremental.IncrementalAlterConfigsRequest)
    assert [resource.resource_name for resource in asked.resources] == ["orders", "", "nobody", "1"]


def test_what_is_settled_here_needs_no_controller(quiet_logger: logging.Logger) -> None:
    world = World()
    world.channel.is_up = False
    assert world.alter(
        change(LOGGER, "1", (quiet_logger.name, SET, "DEBUG")),
        change(BROKER, "x", ("log.cleaner.threads", SET, "2")),
    ) == [(0, None), (ErrorCode.INVALID_REQUEST, "Node id must be an integer, but it is: x")]
    assert quiet_logger.level == logging.DEBUG
    with pytest.raises(ApiError, match="nobody leads"):
        world.alter(change(TOPIC, "orders"))


@pytest.mark.parametrize(
    ("resource", "code", "message"),
    [
        (
            change(TOPIC, "orders", ("retention.ms", SET, "1"), ("retention.ms", DELETE, None)),
            ErrorCode.INVALID_REQUEST,
            "Error due to duplicate config keys",
        ),
        (
            change(TOPIC, "orders", ("a", SET, None), ("b", APPEND, None), ("c", DELETE, None)),
            ErrorCode.INVALID_REQUEST,
            "Null value not supported for : a, b",
        ),
        (change(99, "x"), ErrorCode.INVALID_REQUEST, "Unknown resource type 99"),
        (change(BROKER, "1", ("x", 9, "1")), ErrorCode.INVALID_REQUEST, "Unknown operations type 9"),
        (
            change(BROKER, "1", ("log.cleaner.threads", APPEND, "1")),
            ErrorCode.INVALID_CONFIG,
            "Config value append is not allowed for config key: log.cleaner.threads",
        ),
        (
            change(BROKER, "1", ("log.cleaner.threads", SUBTRACT, "1")),
            ErrorCode.INVALID_CONFIG,
            "Config value subtract is not allowed for config key: log.cleaner.threads",
        ),
        (change(BROKER, "1", ("nothing", APPEND, "1")), ErrorCode.INVALID_CONFIG, "Unknown config name: nothing"),
        (
            change(BROKER, "1", ("broker.rack", SET, "r")),
            ErrorCode.INVALID_REQUEST,
            "Cannot update these configs dynamically: [broker.rack]",
        ),
        (
            change(BROKER, "1", ("listener.name.x.ssl.client.auth", SET, "required")),
            ErrorCode.INVALID_CONFIG,
            "The broker config listener.name.x.ssl.client.auth promises that clients show certificates, which this "
            "version of Ottla does not do, for security is not built yet: remove it if you can do without",
        ),
        (
            change(BROKER, "", ("super.users", SET, "User:admin")),
            ErrorCode.INVALID_CONFIG,
            "The broker config super.users promises that only these principals may do everything, which this version "
            "of Ottla does not do, for security is not built yet: remove it if you can do without",
        ),
    ],
)
def test_the_broker_refuses(resource: incremental.AlterConfigsResource, code: int, message: str) -> None:
    world = World()
    assert world.alter(resource) == [(code, message)]
    assert world.controller.asked == []


def test_a_resource_that_is_named_twice_is_refused_both_times() -> None:
    world = World()
    once = (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    twice = change(TOPIC, "orders", ("retention.ms", SET, "1"))
    assert world.alter(twice, change(TOPIC, "orders"), change(BROKER, "")) == [once, once, (0, None)]


def test_a_change_is_validated_on_top_of_what_is_stored() -> None:
    stored = setting(BROKER, "1", "log.cleaner.backoff.ms", "1")
    world = World(stored, setting(BROKER, "", "log.cleanup.policy", "delete"))
    assert world.alter(change(BROKER, "", ("log.cleanup.policy", APPEND, "compact"))) == [(0, None)]
    ((code, _),) = world.alter(change(BROKER, "", ("log.cleanup.policy", APPEND, "burn")))
    assert code == ErrorCode.INVALID_REQUEST
    assert world.alter(change(BROKER, "", ("log.cleanup.policy", SUBTRACT, "delete"))) == [(0, None)]
    assert world.alter(change(BROKER, "1", ("log.cleaner.backoff.ms", DELETE, None))) == [(0, None)]


# -- loggers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("listener", ["PLAINTEXT", "CONTROLLER"])
def test_levels_are_set_and_unset_here(quiet_logger: logging.Logger, listener: str) -> None:
    world = World()
    set_trace = change(LOGGER, "1", (quiet_logger.name, SET, "TRACE"))
    assert world.alter(set_trace, listener=listener, validate_only=True) == [(0, None)]
    assert quiet_logger.level == logging.NOTSET
    assert world.alter(set_trace, listener=listener) == [(0, None)]
    assert quiet_logger.level == LEVELS["TRACE"]
    assert world.alter(change(LOGGER, "1", (quiet_logger.name, DELETE, None)), listener=listener) == [(0, None)]
    assert quiet_logger.level == logging.NOTSET
    assert world.controller.asked == []


@pytest.mark.parametrize(
    ("name", "changes", "code", "message"),
    [
        ("2", [("root", SET, "INFO")], ErrorCode.INVALID_REQUEST, "Unexpected node id. Expected 1, but received 2"),
        ("", [("root", SET, "INFO")], ErrorCode.INVALID_REQUEST, "Node id must be an integer, but it is: "),
        ("1", [("no.such", SET, "INFO")], ErrorCode.INVALID_CONFIG, "Logger no.such does not exist!"),
        (
            "1",
            [("root", DELETE, None)],
            ErrorCode.INVALID_REQUEST,
            "Removing the log level of the root logger is not allowed",
        ),
        (
            "1",
            [("root", APPEND, "INFO")],
            ErrorCode.INVALID_REQUEST,
            "APPEND operation is not allowed for the BROKER_LOGGER resource",
        ),
        (
            "1",
            [("root", 7, "INFO")],
            ErrorCode.INVALID_REQUEST,
            "Unknown operation type 7 is not allowed for the BROKER_LOGGER resource",
        ),
    ],
)
def test_no_level_changes_where_one_may_not(
    quiet_logger: logging.Logger, name: str, changes: list[tuple[str, int, str | None]], code: int, message: str
) -> None:
    resource = change(LOGGER, name, (quiet_logger.name, SET, "ERROR"), *changes)
    assert World().alter(resource) == [(code, message)]
    assert quiet_logger.level == logging.NOTSET


# -- altering as a whole ----------------------------------------------------------------------------------------------


def test_replacing_checks_brokers_here_and_passes_on_the_rest() -> None:
    world = World()
    assert world.replace(
        whole(LOGGER, "1", ("root", "INFO")),
        whole(TOPIC, "orders", ("retention.ms", "9")),
        whole(BROKER, "1", ("log.cleaner.threads", "none")),
        whole(TOPIC, "nobody", ("retention.ms", None)),
    )[:2] == [(ErrorCode.INVALID_REQUEST, "Unknown resource type 8"), (0, None)]
    promise = whole(BROKER, "1", ("listener.name.x.plain.sasl.jaas.config", "x required;"))
    assert [code for code, _ in world.replace(promise)] == [ErrorCode.INVALID_CONFIG]
    ((_, asked),) = world.controller.asked
    assert isinstance(asked, legacy.AlterConfigsRequest)
    assert [resource.resource_name for resource in asked.resources] == ["orders"]
    assert world.replace(whole(BROKER, "1", ("log.cleaner.threads", "2"), ("log.cleaner.threads", "1"))) == [
        (ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    ]


# -- on the controller ------------------------------------------------------------------------------------------------


def test_controllers_know_who_asked_them_directly() -> None:
    world = World()
    assert world.alter(change(TOPIC, "orders", ("retention.ms", SET, "1")), listener="CONTROLLER") == [(0, None)]
    assert world.replace(whole(TOPIC, "orders", ("retention.ms", "1")), listener="CONTROLLER") == [(0, None)]
    assert [asked_context.forwarded for asked_context, _ in world.controller.asked] == [False, False]


def test_controllers_refuse_a_promise_that_is_not_kept_but_for_what_is_stored() -> None:
    world = World(setting(BROKER, "1", "principal.builder.class", "x.Y"))
    promise, other = ("principal.builder.class", SET, "x.Z"), ("log.cleaner.threads", SET, "2")
    assert world.alter(change(BROKER, "1", other), listener="CONTROLLER") == [(0, None)]
    ((code, message),) = world.alter(change(BROKER, "1", promise), listener="CONTROLLER")
    assert code == ErrorCode.INVALID_CONFIG
    assert message is not None and message.startswith("The broker config principal.builder.class promises that")
    ((code, _),) = world.replace(whole(BROKER, "1", ("ssl.keystore.location", "/x")), listener="CONTROLLER")
    assert code == ErrorCode.INVALID_CONFIG


def test_controllers_refuse_what_they_do_not_know() -> None:
    world = World()
    assert world.alter(change(99, "x"), listener="CONTROLLER") == [
        (ErrorCode.UNSUPPORTED_VERSION, "Unknown resource type 99.")
    ]
    assert world.replace(whole(LOGGER, "1"), listener="CONTROLLER") == [
        (ErrorCode.INVALID_REQUEST, "Unexpected resource type BROKER_LOGGER.")
    ]


@pytest.mark.parametrize(
    ("kind", "codes"),
    [
        (ResourceType.TOPIC, (ErrorCode.TOPIC_AUTHORIZATION_FAILED, 0)),
        (ResourceType.CLUSTER, (0, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)),
    ],
)
def test_altering_needs_permission_for_each_resource(kind: ResourceType, codes: tuple[int, int]) -> None:
    world = World()
    world.services.authorizer = Refuse(AclOperation.ALTER_CONFIGS, kind)
    changes = (change(TOPIC, "orders", ("retention.ms", SET, "1")), change(BROKER, "", ("log.retention.ms", SET, "1")))
    assert tuple(code for code, _ in world.alter(*changes)) == codes
    replaced = (whole(TOPIC, "orders", ("retention.ms", "1")), whole(BROKER, "", ("log.retention.ms", "1")))
    assert tuple(code for code, _ in world.replace(*replaced)) == codes


def test_levels_need_permission(quiet_logger: logging.Logger) -> None:
    world = World()
    world.services.authorizer = Refuse(AclOperation.ALTER_CONFIGS, ResourceType.CLUSTER)
    ((code, _),) = world.alter(change(LOGGER, "1", (quiet_logger.name, SET, "INFO")))
    assert code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    world.services.authorizer = Refuse(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER)
    ((code, _),) = world.alter(change(LOGGER, "1", (quiet_logger.name, SET, "INFO")), listener="CONTROLLER")
    assert code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert quiet_logger.level == logging.NOTSET


def test_groups_and_client_metrics_can_be_altered() -> None:
    world = World()
    outcomes = world.alter(
        change(GROUP, "g", ("consumer.session.timeout.ms", SET, "46000")),
        change(METRICS, "m", ("interval.ms", SET, "100")),
        change(GROUP, "g2", ("consumer.session.timeout.ms", SET, "1")),
        change(METRICS, "m2", ("interval.ms", SET, "1")),
    )
    assert [code for code, _ in outcomes] == [0, 0, ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST]
