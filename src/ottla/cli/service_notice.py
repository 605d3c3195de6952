"""What a service manager is told: systemd's ``sd_notify`` for ``Type=notify``. Without ``NOTIFY_SOCKET`` nothing."""

import os
import socket

READY = "READY=1"
STOPPING = "STOPPING=1"
_ABSTRACT = "@"


def tell_service_manager(state: str) -> None:
    """Send a state to the manager that started this process, if one waits for it; one that is gone is no error."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path:
        return
    address = "\0" + path[1:] if path.startswith(_ABSTRACT) else path
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | getattr(socket, "SOCK_CLOEXEC", 0)) as sock:
        try:
            sock.sendto(state.encode(), address)
        except OSError as error:
            import logging

            from ottla.common.error_words import in_words

            logging.getLogger(__name__).warning(
                "The service manager at %s was not told %s: %s", path, state, in_words(error)
            )
