"""The questions to Apache's metadata classes (MetadataFacts.java)."""

from pathlib import Path

from tests.oracle import Oracle

FACTS = Path(__file__).parents[1] / "java" / "MetadataFacts.java"


def ask(oracle: Oracle, directory: Path, *questions: str) -> list[str]:
    """Apache's answers, by line."""
    file = directory / "questions"
    file.write_text("\n".join(questions) + "\n")
    done = oracle.run_source(FACTS, file)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
