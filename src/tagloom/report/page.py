"""The report as HTML: every text goes through `escaped`."""

import base64
import functools
import hashlib
import html
import importlib.resources
import json
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.core.files import write_bytes
from tagloom.learning.suggest import PROBABILITY
from tagloom.report.data import ReportData, ReportPhoto, TagSummary, UnreadablePhoto, summarize_tags

if TYPE_CHECKING:
    from tagloom.learning.evaluation import CurvePoint, ModelEvaluation
    from tagloom.methods.topics import TopicDescription, TopicPhoto, TopicTag

__all__ = [
    "ReportData",
    "ReportPhoto",
    "TagSummary",
    "UnreadablePhoto",
    "display_text",
    "evaluation_fragment",
    "render_page",
    "summarize_tags",
    "topics_fragment",
    "write_report",
]


# Names, texts and pictures of a report, so that a page can hold them.

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


def escaped(text: str | bytes) -> str:
    """Return a name or text as HTML: what `display_text` shows, and no markup."""
    return html.escape(display_text(text), quote=True)


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


# An evaluation as HTML: tables and one drawing, every text through `escaped`.

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
    parts = [f"<p>{escaped(note)}</p>"] if note else []
    parts += [_summary(found), _curve(found), _groups(found), _tags(found)]
    parts += [f'<p class="note">{escaped(note)}</p>' for note in found.notes]
    body = "\n".join(part for part in parts if part)
    return (
        '<section class="panel evaluation" aria-labelledby="measured-title">\n'
        f'<h2 id="measured-title">Measured on your labels</h2>\n{body}\n</section>'
    )


def _summary(found: "ModelEvaluation") -> str:
    rows = [
        (
            f"Mean average precision on held-out photos, {found.method}{over and ', '}{over}",
            f"{figure:.3f} ({low:.3f} to {high:.3f})",
        )
        for over, figure, low, high in found.mean_figures()
    ]
    rows += [
        (found.accepted[:1].upper() + found.accepted[1:], "–" if found.n_accepted is None else f"{found.n_accepted:,}"),
        ("Right among these", _share_between(found.precision, found.precision_low, found.precision_high)),
        ("Found by them, of all tags that photos have", _share(found.recall)),
        ("Probabilities are off by, on average", _figure(found.calibration_error)),
    ]
    if found.forecast is not None:
        more = found.forecast
        rows.append(
            (
                f"{more.n_more:,} more labelled photo{'' if more.n_more == 1 else 's'} would bring about",
                f"{more.gain:+.3f} ({more.low:+.3f} to {more.high:+.3f})",
            )
        )
    return _table(("Measure", "Value"), rows)


def _tags(found: "ModelEvaluation") -> str:
    rows = [
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
    names = ("Tag", "Photos", "Average precision", "Interval", "Right", "Found")
    return f"<details><summary>Each tag</summary>{_table(names, rows)}</details>"


def _groups(found: "ModelEvaluation") -> str:
    if not found.groups:
        return ""
    rows = [
        (one.name, f"{one.gain:+.3f}", f"{one.low:+.3f} to {one.high:+.3f}", f"{one.alone:.3f}") for one in found.groups
    ]
    return _table(("Feature group", "Lost without it", "Interval", "Alone"), rows)


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col"{_number_class(place)}>{escaped(name)}</th>' for place, name in enumerate(names))
    body = "\n".join(
        f'<tr><th scope="row">{escaped(row[0])}</th>'
        + "".join(f'<td class="number">{escaped(value)}</td>' for value in row[1:])
        + "</tr>"
        for row in rows
    )
    return f'<div class="wide-table"><table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


def _number_class(place: int) -> str:
    return ' class="number"' if place else ""


def _curve(found: "ModelEvaluation") -> str:
    """Return the learning curve as a drawing; presentation attributes, since the policy forbids style attributes."""
    if len(found.curve) < 2:
        return ""
    top = max(point.high for point in found.curve)
    last = found.curve[-1].n_labels
    points = [_place(point.n_labels, point.map, last, top) for point in found.curve]
    band = [_place(point.n_labels, point.high, last, top) for point in found.curve]
    band += [_place(point.n_labels, point.low, last, top) for point in reversed(found.curve)]
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="currentColor"/>' for x, y in points)
    first, now = found.curve[0], found.curve[-1]
    told = escaped(
        f"Mean average precision {first.map:.3f} with {first.n_labels:.0f} labelled photos, "
        f"{now.map:.3f} with {last:.0f}{', all tags' if len(found.mean_figures()) > 1 else ''}"
    )
    size = f'viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" width="{_WIDTH:g}" height="{_HEIGHT:g}"'
    return (
        f'<svg {size} role="img" aria-label="{told}">'
        f"{_axes(found.curve, top)}"
        f'<polygon points="{_joined(band)}" fill="currentColor" fill-opacity="0.15"/>'
        f'<polyline points="{_joined(points)}" fill="none" stroke="currentColor" stroke-width="2"/>{dots}</svg>'
    )


def _axes(curve: "Sequence[CurvePoint]", top: float) -> str:
    floor, last = _HEIGHT - _BOTTOM, curve[-1].n_labels
    lines = (
        f'<path d="M{_LEFT:g} {_EDGE:g}V{floor:g}H{_WIDTH - _EDGE:g}" fill="none" stroke="currentColor" '
        f'stroke-opacity="0.5"/>'
    )
    texts = [(_LEFT - 6, _place(last, value, last, top)[1] + 4, "end", f"{value:.2f}") for value in (0.0, top)]
    texts += [(_place(one.n_labels, 0, last, top)[0], floor + 18, "middle", f"{one.n_labels:.0f}") for one in curve]
    return lines + "".join(
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="11" fill="currentColor">{text}</text>'
        for x, y, anchor, text in texts
    )


def _place(n_labels: float, figure: float, last: float, top: float) -> tuple[float, float]:
    """Return where a point is drawn; both axes begin at 0."""
    x = _LEFT + (_WIDTH - _LEFT - 2 * _EDGE) * n_labels / last
    y = _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _EDGE) * (figure / top if top > 0 else 0.0)
    return x, y


def _joined(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _share_between(value: float | None, low: float | None, high: float | None) -> str:
    return _share(value) if low is None or high is None else f"{_share(value)} ({low:.0%} to {high:.0%})"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


# What a topic model has learnt, as HTML: every text goes through `escaped`.


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
    shown = "\n".join(_topic(topic, photos, thumbnails or {}) for topic in topics)
    body = f'<ul class="topic-list">\n{shown}\n</ul>' if topics else '<p class="none">No topics</p>'
    # What scrolls must be reached by keyboard.
    body = f'<div class="scroll" tabindex="0" role="region" aria-labelledby="topics-title">{body}</div>'
    return (
        f'<section class="panel topics" aria-labelledby="topics-title">\n<h2 id="topics-title">{escaped(heading)} '
        f'<span class="count">{len(topics):,}</span></h2>\n{body}\n</section>'
    )


def _topic(topic: "TopicDescription", photos: Sequence[str | bytes] | None, thumbnails: Mapping[int, bytes]) -> str:
    tags = "".join(_tag(tag) for tag in topic.tags)
    typical = "".join(_photo(photo, photos, thumbnails) for photo in topic.photos)
    return (
        f'<li class="topic"><h3>Topic {topic.topic + 1} <span class="count">{topic.share:.1%} of the photos</span></h3>'
        f'<ul class="chips" aria-label="Tags">{tags}</ul>'
        f'<ul class="typical" aria-label="Typical photos">{typical}</ul></li>'
    )


def _tag(tag: "TopicTag") -> str:
    hint = f"{tag.lift:.1f} times as often as in all photos"
    return f'<li class="chip" title="{hint}">{escaped(tag.tag)} <span class="score">{tag.probability:.2f}</span></li>'


def _photo(photo: "TopicPhoto", photos: Sequence[str | bytes] | None, thumbnails: Mapping[int, bytes]) -> str:
    name = escaped(f"photo {photo.row + 1}" if photos is None else photos[photo.row])
    source = image_source(thumbnails.get(photo.row, b""))
    image = f'<img alt="" loading="lazy" decoding="async" src="{source}">' if source else ""
    return f'<li>{image}<span class="name">{name}</span> <span class="score">{photo.probability:.2f}</span></li>'


N_STATIC = 50
"""Photos that are there as plain HTML, for readers without JavaScript."""
N_LEVELS = 20
"""Steps of a score bar: widths are classes, since the policy forbids style attributes."""
MAX_UNREADABLE = 1000


def render_page(data: ReportData, tags: Sequence[TagSummary]) -> str:
    """Return the whole page.

    Parameters
    ----------
    data : ReportData
        What to show.
    tags : sequence of TagSummary
        The rows of the tag table.
    """
    shown = data.photos[: data.max_photos]
    scale = _Scale(0.0, 1.0) if data.kind == PROBABILITY else _Scale.of(data.photos)
    style = _template("report.css").replace("{{bars}}", _bar_rules())
    script = _template("report.js")
    created = f", {escaped(data.created)}" if data.created else ""
    pieces = {
        "title": escaped(data.title),
        "version": escaped(data.version),
        "created": created,
        "style": style,
        "style_hash": _hash(style),
        "script": script,
        "script_hash": _hash(script),
        "lead": _lead(data, len(tags)),
        "figures": _figures(data),
        "facts": _facts(data),
        "notes": "\n".join(f'<p class="note">{escaped(note)}</p>' for note in data.notes),
        "evaluation": _evaluation(data.evaluation),
        "measured": "" if data.measured is None else evaluation_fragment(data.measured, data.measured_note),
        "kind": escaped(data.kind),
        "kind_title": escaped(data.kind.capitalize()),
        "n_tags": f"{len(tags):,}",
        "tag_rows": "\n".join(_tag_row(number, tag, scale) for number, tag in enumerate(tags)),
        "n_listed": f"{len(data.photos):,}",
        "cut_note": _cut_note(len(shown), len(data.photos)),
        "cards": "\n".join(_card(photo, scale) for photo in shown[:N_STATIC]),
        "noscript": _noscript(len(shown)),
        "topics": _topics(data),
        "unreadable": _unreadable(data.unreadable),
        "settings": _settings(data.settings),
        "data": _embedded_data(shown, tags, scale),
    }
    return _fill(_template("report.html"), pieces)


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


@functools.cache
def _template(name: str) -> str:
    folder = importlib.resources.files("tagloom.report").joinpath("templates")
    return folder.joinpath(name).read_text(encoding="utf-8")


def _fill(template: str, pieces: Mapping[str, str]) -> str:
    # One pass, so that a file name that looks like a placeholder is never filled.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: pieces[match[1]], template)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


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


def _figures(data: ReportData) -> str:
    n_photos = len(data.photos) + len(data.unreadable)
    figures = [
        ("Photos", n_photos),
        ("Labelled by you", sum(photo.is_labeled for photo in data.photos)),
        ("With suggestions", sum(bool(photo.suggestions) for photo in data.photos)),
        ("Unreadable", len(data.unreadable)),
    ]
    return "\n".join(f"<div><dt>{name}</dt><dd>{number:,}</dd></div>" for name, number in figures)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _facts(data: ReportData) -> str:
    facts = [
        ("Method", data.method),
        ("Features", data.features),
        ("Time", "" if data.seconds is None else _duration(data.seconds)),
        ("Made", data.created),
    ]
    return "\n".join(f"<div><dt>{name}</dt><dd>{escaped(value)}</dd></div>" for name, value in facts if value)


def _evaluation(rows: Sequence[tuple[str, str]]) -> str:
    if not rows:
        return ""
    body = "\n".join(
        f'<tr><th scope="row">{escaped(name)}</th><td class="number">{escaped(value)}</td></tr>' for name, value in rows
    )
    return (
        '<section class="panel evaluation" aria-labelledby="evaluation-title">\n'
        '<h2 id="evaluation-title">Evaluation</h2>\n<div class="wide-table"><table>'
        '<thead><tr><th scope="col">Measure</th><th scope="col" class="number">Value</th></tr></thead>'
        f"<tbody>\n{body}\n</tbody></table></div>\n</section>"
    )


def _tag_row(number: int, item: TagSummary, scale: _Scale) -> str:
    # A tag without suggestions sorts below every score.
    value = -1e300 if item.mean_score is None else float(item.mean_score)
    mean = "–" if item.mean_score is None else scale.text(item.mean_score)
    return (
        f'<tr data-tag="{number}"><th scope="row">{escaped(item.tag)}</th>'
        f'<td class="number" data-value="{item.n_given}">{item.n_given:,}</td>'
        f'<td class="number" data-value="{item.n_suggested}">{item.n_suggested:,}</td>'
        f'<td class="number" data-value="{value!r}">{mean}</td></tr>'
    )


def _cut_note(n_shown: int, n_photos: int) -> str:
    if n_shown == n_photos:
        return ""
    return (
        f'<p class="note">This page shows the first {n_shown:,} of {n_photos:,} photos, to stay light. The counts '
        f"are over all of them; raise report_photos to show more.</p>"
    )


def _noscript(n_shown: int) -> str:
    if n_shown <= N_STATIC:
        return ""
    return (
        f'<noscript><p class="note">The first {N_STATIC} of {n_shown:,} photos. Turn on JavaScript to see the others, '
        f"and to search and sort.</p></noscript>"
    )


def _card(photo: ReportPhoto, scale: _Scale) -> str:
    """Return the same elements as ``card`` in report.js."""
    name = escaped(photo.name)
    source = image_source(photo.thumbnail)
    parts = [f'<p class="name">{name}</p>']
    if photo.given:
        chips = "".join(f'<li class="chip">{escaped(tag)}</li>' for tag in photo.given)
        parts.append(f'<ul class="chips" aria-label="Given by you">{chips}</ul>')
    if photo.suggestions:
        items = "".join(
            f'<li><span class="tag">{escaped(tag)}</span><span class="score">{scale.text(score)}</span>'
            f'<span class="track" aria-hidden="true"><span class="bar b{scale.level(score)}"></span></span></li>'
            for tag, score in photo.suggestions
        )
        parts.append(f'<ul class="suggestions" aria-label="Suggested">{items}</ul>')
    if not photo.given and not photo.suggestions:
        note = "Labelled: none of the tags" if photo.is_labeled else "Nothing suggested"
        parts.append(f'<p class="none">{note}</p>')
    image = (
        f'<img alt="Preview of {name}" loading="lazy" decoding="async" src="{source}">'
        if source
        else '<div class="blank">No preview</div>'
    )
    return f'<li class="card">{image}<div class="body">{"".join(parts)}</div></li>'


def _topics(data: ReportData) -> str:
    if not data.topics:
        return ""
    rows = {photo.row for topic in data.topics for photo in topic.photos}
    thumbnails = {row: data.photos[row].thumbnail for row in rows}
    return topics_fragment(data.topics, [photo.name for photo in data.photos], thumbnails)


def _unreadable(photos: Sequence[UnreadablePhoto]) -> str:
    if not photos:
        return ""
    rows = "\n".join(
        f'<tr><th scope="row" class="file">{escaped(photo.name)}</th>'
        f"<td>{escaped(str(photo.verdict).replace('_', ' '))}</td><td>{escaped(photo.detail)}</td></tr>"
        for photo in photos[:MAX_UNREADABLE]
    )
    more = len(photos) - MAX_UNREADABLE
    note = f'<p class="note">{more:,} more are not listed here.</p>' if more > 0 else ""
    return (
        f'<details class="panel"{" open" if len(photos) <= 20 else ""}><summary>Files that could not be read '
        f'<span class="count">{len(photos):,}</span></summary>\n<div class="wide-table"><table><thead><tr>'
        f'<th scope="col">File</th><th scope="col">Verdict</th><th scope="col">Detail</th></tr></thead>'
        f"<tbody>\n{rows}\n</tbody></table></div>{note}</details>"
    )


def _settings(rows: Sequence[tuple[str, str, str]]) -> str:
    if not rows:
        return ""
    body = "\n".join(
        f'<tr><th scope="row" class="file">{escaped(name)}</th><td>{escaped(value)}</td><td>{escaped(origin)}</td></tr>'
        for name, value, origin in rows
    )
    return (
        '<details class="panel"><summary>Settings</summary>\n<div class="wide-table"><table>'
        '<thead><tr><th scope="col">Setting</th><th scope="col">Value</th><th scope="col">Set by</th></tr></thead>'
        f"<tbody>\n{body}\n</tbody></table></div></details>"
    )


def _embedded_data(photos: Sequence[ReportPhoto], tags: Sequence[TagSummary], scale: _Scale) -> str:
    """Return JSON that cannot end the script element it stands in."""
    numbers = {item.tag: number for number, item in enumerate(tags)}
    rows = [
        [
            display_text(photo.name),
            image_source(photo.thumbnail),
            int(photo.is_labeled),
            [numbers[tag] for tag in photo.given],
            [[numbers[tag], scale.text(score), scale.level(score)] for tag, score in photo.suggestions],
        ]
        for photo in photos
    ]
    text = json.dumps({"tags": [display_text(item.tag) for item in tags], "photos": rows}, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# The report of a run: one HTML file with thumbnails, suggestions and what could not be read.


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
    write_bytes(path, render_page(data, summarize_tags(data.photos)).encode("utf-8"))
    return Path(path)
