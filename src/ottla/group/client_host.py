"""Where a client connects from, as Java writes it: tools show it, and member records keep it."""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address


@lru_cache(maxsize=1024)
def java_address(address: str) -> str:
    """``/127.0.0.1``; of IPv6 every group is written, and an IPv4 address in it is written as that."""
    plain, percent, scope = address.partition("%")
    try:
        parsed = ip_address(plain)
    except ValueError:  # a client in the broker's own process
        return f"/{address}"
    if not isinstance(parsed, IPv6Address):
        return f"/{plain}"
    if parsed.ipv4_mapped is not None:
        return f"/{parsed.ipv4_mapped}"
    groups = ":".join(f"{int(group, 16):x}" for group in parsed.exploded.split(":"))
    return f"/{groups}{percent}{scope}"
