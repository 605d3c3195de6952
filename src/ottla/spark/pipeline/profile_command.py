"""``ottla pipeline profile`` on a session of its own, and its pictures."""

from pathlib import Path
from typing import Final

from ottla.common.extras import how_to_install
from ottla.spark.errors import SparkUnavailableError
from ottla.spark.jars import Say
from ottla.spark.pipeline.engine import spark_of
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.png_picture import can_paint, png_of
from ottla.spark.pipeline.preflight import check_topics
from ottla.spark.pipeline.profile import ProfileRequest, profile_on
from ottla.spark.pipeline.profile_picture import draw, html_of
from ottla.spark.pipeline.profile_result import Profile
from ottla.spark.pipeline.sliced_run import RunStore
from ottla.spark.pipeline.stop_request import StopRequest

PAGE: Final = ".html"
PICTURE: Final = ".png"


def profile(job: Job, request: ProfileRequest, *, say: Say) -> tuple[Profile | None, int]:
    """The profile, None if it was stopped; and the exit code."""
    check_topics(job, reads=[request.topic])
    with spark_of(job, say=say) as spark, StopRequest() as stop:
        store = RunStore(spark, job.checkpoint_path)
        found = profile_on(spark, job, request, store, stop, say=say)
    return found, stop.exit_code if found is None else 0


def pictures_of(path: str, *, say: Say) -> list[str]:
    """The files to write: ``path`` itself if it ends as a page or a PNG does, else both with that name.

    Without Pillow there is no PNG: SparkUnavailableError if one was asked for, else ``say`` is told.
    """
    asked = path.lower().endswith((PAGE, PICTURE))
    paths = [path] if asked else [path + PAGE, path + PICTURE]
    if can_paint() or not paths[-1].lower().endswith(PICTURE):
        return paths
    missing = f"Pillow, which paints {paths[-1]}, is not installed: {how_to_install('spark')}"
    if asked:
        raise SparkUnavailableError(missing)
    say(missing)
    return paths[:-1]


def write_pictures(profile: Profile, paths: list[str]) -> None:
    """Write the profile to each of the files."""
    for path in map(Path, paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix.lower() == PICTURE:
            path.write_bytes(png_of(draw(profile)))
        else:
            path.write_text(html_of(profile), encoding="utf-8")
