"""The report of one annotation: from scores and thumbnails to the page."""

import datetime
import os
from collections.abc import Sequence
from dataclasses import replace

from tagloom._version import __version__
from tagloom.core.labels import UNKNOWN
from tagloom.core.photos import FeatureCache
from tagloom.jobs.results import AnnotateResult
from tagloom.methods.topics import TopicDescription
from tagloom.report.report import ReportData, UnreadablePhoto, write_report
from tagloom.report.report_photos import add_thumbnails, make_photos, suggestions_first
from tagloom.settings import Settings

__all__ = ["write_annotation_report"]


def write_annotation_report(
    path: str | os.PathLike[str],
    result: AnnotateResult,
    hashes: Sequence[str],
    cache: FeatureCache,
    settings: Settings,
) -> None:
    """Write report.html.

    Parameters
    ----------
    path : path
        The file to make or replace.
    result : AnnotateResult
        The run.
    hashes : sequence of str
        Content hash of each photo of the result, under which its thumbnail is kept.
    cache : FeatureCache
        Holds the thumbnails.
    settings : Settings
        Shown, with where each value came from.
    """
    photos = make_photos(result.photos, result.tags.names, result.Y, result.scores, settings.n_keywords)
    order = suggestions_first(photos)
    typical = {photo.row for topic in result.topics for photo in topic.photos}
    add_thumbnails(photos, typical.union(order[: settings.report_photos]), hashes, cache.thumbnails)
    comparison = result.comparison
    write_report(
        path,
        ReportData(
            photos=[photos[row] for row in order],
            unreadable=[UnreadablePhoto(item.path, str(item.verdict), item.detail) for item in result.failed],
            method=result.method,
            features=", ".join(result.groups),
            seconds=sum(result.seconds.values()),
            created=datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
            version=__version__,
            settings=settings.rows(),
            notes=_notes(result),
            evaluation=[(f"MAP, {name}", f"{value:.3f}") for name, value in comparison.rows] if comparison else (),
            measured=result.evaluation,
            kind=result.kind,
            topics=_placed(result.topics, order),
            max_photos=settings.report_photos,
        ),
    )


def _placed(topics: Sequence[TopicDescription], order: Sequence[int]) -> list[TopicDescription]:
    """Return topics whose photos are places in an order instead of rows."""
    places = {row: place for place, row in enumerate(order)}
    return [
        replace(topic, photos=tuple(replace(photo, row=places[photo.row]) for photo in topic.photos))
        for topic in topics
    ]


def _notes(result: AnnotateResult) -> list[str]:
    notes = [result.why_not_evaluated] if result.why_not_evaluated else []
    notes += [f"Labels file, line {item.line}: no photo {item.name!r}." for item in result.labels.unmatched[:20]]
    if len(result.labels.unmatched) > 20:
        notes.append(f"… and {len(result.labels.unmatched) - 20} more names without a photo.")
    n_positive = (result.Y == 1).sum(axis=0)
    rare = [tag for tag, n in zip(result.tags, n_positive, strict=True) if n < 2]
    if rare:
        shown = ", ".join(rare[:10]) + (" …" if len(rare) > 10 else "")
        notes.append(f"{len(rare)} tags have fewer than two labelled photos, so expect little of them: {shown}")
    if not (result.Y == UNKNOWN).any():
        notes.append("Every photo is labelled for every tag; there is nothing to suggest.")
    return notes
