"""A file of pipelines: a user's Python, loaded so that executors need not import it."""

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from ottla.common.errors import KafkaError
from ottla.spark.pipeline.declaration import DeclarationError, Pipeline


def load_pipelines(path: str) -> list[Pipeline]:
    """The pipelines of a Python file, in their order; what it cannot be read for is told with its line."""
    module = _load(path)
    found = [each for each in vars(module).values() if isinstance(each, Pipeline)]
    if not found:
        raise DeclarationError(
            f"{path} declares no pipeline; `from ottla.spark.pipeline import pipeline` has @pipeline"
        )
    return found


def chosen(pipelines: Sequence[Pipeline], only: Sequence[str], path: str) -> list[Pipeline]:
    """Those that the line names, or all."""
    names = [each.name for each in pipelines]
    for name in only:
        if name not in names:
            raise DeclarationError(f"{path} declares no pipeline {name}; it has {', '.join(names)}")
    return [each for each in pipelines if not only or each.name in only]


def _load(path: str) -> ModuleType:
    from pyspark import cloudpickle

    if not Path(path).is_file():
        raise DeclarationError(f"there is no file {path}")
    name = f"ottla_pipeline_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise DeclarationError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    directory = str(Path(path).resolve().parent)
    before = set(sys.modules)
    sys.path.insert(0, directory)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except KafkaError:
        raise
    except Exception as error:
        raise DeclarationError(f"{path}{_line_of(error, path)}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(directory)
    # Executors cannot import the file, nor what it imports from beside it: their functions travel by value.
    for other in [name, *(each for each in sys.modules if each not in before)]:
        origin = getattr(sys.modules[other], "__file__", None)
        if origin is not None and str(Path(origin).resolve()).startswith(directory + os.sep):
            cloudpickle.register_pickle_by_value(sys.modules[other])  # type: ignore[no-untyped-call]
    return module


def _line_of(error: BaseException, path: str) -> str:
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f" line {error.lineno}"
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" line {line}" if line is not None else ""
