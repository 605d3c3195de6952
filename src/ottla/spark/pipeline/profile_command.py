"""``ottla pipeline profile`` on a session of its own, and its pictures."""

from pathlib import Path

from ottla.spark.jars import Say
from ottla.spark.pipeline.engine import spark_of
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.preflight import check_topics
from ottla.spark.pipeline.profile import ProfileRequest, profile_on
from ottla.spark.pipeline.profile_picture import draw, html_of
from ottla.spark.pipeline.profile_result import Profile
from ottla.spark.pipeline.sliced_run import RunStore
from ottla.spark.pipeline.stop_request import StopRequest


def profile(job: Job, request: ProfileRequest, *, say: Say) -> tuple[Profile | None, int]:
    """The profile, None if it was stopped; and the exit code."""
    check_topics(job, reads=[request.topic], say=say)
    with spark_of(job, say=say) as spark, StopRequest() as stop:
        store = RunStore(spark, job.checkpoint_path)
        found = profile_on(spark, job, request, store, stop, say=say)
    return found, stop.exit_code if found is None else 0


def write_pictures(profile: Profile, path: str) -> list[str]:
    """Write ``path``.html and ``path``.png, and return what was written."""
    from ottla.spark.pipeline.png_canvas import png_of

    base = Path(path)
    base.parent.mkdir(parents=True, exist_ok=True)
    page, picture = base.with_name(base.name + ".html"), base.with_name(base.name + ".png")
    page.write_text(html_of(profile), encoding="utf-8")
    picture.write_bytes(png_of(draw(profile)))
    return [str(page), str(picture)]
