"""What tests of the producer share."""

import pytest

from ottla.clients.producer.kernel_loader import KERNELS


@pytest.fixture(params=["compiled", "plain"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How ``send_batch`` encodes records."""
    if request.param == "compiled":
        assert KERNELS.load()
    monkeypatch.setattr(KERNELS, "is_loaded", request.param == "compiled")
    monkeypatch.setattr(KERNELS, "_is_asked", True)
    found: str = request.param
    return found
