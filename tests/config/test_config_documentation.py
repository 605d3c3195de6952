import subprocess
import sys
from pathlib import Path

from ottla.config.broker_keys import AUTHORIZER_CONFIG, BROKER_CONFIG
from ottla.config.documentation import render_configuration
from ottla.config.topic import TOPIC_CONFIG

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == render_configuration(), "run: python -m ottla.config > docs/configuration.md"


def test_the_command_prints_the_page() -> None:
    done = subprocess.run([sys.executable, "-m", "ottla.config"], capture_output=True, text=True, check=True)
    assert done.stdout == render_configuration()


def test_every_key_is_documented_and_inert_ones_say_so() -> None:
    page = render_configuration()
    for key in (*TOPIC_CONFIG, *BROKER_CONFIG):
        assert (f"| `{key.name}` |" in page) or key.internal
        assert key.doc.endswith(".")
        assert key.doc.count(". ") <= 1, "one or two sentences"
    assert "**No effect**: tiered storage is not part of Ottla." in page
    assert "**Refused**: it promises that clients show certificates, and security is not built yet." in page
    for key in (*TOPIC_CONFIG, *BROKER_CONFIG, *AUTHORIZER_CONFIG):
        assert key.promises is None or f"**Refused**: it promises {key.promises}, and {key.inert}." in page
    assert "internal.segment.bytes" not in page
