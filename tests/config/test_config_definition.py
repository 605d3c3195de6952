import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.errors import InvalidConfigError
from ottla.config.definition import ConfigKey, ConfigTable, Importance
from ottla.config.validators import Range, ThrottledReplicaList, ValidList, at_least, between
from ottla.config.values import ConfigType, ConfigValue, Password, format_value, parse_type


def key(name: str, config_type: ConfigType, default: ConfigValue = None, **extra: object) -> ConfigKey:
    return ConfigKey(name, config_type, default, extra.get("validator"), Importance.LOW, "A key.", extra.get("inert"))  # type: ignore[arg-type]


TABLE = ConfigTable(
    "test",
    key("a.number", ConfigType.INT, 5, validator=between(1, 9)),
    key("a.list", ConfigType.LIST, (), validator=ValidList(("x", "y"))),
    key("a.secret", ConfigType.PASSWORD),
    key("a.relic", ConfigType.BOOLEAN, False, inert="it is from another time"),
    key("a.class", ConfigType.CLASS),
)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("a.number", "ten", "Invalid value ten for configuration a.number: Not a number of type INT"),
        ("a.number", "10", "Invalid value 10 for configuration a.number: Value must be no more than 9"),
        ("a.number", "0", "Invalid value 0 for configuration a.number: Value must be at least 1"),
        ("a.number", None, "Invalid value None for configuration a.number: Value must be non-null"),
        (
            "a.number",
            True,
            "Invalid value True for configuration a.number: Expected a 32-bit integer, but it was a bool",
        ),
        ("a.number", 2**31, "Invalid value 2147483648 for configuration a.number: Not a number of type INT"),
        ("a.list", "x,z", "Invalid value x,z for configuration a.list: Each entry must be one of: x, y"),
        ("a.list", "x,", "Invalid value x, for configuration a.list: Entries of the list must not be empty"),
        ("a.relic", None, "Invalid value None for configuration a.relic: Value must be non-null"),
    ],
)
def test_an_error_names_key_value_and_what_is_allowed(name: str, value: object, message: str) -> None:
    with pytest.raises(InvalidConfigError) as raised:
        TABLE.parse({name: value})
    assert str(raised.value) == f"{message} (allowed: {TABLE[name].allowed})"


def test_what_is_allowed_is_type_and_bounds() -> None:
    assert TABLE["a.number"].allowed == "a 32-bit integer [1,...,9]"
    assert TABLE["a.list"].allowed == "a comma separated list [x, y]"
    assert TABLE["a.class"].allowed == "the name of a class"


def test_a_secret_is_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    secret = TABLE.parse({"a.secret": " hush "})["a.secret"]
    assert secret == Password("hush")
    assert "hush" not in f"{secret} {secret!r} {format_value(secret)}"
    with pytest.raises(InvalidConfigError, match=r"\[hidden\]") as raised:
        TABLE.parse({"a.secret": 12345})
    assert "12345" not in str(raised.value)


def test_only_what_is_set_is_parsed_and_unknown_names_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    assert TABLE.parse({"a.number": "7", "a.nmber": "8"}) == {"a.number": 7}
    assert caplog.messages == ["Unknown test config name: a.nmber (did you mean a.number?); it is ignored"]
    with pytest.raises(InvalidConfigError, match=r"Unknown test config name: a.nmber \(did you mean a.number\?\)"):
        TABLE.require_known({"a.number": "7", "a.nmber": "8"})
    with pytest.raises(InvalidConfigError, match=r"Unknown test config name: zzz$"):
        TABLE.require_known({"zzz": "7"})


def test_an_inert_key_warns_when_it_is_set(caplog: pytest.LogCaptureFixture) -> None:
    assert TABLE.parse({"a.relic": "true"}) == {"a.relic": True}
    assert caplog.messages == ["The test config a.relic=true has no effect: it is from another time"]
    assert caplog.records[0].levelno == logging.WARNING


def test_duplicates_in_a_list_are_removed_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert TABLE.parse({"a.list": "y, x,y"}) == {"a.list": ("y", "x")}
    assert "y,x,y becomes y,x" in caplog.text


@pytest.mark.parametrize(
    ("value", "config_type", "parsed"),
    [
        (5, ConfigType.LONG, 5),
        (5, ConfigType.DOUBLE, 5.0),
        (0.5, ConfigType.DOUBLE, 0.5),
        (True, ConfigType.BOOLEAN, True),
        (["b", "a"], ConfigType.LIST, ("b", "a")),
        (frozenset({"b", "a"}), ConfigType.LIST, ("a", "b")),
        (Password("p"), ConfigType.PASSWORD, Password("p")),
        ("a.B", ConfigType.CLASS, "a.B"),
        (None, ConfigType.INT, None),
    ],
)
def test_typed_values_pass(value: object, config_type: ConfigType, parsed: ConfigValue) -> None:
    assert parse_type(value, config_type) == parsed


@pytest.mark.parametrize(
    ("value", "config_type"),
    [
        (1, ConfigType.BOOLEAN),
        (1.0, ConfigType.INT),
        (1, ConfigType.STRING),
        (True, ConfigType.DOUBLE),
        (1, ConfigType.LIST),
    ],
)
def test_values_of_another_type_do_not(value: object, config_type: ConfigType) -> None:
    with pytest.raises(ValueError, match="Expected"):
        parse_type(value, config_type)


@given(st.integers(-(2**63), 2**63 - 1))
def test_longs_survive_formatting(value: int) -> None:
    assert parse_type(format_value(value), ConfigType.LONG) == value


@given(st.floats(allow_nan=False))
def test_doubles_survive_formatting(value: float) -> None:
    assert parse_type(format_value(value), ConfigType.DOUBLE) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (1e7, "1.0E7"),
        (123456789.0, "1.23456789E8"),
        (-2.5e-4, "-2.5E-4"),
        (9999999.0, "9999999.0"),
        (0.0, "0.0"),
    ],
)
def test_doubles_look_as_java_writes_them(value: float, text: str) -> None:
    assert format_value(value) == text


@pytest.mark.parametrize(
    ("validator", "text"),
    [(at_least(-1), "[-1,...]"), (between(0, 1), "[0,...,1]")],
)
def test_ranges_are_shown_in_apaches_notation(validator: Range, text: str) -> None:
    assert str(validator) == text


def test_throttled_replicas_may_not_be_null() -> None:
    assert ThrottledReplicaList().objection(None) == "Values must not be null"
