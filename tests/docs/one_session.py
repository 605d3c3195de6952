"""The blocks that need Spark, pasted into one process, so that a JVM is started once.

``python -m tests.docs.one_session``, with a list of [page, place, language, text, file name] as JSON on standard input.
The blocks of a page share their names, as in one program. The lines of a shell block are commands: ``ottla pipeline …``
is run in this process, as the command itself would do it, all others by a shell, whose a here-document is whole.
"""

import json
import shlex
import subprocess
import sys
from pathlib import Path

from ottla.cli.main import main


def paste(place: str, language: str, text: str, names: dict[str, object]) -> None:
    """Run one block, or end with what it ended with."""
    if language == "python":
        exec(compile(text, place, "exec"), names)
        return
    commands = [text] if "<<" in text else text.replace("\\\n", " ").splitlines()
    for command in commands:
        if command.startswith("ottla pipeline "):
            code = main(shlex.split(command, comments=True)[1:])
        else:
            code = subprocess.run(["bash", "-euo", "pipefail", "-c", command], check=False).returncode
        if code != 0:
            sys.exit(f"{place} ends with {code}: {command}")


if __name__ == "__main__":
    names: dict[str, dict[str, object]] = {}
    for page, place, language, text, file_name in json.load(sys.stdin):
        print(f"--- {place}", flush=True)
        if file_name is not None:
            Path(file_name).write_text(text)
        paste(place, language, text, names.setdefault(page, {"__name__": "__main__"}))
