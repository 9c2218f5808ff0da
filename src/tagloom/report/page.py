"""The report as HTML: templates escape every name and text, and show it as `display_text` does."""

import base64
import functools
import hashlib
import importlib.resources
import json
import os
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from tagloom.core import write_bytes
from tagloom.learning import PROBABILITY
from tagloom.report.data import ReportData, ReportPhoto, TagSummary, summarize_tags

if TYPE_CHECKING:
    from tagloom.learning import ModelEvaluation
    from tagloom.methods.topics import TopicDescription

__all__ = [
    "display_text",
    "evaluation_fragment",
    "topics_fragment",
    "write_report",
]

_BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def display_text(text: str | bytes) -> str:
    r"""Return a name or text so that a page can show it: what is not text or would reorder it appears as an escape.

    Parameters
    ----------
    text : str or bytes
        Bytes are taken as UTF-8, with ``\xNN`` for a byte that is not.
    """
    raw = text if isinstance(text, bytes) else text.encode("utf-8", errors="surrogateescape")
    decoded = raw.decode("utf-8", errors="backslashreplace")
    return "".join(_escape_character(character) for character in decoded)


def image_source(data: bytes) -> str:
    """Return a data URL, or nothing where the bytes are not one of the three kinds of picture."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        kind = "webp"
    elif data[:3] == b"\xff\xd8\xff":
        kind = "jpeg"
    elif data[:8] == b"\x89PNG\r\n\x1a\n":
        kind = "png"
    else:
        return ""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _escape_character(character: str) -> str:
    is_hidden = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in _BIDI_CONTROLS
    return character.encode("unicode_escape").decode("ascii") if is_hidden else character


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _template(name: str) -> str:
    folder = importlib.resources.files("tagloom.report").joinpath("templates")
    return folder.joinpath(name).read_text(encoding="utf-8")


def _shown(value: Any) -> Any:
    """Return what a template shows of a value: names and texts as `display_text` does; markup stays."""
    return value if isinstance(value, Markup) or not isinstance(value, str | bytes) else display_text(value)


@functools.cache
def _environment() -> Environment:
    made = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"number": "{:,}".format, "picture": image_source, "hash": _hash}
    made.filters |= {"summary": _summary, "curve": _curve, "groups": _groups, "tags": _tags}
    return made


def _render(name: str, **values: Any) -> str:
    return _environment().get_template(name).render(values)


# An evaluation: rows of its tables and the points of one drawing.

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _EDGE = 420.0, 220.0, 44.0, 32.0, 10.0


def evaluation_fragment(found: "ModelEvaluation", note: str = "") -> str:
    """Return a section of a page: figures of held-out photos, tags, the learning curve, feature groups.

    It holds no script and no style, so that it fits a page with a strict policy; its classes are those of the report.

    Parameters
    ----------
    found : ModelEvaluation
        What `tagloom.Project.evaluate` returns.
    note : str, default=""
        A sentence to begin with, such as when that was.
    """
    return _render("evaluation.html", found=found, note=note)


def _summary(found: "ModelEvaluation") -> list[tuple[str, str]]:
    rows = [
        (
            f"Mean average precision on held-out photos, {found.method}{over and ', '}{over}",
            f"{figure:.3f} ({low:.3f} to {high:.3f})",
        )
        for over, figure, low, high in found.mean_figures()
    ]
    rows += [
        (found.accepted[:1].upper() + found.accepted[1:], "–" if found.n_accepted is None else f"{found.n_accepted:,}"),
        ("Precision of these", _share_between(found.precision, found.precision_low, found.precision_high)),
        ("Recall: share of all true tags", _share(found.recall)),
        ("Mean error of the probabilities", _figure(found.calibration_error)),
    ]
    if found.forecast is not None:
        more = found.forecast
        rows.append(
            (
                f"{more.n_more:,} more labelled photo{'' if more.n_more == 1 else 's'} would bring about",
                f"{more.gain:+.3f} ({more.low:+.3f} to {more.high:+.3f})",
            )
        )
    return rows


def _tags(found: "ModelEvaluation") -> list[tuple[str, ...]]:
    return [
        (
            one.tag,
            f"{one.n_yes:,}",
            _figure(one.average_precision),
            "–" if one.low is None or one.high is None else f"{one.low:.2f} to {one.high:.2f}",
            _share(one.precision),
            _share(one.recall),
        )
        for one in found.tags
    ]


def _groups(found: "ModelEvaluation") -> list[tuple[str, ...]]:
    return [
        (one.name, f"{one.gain:+.3f}", f"{one.low:+.3f} to {one.high:+.3f}", f"{one.alone:.3f}") for one in found.groups
    ]


def _curve(found: "ModelEvaluation") -> dict[str, Any] | None:
    """Return the learning curve as a drawing; None with fewer than two points."""
    curve = found.curve
    if len(curve) < 2:
        return None
    first, now = curve[0], curve[-1]
    top, last, floor = max(point.high for point in curve), now.n_labels, _HEIGHT - _BOTTOM
    texts = [(_LEFT - 6, _place(last, value, last, top)[1] + 4, "end", f"{value:.2f}") for value in (0.0, top)]
    texts += [(_place(one.n_labels, 0, last, top)[0], floor + 18, "middle", f"{one.n_labels:.0f}") for one in curve]
    edge = [(point.n_labels, point.high) for point in curve] + [(point.n_labels, point.low) for point in curve[::-1]]
    return {
        "width": f"{_WIDTH:g}",
        "height": f"{_HEIGHT:g}",
        "told": f"Mean average precision {first.map:.3f} with {first.n_labels:.0f} labelled photos, "
        f"{now.map:.3f} with {last:.0f}{', all tags' if len(found.mean_figures()) > 1 else ''}",
        "axes": f"M{_LEFT:g} {_EDGE:g}V{floor:g}H{_WIDTH - _EDGE:g}",
        "texts": [(f"{x:.1f}", f"{y:.1f}", anchor, text) for x, y, anchor, text in texts],
        "points": [_point(point.n_labels, point.map, last, top) for point in curve],
        "band": [_point(n_labels, figure, last, top) for n_labels, figure in edge],
    }


def _point(n_labels: float, figure: float, last: float, top: float) -> str:
    x, y = _place(n_labels, figure, last, top)
    return f"{x:.1f},{y:.1f}"


def _place(n_labels: float, figure: float, last: float, top: float) -> tuple[float, float]:
    """Return where a point is drawn; both axes begin at 0."""
    x = _LEFT + (_WIDTH - _LEFT - 2 * _EDGE) * n_labels / last
    y = _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _EDGE) * (figure / top if top > 0 else 0.0)
    return x, y


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _share_between(value: float | None, low: float | None, high: float | None) -> str:
    return _share(value) if low is None or high is None else f"{_share(value)} ({low:.0%} to {high:.0%})"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def topics_fragment(
    topics: "Sequence[TopicDescription]",
    photos: Sequence[str | bytes] | None = None,
    thumbnails: Mapping[int, bytes] | None = None,
    *,
    heading: str = "Topics",
) -> str:
    """Return a section of a page: each topic with its share of the photos, its tags and its most typical photos.

    It holds no script, no style and no address but ``data:`` pictures, so that it fits a page with a strict policy; its
    classes are those of the report.

    Parameters
    ----------
    topics : sequence of TopicDescription
        What ``LaplacianTopicModel.describe_topics`` returns, in the order to show.
    photos : sequence of str or bytes, optional
        Names of the training photos, by row. Default: "photo 1", "photo 2" …
    thumbnails : mapping of int to bytes, optional
        Small pictures by row (JPEG, PNG or WebP); other bytes are not shown.
    heading : str, default="Topics"
        Title of the section.
    """
    return _render("topics.html", **_topics(topics, photos, thumbnails or {}), heading=heading)


def _topics(
    topics: "Sequence[TopicDescription]", names: Sequence[str | bytes] | None, thumbnails: Mapping[int, bytes]
) -> dict[str, Any]:
    rows = {photo.row for topic in topics for photo in topic.photos}
    pictures = {row: image_source(thumbnails.get(row, b"")) for row in rows}
    return {"topics": topics, "names": names, "pictures": pictures}


N_STATIC = 50
"""Photos that are there as plain HTML, for readers without JavaScript."""
N_LEVELS = 20
"""Steps of a score bar: widths are classes, since the policy forbids style attributes."""
MAX_UNREADABLE = 1000


def _page(data: ReportData) -> str:
    tags = summarize_tags(data.photos)
    shown = data.photos[: data.max_photos]
    scale = _Scale(0.0, 1.0) if data.kind == PROBABILITY else _Scale.of(data.photos)
    typical = {photo.row: data.photos[photo.row].thumbnail for topic in data.topics for photo in topic.photos}
    figures = [
        ("Photos", len(data.photos) + len(data.unreadable)),
        ("Labelled by you", sum(photo.is_labeled for photo in data.photos)),
        ("With suggestions", sum(bool(photo.suggestions) for photo in data.photos)),
        ("Unreadable", len(data.unreadable)),
    ]
    facts = [
        ("Method", data.method),
        ("Features", data.features),
        ("Time", "" if data.seconds is None else _duration(data.seconds)),
        ("Made", data.created),
    ]
    return _render(
        "report.html",
        data=data,
        tags=tags,
        scale=scale,
        style=Markup(_template("report.css").replace("{{bars}}", _bar_rules())),  # noqa: S704
        script=Markup(_template("report.js")),  # noqa: S704
        lead=_lead(data, len(tags)),
        figures=figures,
        facts=facts,
        n_shown=len(shown),
        cards=shown[:N_STATIC],
        max_unreadable=MAX_UNREADABLE,
        embedded=_embedded_data(shown, tags, scale),
        **_topics(data.topics, [photo.name for photo in data.photos], typical),
    )


@dataclass(frozen=True, slots=True)
class _Scale:
    """How scores of this report become text and bars: the bar is empty at ``low`` and full at ``high``."""

    low: float
    high: float

    @classmethod
    def of(cls, photos: Sequence[ReportPhoto]) -> "_Scale":
        scores = [float(score) for photo in photos for _, score in photo.suggestions]
        return cls(low=min([0.0, *scores]), high=max([0.0, *scores]))

    def level(self, score: float) -> int:
        if self.high <= self.low:
            return 0
        return round(N_LEVELS * (float(score) - self.low) / (self.high - self.low))

    def text(self, score: float) -> str:
        return f"{score:.2f}" if 0.1 <= self.high - self.low < 1000 else f"{score:.3g}"


def _bar_rules() -> str:
    return " ".join(f".b{level} {{ width: {100 * level / N_LEVELS:g}%; }}" for level in range(N_LEVELS + 1))


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _lead(data: ReportData, n_tags: int) -> str:
    n_labeled = sum(photo.is_labeled for photo in data.photos)
    n_suggested = sum(bool(photo.suggestions) for photo in data.photos)
    if not n_suggested:
        return f"No tags are suggested yet; {_plural(n_labeled, 'photo')} labelled."
    n_learned = n_labeled if data.n_learned is None else data.n_learned
    return (
        f"Tags for {_plural(n_suggested, 'photo')}, learned from {_plural(n_learned, 'labelled photo')}; "
        f"{_plural(n_tags, 'tag')} in all."
    )


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _embedded_data(photos: Sequence[ReportPhoto], tags: Sequence[TagSummary], scale: _Scale) -> Markup:
    """Return JSON that cannot end the script element it stands in."""
    numbers = {item.tag: number for number, item in enumerate(tags)}
    rows = [
        [
            display_text(photo.name),
            image_source(photo.thumbnail),
            int(photo.is_labeled),
            [numbers[tag] for tag in photo.given],
            [[numbers[tag], scale.text(score), scale.level(score)] for tag, score in photo.suggestions],
            *([1] if photo.is_video else ()),
        ]
        for photo in photos
    ]
    text = json.dumps({"tags": [display_text(item.tag) for item in tags], "photos": rows}, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704


def write_report(path: str | os.PathLike[str], data: ReportData) -> Path:
    """Write the report as one self-contained HTML file, atomically.

    Parameters
    ----------
    path : path
        The file to make or replace.
    data : ReportData
        What to show.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    WriteError
        If the system refuses.
    """
    write_bytes(path, _page(data).encode("utf-8"))
    return Path(path)
