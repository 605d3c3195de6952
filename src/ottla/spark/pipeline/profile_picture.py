"""The picture of a profile: partitions, keys, rates, sizes and a map of partitions over time. Pure."""

from datetime import UTC, datetime
from html import escape
from typing import Final

from ottla.spark.pipeline.drawing import Drawing
from ottla.spark.pipeline.profile_result import HOT_RATIO, Profile, is_hot_key, shown_key

_WIDTH: Final = 1180
_MARGIN: Final = 40
_HALF: Final = 520
_RIGHT: Final = 620
_COOL, _HOT, _QUIET, _GRID, _FAINT = "#3b82f6", "#dc2626", "#94a3b8", "#e2e8f0", "#64748b"
_PARTITIONS_MAX: Final = 64
"""So many rows and bars are drawn; of more partitions those with most records."""
_KEYS_MAX: Final = 10
_LETTER_WIDTH: Final = 6.0
"""Of a letter, about: how wide a text is depends on the font."""
_HEAT: Final = ((248, 250, 252), (147, 197, 253), (37, 99, 235), (220, 38, 38))


def draw(profile: Profile, *, findings: bool = True) -> Drawing:
    """All panels, one below the other, two of them side by side; ``findings``: with what they show, in words."""
    shown = sorted(profile.partitions, key=lambda each: -each.records)[:_PARTITIONS_MAX]
    numbers = sorted(each.partition for each in shown)
    row_height = max(6.0, min(18.0, 320 / max(len(numbers), 1)))
    map_height = row_height * len(numbers)
    told = profile.findings[:6] if findings else []
    top = 96 + 18 * len(told)
    drawing = Drawing(_WIDTH, round(top + 240 + 220 + map_height + 60))
    drawing.text(_MARGIN, 40, f"Topic {profile.topic}", large=True, color="#0f172a")
    drawing.text(_MARGIN, 64, _headline(profile), color=_FAINT)
    for index, finding in enumerate(told):
        hot = " is hot" in finding or "alone has" in finding
        drawing.text(_MARGIN, 90 + 18 * index, f"- {_cut(finding, 175)}", color=_HOT if hot else "#334155")
    _partitions(drawing, profile, numbers, top)
    _keys(drawing, profile, top)
    _rates(drawing, profile, top + 240)
    _sizes(drawing, profile, top + 240)
    _heat_map(drawing, profile, numbers, top + 460, row_height)
    return drawing


def html_of(profile: Profile) -> str:
    """A page that needs nothing else: the picture, the findings, and the numbers as tables."""
    rows = "".join(
        f"<tr><td>{each.partition}</td><td>{each.records:,}</td><td>{_bytes(each.key_bytes + each.value_bytes)}</td>"
        f"<td>{each.null_keys:,}</td><td>{each.tombstones:,}</td></tr>"
        for each in profile.partitions
    )
    keys = "".join(
        f"<tr><td>{escape(shown_key(each.key))}</td><td>{each.partition}</td><td>{each.records:,}</td></tr>"
        for each in profile.keys
    )
    findings = "".join(f"<li>{escape(finding)}</li>" for finding in profile.findings)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Topic {escape(profile.topic)}</title>
<style>
body {{ font: 14px system-ui, sans-serif; color: #334155; margin: 2em auto; max-width: {_WIDTH}px; }}
svg {{ max-width: 100%; height: auto; }}
table {{ border-collapse: collapse; margin: 1em 0; }}
td, th {{ padding: .2em .8em; text-align: right; border-bottom: 1px solid {_GRID}; }}
td:first-child, th:first-child {{ text-align: left; }}
</style></head><body>
{draw(profile, findings=False).svg()}
<h2>Findings</h2><ul>{findings}</ul>
<h2>Partitions</h2>
<table><tr><th>partition</th><th>records</th><th>size</th><th>without key</th><th>tombstones</th></tr>{rows}</table>
<h2>Keys with most records</h2>
<table><tr><th>key</th><th>partition</th><th>records</th></tr>{keys}</table>
</body></html>
"""


def _headline(profile: Profile) -> str:
    busy = [total for total in profile.over_time() if total]
    parts = [
        f"{profile.records:,} records",
        _bytes(profile.size_in_bytes),
        f"{len(profile.partitions)} partitions",
        f"about {profile.distinct_keys:,} keys",
    ]
    if busy:
        parts.append(f"up to {max(busy) * 1000 / profile.scale.width_ms:,.0f} records/s")
    return "  |  ".join(parts)


def _partitions(drawing: Drawing, profile: Profile, numbers: list[int], top: float) -> None:
    left, width, height = _MARGIN + 46, _HALF - 60, 170
    _title(drawing, _MARGIN, top, "Records by partition")
    most = max((each.records for each in profile.partitions), default=0)
    mean = profile.records / max(len(profile.partitions), 1)
    _scale(drawing, left, top + 20, width, height, most)
    step = width / max(len(numbers), 1)
    labelled = max(1, -(-len(numbers) // 16))
    for index, number in enumerate(numbers):
        each = profile.partitions[number]
        bar = height * each.records / most if most else 0
        is_hot = each.records >= HOT_RATIO * mean and len(profile.partitions) > 1
        x = left + index * step
        drawing.box(
            x + step * 0.12,
            top + 20 + height - bar,
            step * 0.76,
            bar,
            _HOT if is_hot else _COOL,
            f"partition {number}: {each.records:,} records, {_bytes(each.key_bytes + each.value_bytes)}",
        )
        if index % labelled == 0:
            drawing.text(x + step / 2, top + 20 + height + 15, str(number), color=_FAINT, anchor="middle")
    if most:
        drawing.box(left, top + 20 + height - height * mean / most, width, 1, _FAINT, f"mean: {mean:,.0f}")
    hot = [(_HOT, f"hot: {HOT_RATIO:.0f} times the mean")] if len(profile.partitions) > 1 else []
    _legend(drawing, left + width, top + 8, [(_COOL, "records"), *hot, (_FAINT, f"mean {_short(mean)}")])


def _keys(drawing: Drawing, profile: Profile, top: float) -> None:
    _title(drawing, _RIGHT, top, "Keys with most records")
    keys = profile.keys[:_KEYS_MAX]
    if not keys:
        drawing.text(_RIGHT, top + 40, "no record has a key", color=_FAINT)
        return
    most, left, width = keys[0].records, _RIGHT + 190, 250
    for index, each in enumerate(keys):
        y = top + 22 + index * 18
        drawing.text(left - 8, y + 11, _cut(shown_key(each.key), 28), anchor="end")
        color = _HOT if is_hot_key(profile, each) else _COOL
        drawing.box(left, y, max(width * each.records / most, 1), 13, color, f"{each.records:,} records")
        share = 100 * each.records / profile.records
        drawing.text(left + width * each.records / most + 6, y + 11, f"{share:.1f} %", color=_FAINT)
    if len(profile.partitions) > 1:
        legend = [(_COOL, "share of all records"), (_HOT, "more than a partition's fair share")]
        _legend(drawing, _WIDTH - _MARGIN, top + 8, legend)


def _rates(drawing: Drawing, profile: Profile, top: float) -> None:
    left, width, height = _MARGIN + 46, _HALF - 60, 150
    totals, scale = profile.over_time(), profile.scale
    _title(drawing, _MARGIN, top, f"Records in {_duration(scale.width_ms)}")
    most = max(totals, default=0)
    _scale(drawing, left, top + 20, width, height, most)
    step = width / len(totals)
    for index, total in enumerate(totals):
        bar = height * total / most if most else 0
        title = f"{_time(scale.at(index), scale.width_ms)}: {total:,}"
        drawing.box(left + index * step, top + 20 + height - bar, step * 0.9, bar, _COOL, title)
    _times(drawing, profile, left, width, top + 20 + height + 15)


def _sizes(drawing: Drawing, profile: Profile, top: float) -> None:
    left, width, height = _RIGHT + 46, _HALF - 60, 150
    _title(drawing, _RIGHT, top, "Size of key and value")
    if not profile.sizes:
        return
    first, last = min(profile.sizes), max(profile.sizes)
    most = max(profile.sizes.values())
    _scale(drawing, left, top + 20, width, height, most)
    count = last - first + 1
    step = min(width / count, 60)
    for bucket in range(first, last + 1):
        records = profile.sizes.get(bucket, 0)
        bar = height * records / most
        x = left + (bucket - first) * step
        title = f"below {_bytes(1 << bucket)}: {records:,} records"
        drawing.box(x + step * 0.06, top + 20 + height - bar, step * 0.88, bar, _COOL, title)
        if count <= 9 or (bucket - first) % 2 == 0:
            drawing.text(x + step / 2, top + 20 + height + 15, f"<{_bytes(1 << bucket)}", color=_FAINT, anchor="middle")


def _heat_map(drawing: Drawing, profile: Profile, numbers: list[int], top: float, row_height: float) -> None:
    left, width = _MARGIN + 46, _WIDTH - 2 * _MARGIN - 46
    _title(drawing, _MARGIN, top, "Partitions over time")
    most = max(profile.rates.values(), default=0)
    step = width / profile.scale.count
    labelled = max(1, -(-len(numbers) // 20))
    for row, number in enumerate(numbers):
        y = top + 20 + row * row_height
        if row % labelled == 0:
            drawing.text(left - 8, y + row_height / 2 + 4, str(number), color=_FAINT, anchor="end")
        for bucket in range(profile.scale.count):
            records = profile.rates.get((number, bucket), 0)
            time = _time(profile.scale.at(bucket), profile.scale.width_ms)
            drawing.box(
                left + bucket * step,
                y,
                step * 0.94,
                row_height - 1,
                _heat(records / most if most else 0),
                f"partition {number}, {time}: {records:,}" if records else "",
            )
    _times(drawing, profile, left, width, top + 20 + len(numbers) * row_height + 15)
    if most:
        _heat_legend(drawing, left + width, top + 8, most)


def _legend(drawing: Drawing, right: float, y: float, entries: list[tuple[str, str]]) -> None:
    """What the colours of a panel mean, at its right edge."""
    widths = [14 + _LETTER_WIDTH * len(text) + 12 for _, text in entries]
    left = right - sum(widths)
    for (color, text), width in zip(entries, widths, strict=True):
        drawing.box(left, y - 9, 10, 10, color)
        drawing.text(left + 14, y, text, color=_FAINT)
        left += width


def _heat_legend(drawing: Drawing, right: float, y: float, most: int) -> None:
    """The colours of the map from none to the most."""
    steps, width = 24, 5
    drawing.text(right, y, f"{_short(most)} records", color=_FAINT, anchor="end")
    left = right - _LETTER_WIDTH * len(f"{_short(most)} records") - 4 - steps * width
    for step in range(steps):
        drawing.box(left + step * width, y - 9, width, 10, _heat(step / (steps - 1)))
    drawing.text(left - 6, y, "none", color=_FAINT, anchor="end")


def _title(drawing: Drawing, x: float, y: float, text: str) -> None:
    drawing.text(x, y + 8, text, color="#0f172a")


def _scale(drawing: Drawing, left: float, top: float, width: float, height: float, most: int) -> None:  # noqa: PLR0917
    for part in (0.0, 0.5, 1.0):
        y = top + height * (1 - part)
        drawing.box(left, y, width, 1, _GRID)
        drawing.text(left - 6, y + 4, _short(most * part), color=_FAINT, anchor="end")


def _times(drawing: Drawing, profile: Profile, left: float, width: float, y: float) -> None:
    scale = profile.scale
    drawing.text(left, y, _time(scale.at(0), scale.width_ms), color=_FAINT)
    if scale.count > 1:
        end = _time(scale.at(scale.count), scale.width_ms)
        drawing.text(left + width, y, end, color=_FAINT, anchor="end")


def _heat(share: float) -> str:
    """From nothing (nearly white) to the most (red)."""
    if share <= 0:
        return "#f8fafc"
    place = (0.15 + 0.85 * share) * (len(_HEAT) - 1)
    index = min(int(place), len(_HEAT) - 2)
    rest = place - index
    mixed = (round(a + (b - a) * rest) for a, b in zip(_HEAT[index], _HEAT[index + 1], strict=True))
    return "#" + "".join(f"{each:02x}" for each in mixed)


def _time(time_ms: int, width_ms: int) -> str:
    try:
        at = datetime.fromtimestamp(time_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return str(time_ms)
    if width_ms >= 86_400_000:
        return f"{at:%Y-%m-%d}"
    if width_ms >= 60_000:
        return f"{at:%Y-%m-%d %H:%M}"
    return f"{at:%Y-%m-%d %H:%M:%S}" + (f".{at.microsecond // 1000:03d}" if width_ms < 1000 else "")


def _duration(width_ms: int) -> str:
    for unit, name in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s")):
        if width_ms % unit == 0:
            return f"{width_ms // unit} {name}"
    return f"{width_ms} ms"


def _bytes(size: int) -> str:
    value = float(size)
    for unit in ("B", "K", "M", "G", "T"):
        if value < 1024 or unit == "T":
            return f"{value:.0f} {unit}" if value >= 10 or unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def _short(value: float) -> str:
    for unit in ("", "K", "M", "G"):
        if value < 1000 or unit == "G":
            return f"{value:.0f}{unit}" if value >= 10 or not unit else f"{value:.1f}{unit}"
        value /= 1000
    raise AssertionError("unreachable")


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
