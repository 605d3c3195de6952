"""Connection limits and rates: the numbers of Apache's ConnectionQuotas."""

import pytest

from ottla.common.errors import InvalidConfigError
from ottla.network.config import INT_MAX, ListenerConfig
from ottla.network.connection_quotas import (
    IP_RATE_EXPIRY_MS,
    ConnectionQuotas,
    ConnectionThrottledError,
    TooManyConnectionsError,
)
from ottla.network.connection_rate import ConnectionRate


def quotas_with(*listeners: str, **limits: object) -> ConnectionQuotas:
    quotas = ConnectionQuotas(**limits)  # type: ignore[arg-type]
    for name in listeners:
        quotas.add_listener(name, ListenerConfig())
    return quotas


def test_per_ip_limit_and_its_overrides() -> None:
    quotas = quotas_with("L", max_connections_per_ip=2, max_connections_per_ip_overrides={"10.0.0.1": 3, "10.0.0.2": 0})
    quotas.inc("L", "10.0.0.9", 0)
    quotas.inc("L", "10.0.0.9", 0)
    with pytest.raises(TooManyConnectionsError, match=r"maximum = 2") as error:
        quotas.inc("L", "10.0.0.9", 0)
    assert (error.value.address, error.value.count) == ("10.0.0.9", 2)
    assert quotas.count("10.0.0.9") == 3, "it counts until it is closed"
    quotas.dec("L", "10.0.0.9")
    for _ in range(3):
        quotas.inc("L", "10.0.0.1", 0)
    with pytest.raises(TooManyConnectionsError):
        quotas.inc("L", "10.0.0.1", 0)
    with pytest.raises(TooManyConnectionsError):
        quotas.inc("L", "10.0.0.2", 0)


def test_listener_limit() -> None:
    quotas = ConnectionQuotas()
    quotas.add_listener("L", ListenerConfig(max_connections=2))
    quotas.add_listener("M", ListenerConfig())
    quotas.inc("L", "a", 0)
    assert quotas.slot_available("L")
    quotas.inc("L", "b", 0)
    assert not quotas.slot_available("L")
    assert quotas.slot_available("M")
    quotas.dec("L", "a")
    assert quotas.slot_available("L")


def test_broker_limit_protects_the_inter_broker_listener() -> None:
    """Seed 004: it may exceed max.connections, and another listener then closes its least recently used."""
    quotas = quotas_with("CLIENT", "BROKER", max_connections=2, inter_broker_listener_name="BROKER")
    quotas.inc("CLIENT", "a", 0)
    quotas.inc("CLIENT", "a", 0)
    assert not quotas.slot_available("CLIENT")
    assert quotas.slot_available("BROKER")
    assert not quotas.max_connections_exceeded("CLIENT")
    quotas.inc("BROKER", "b", 0)
    assert quotas.max_connections_exceeded("CLIENT")
    assert not quotas.max_connections_exceeded("BROKER")


def test_the_only_listener_is_not_protected() -> None:
    quotas = quotas_with("BROKER", max_connections=1, inter_broker_listener_name="BROKER")
    quotas.inc("BROKER", "b", 0)
    assert not quotas.slot_available("BROKER")


def test_rate_as_apache_computes_it() -> None:
    """A rate counts over at least all but one of the samples; the delay brings it down to the quota.

    Ten connections at once against 1/s over 11 samples of 1 s: the rate is 10 / 10 s = 1; the eleventh makes 1.1, which
    is 0.1 too much, times 10 s.
    """
    rate = ConnectionRate(1, 1000, 11)
    for _ in range(10):
        rate.record(0)
        assert rate.throttle_time_ms(0, 10_000) == 0
    rate.record(0)
    assert rate.throttle_time_ms(0, 10_000) == 1000
    assert rate.throttle_time_ms(0, 300) == 300
    assert rate.rate(0) == pytest.approx(1.1)
    rate.record(0, -1)
    assert rate.throttle_time_ms(0, 10_000) == 0


def test_rate_forgets_old_samples() -> None:
    rate = ConnectionRate(1, 1000, 3)
    for now_ms in range(0, 20_000, 500):
        rate.record(now_ms)
    assert rate.rate(19_500) == pytest.approx(2.0, rel=0.3)
    assert rate.rate(40_000) == 0.0
    assert rate.last_event_ms == 40_000, "an expired sample starts anew"


def test_creation_rate_of_the_broker_throttles_all_but_the_protected_listener() -> None:
    quotas = quotas_with("CLIENT", "BROKER", max_connection_creation_rate=1, inter_broker_listener_name="BROKER")
    for _ in range(10):
        assert quotas.record_connection("CLIENT", 0) == 0
    assert quotas.record_connection("CLIENT", 0) == 1000
    assert quotas.listeners["CLIENT"].throttles == 1
    assert quotas.record_connection("BROKER", 0) == 0
    quotas.reconfigure_listener("BROKER", ListenerConfig(max_connection_creation_rate=1))
    for _ in range(20):
        quotas.record_connection("BROKER", 0)
    assert quotas.record_connection("BROKER", 0) == 1000, "its own limit counts; a wait is a window at most"
    quotas.update_max_connection_creation_rate(INT_MAX)
    assert quotas.record_connection("CLIENT", 0) == 0


def test_ip_rate_gives_back_what_it_recorded() -> None:
    """A connection that its address may not open counts against nobody's rate."""
    quotas = quotas_with("L")
    quotas.update_ip_connection_rate("10.0.0.1", 1)
    for _ in range(10):
        quotas.record_connection("L", 0)
        quotas.inc("L", "10.0.0.1", 0)
    before = quotas.broker_rate.rate(0), quotas.listeners["L"].rate.rate(0)
    quotas.record_connection("L", 0)
    with pytest.raises(ConnectionThrottledError) as error:
        quotas.inc("L", "10.0.0.1", 0)
    assert error.value.throttle_time_ms == 1000
    assert (quotas.broker_rate.rate(0), quotas.listeners["L"].rate.rate(0)) == before
    assert quotas.count("10.0.0.1") == 10
    assert quotas.listeners["L"].ip_throttles == 1
    quotas.inc("L", "10.0.0.2", 0)
    quotas.update_ip_connection_rate("10.0.0.1", None)
    quotas.inc("L", "10.0.0.1", 0)
    quotas.update_ip_connection_rate(None, 1)
    assert quotas.connection_rate_for_ip("10.0.0.7") == 1
    with pytest.raises(ConnectionThrottledError):
        quotas.inc("L", "10.0.0.1", 0)


def test_rates_of_addresses_are_forgotten() -> None:
    quotas = quotas_with("L")
    quotas.update_ip_connection_rate(None, 100)
    for index in range(1024):
        quotas.inc("L", f"10.0.{index // 256}.{index % 256}", 0)
    assert len(quotas._ip_rates) == 1024
    quotas.inc("L", "10.1.0.0", IP_RATE_EXPIRY_MS)
    assert len(quotas._ip_rates) == 1


def test_every_change_that_may_free_a_slot_is_told() -> None:
    told: list[int] = []
    quotas = ConnectionQuotas(on_change=lambda: told.append(1))
    quotas.add_listener("L", ListenerConfig())
    quotas.inc("L", "a", 0)
    quotas.dec("L", "a")
    quotas.update_max_connections(5)
    quotas.reconfigure_listener("L", ListenerConfig(max_connections=1))
    quotas.remove_listener("L")
    assert len(told) == 5
    with pytest.raises(AssertionError):
        quotas.dec("L", "a")


@pytest.mark.parametrize("config", [ListenerConfig(max_connections=0), ListenerConfig(max_connection_creation_rate=0)])
def test_listener_limits_must_let_somebody_in(config: ListenerConfig) -> None:
    with pytest.raises(InvalidConfigError):
        ConnectionQuotas().add_listener("L", config)
