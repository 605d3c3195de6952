"""Addresses as Java writes them."""

import pytest

from ottla.group.client_host import java_address


@pytest.mark.parametrize(
    ("address", "written"),
    [
        ("127.0.0.1", "/127.0.0.1"),
        ("::1", "/0:0:0:0:0:0:0:1"),
        ("fe80::1ff:fe23:4567:890a%eth2", "/fe80:0:0:0:1ff:fe23:4567:890a%eth2"),
        ("::ffff:10.1.2.3", "/10.1.2.3"),
        ("local", "/local"),
    ],
)
def test_an_address_is_written_as_java_does(address: str, written: str) -> None:
    assert java_address(address) == written
