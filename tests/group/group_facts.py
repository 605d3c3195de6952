"""Questions to the classes of Apache's group coordinator."""

import json
from pathlib import Path
from typing import Any

from tests.oracle import Oracle

PROGRAM = Path(__file__).parents[1] / "java" / "GroupFacts.java"


def ask(oracle: Oracle, questions: list[Any], directory: Path) -> list[Any]:
    """The answers of GroupFacts.java, which says what may be asked."""
    file = directory / "questions"
    file.write_text("".join(json.dumps(question) + "\n" for question in questions))
    done = oracle.run_source(PROGRAM, file)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
