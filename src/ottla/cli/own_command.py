"""How to call Ottla from a shell: what a message tells people to paste runs the Ottla that wrote it."""

import os
import shlex
import shutil
import sys
import sysconfig

_NAME = "ottla"


def own_command() -> str:
    """``ottla`` where the shell finds this one by that name, else its path, else this Python with ``-m``."""
    script = os.path.join(sysconfig.get_path("scripts"), _NAME)
    if not os.access(script, os.X_OK):
        return f"{own_python()} -m {_NAME}"
    found = shutil.which(_NAME)
    if found is not None and os.path.realpath(found) == os.path.realpath(script):
        return _NAME
    return shlex.quote(script)


def own_python() -> str:
    """The path of the interpreter that runs, as a shell takes it."""
    return shlex.quote(sys.executable)
