"""An evaluation as HTML: tables and one drawing, every text through `escaped`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tagloom.report.report_text import escaped

if TYPE_CHECKING:
    from tagloom.learning.evaluation_data import CurvePoint, Evaluation

__all__ = ["evaluation_fragment"]

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _EDGE = 420.0, 220.0, 44.0, 32.0, 10.0


def evaluation_fragment(found: "Evaluation", note: str = "") -> str:
    """Return a section of a page: figures of held-out photos, tags, the learning curve, feature groups.

    It holds no script and no style, so that it fits a page with a strict policy; its classes are those of the report.

    Parameters
    ----------
    found : Evaluation
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


def _summary(found: "Evaluation") -> str:
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


def _tags(found: "Evaluation") -> str:
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


def _groups(found: "Evaluation") -> str:
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


def _curve(found: "Evaluation") -> str:
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
