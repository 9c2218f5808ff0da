"""The report as HTML: every text goes through `escaped`."""

import base64
import functools
import hashlib
import importlib.resources
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tagloom.learning.suggest import PROBABILITY
from tagloom.report.data import ReportData, ReportPhoto, TagSummary, UnreadablePhoto
from tagloom.report.evaluation_page import evaluation_fragment
from tagloom.report.report_text import display_text, escaped, image_source
from tagloom.report.topics_page import topics_fragment

__all__ = ["render_page"]

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
