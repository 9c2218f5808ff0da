"""Label Studio tasks: what a person accepted as annotations, what a model suggested as predictions."""

import contextlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from lxml import etree

from tagloom.core import Keyword, PhotoKeywords, atomic_write, is_video, write_bytes
from tagloom.metadata.formats.exporting import Chosen, ExportOptions, ExportReport, Spool, Tally, media_type
from tagloom.metadata.formats.json_text import iter_entries, read_json_text, write_json
from tagloom.metadata.formats.labels import Notes, ReadOptions, Said, shown
from tagloom.metadata.names import name_to_text

__all__ = ["LabelStudioExporter", "read_label_studio"]

FROM_NAME, TO_NAME, VIDEO = "tags", "image", "video"
_IMAGE_KEYS = ("file", "image", "img", "photo", "video", "url")
_UPLOAD_PREFIX = re.compile(r"^[0-9a-f]{8}-")


def read_label_studio(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Said]:
    """Yield the choices, taxonomies and labels of shapes of each task's annotations; predictions are a model's word.

    Parameters
    ----------
    path : Path
        An export in the format JSON (not JSON-MIN).
    options : ReadOptions
        Not needed here.
    notes : Notes
        Is told of tasks that cannot be understood.
    """
    del options
    for entry in iter_entries(read_json_text(path), notes.problem):
        place = f"line {entry.line}"
        task = entry.value
        if entry.section or not isinstance(task, dict) or not isinstance(task.get("data"), dict):
            notes.problem(
                place, f"expected a list of tasks, each with data and annotations, got {shown(task)}; export as JSON"
            )
            if entry.section:
                return
            continue
        name = _photo_name(task["data"])
        if not name:
            notes.problem(place, f"names no photo; expected the key image in data, got {shown(task['data'])}")
            continue
        yield from _task(task, place, name, notes)


class LabelStudioExporter:
    """Writes a list of tasks, and beside it the labelling configuration that they need.

    Keywords are a taxonomy called ``tags`` over the image called ``image``, so that levels stay levels. A prediction's
    score is that of its least certain keyword; each keyword's own score is in the task's data. ``photo_url`` and the
    percent-encoded path make the image's address. A project of Label Studio has one configuration, so videos have tasks
    and a configuration of their own, with ``video`` in place of ``image``.
    """

    name = "label-studio"
    description = "Label Studio tasks with annotations and predictions"

    def files(self, target: Path) -> tuple[Path, ...]:
        """Return the files that are written: tasks and configuration, and those of videos if there are any."""
        videos = target.with_suffix(f".videos{target.suffix}")
        return target, target.with_suffix(".config.xml"), videos, videos.with_suffix(".config.xml")

    def write(self, photos: Iterable[PhotoKeywords], target: Path, options: ExportOptions) -> ExportReport:
        """Write tasks and configuration.

        Parameters
        ----------
        photos : iterable of PhotoKeywords
            Consumed as it goes.
        target : Path
            The file of tasks; the configuration is ``….config.xml`` beside it. Tasks for videos: ``….videos.json``.
        options : ExportOptions
            What to include, the image's address, and the model's version.
        """
        tally = Tally(options)
        keywords: set[Keyword] = set()
        files = self.files(target)
        with contextlib.ExitStack() as stack:
            tasks = {False: stack.enter_context(_task_file(files[0]))}
            for chosen in tally.choose(photos):
                kind = is_video(chosen.photo.photo)
                if kind not in tasks:
                    tasks[kind] = stack.enter_context(_task_file(files[2]))
                tasks[kind].add(write_json(_task_entry(chosen, options)))
                keywords.update(chosen.keywords)
                tally.wrote(chosen)
        write_bytes(files[1], label_config(keywords))
        if True not in tasks:
            return tally.report(self.name, *files[:2])
        write_bytes(files[3], label_config(keywords, VIDEO))
        tally.warn(f"videos have tasks of their own, in {files[2].name}: import them into a second project")
        return tally.report(self.name, *files)


@contextlib.contextmanager
def _task_file(path: Path) -> Iterator[Spool]:
    with atomic_write(path) as handle:
        handle.write(b"[\n")
        yield Spool(handle)
        handle.write(b"\n]\n")


def label_config(keywords: Iterable[Keyword], to_name: str = TO_NAME) -> bytes:
    """Return the labelling configuration with these keywords, as XML.

    Parameters
    ----------
    keywords : iterable of Keyword
        What a person can choose from; levels above them are added.
    to_name : {"image", "video"}
        What is looked at.
    """
    view = etree.Element("View")
    etree.SubElement(view, to_name.capitalize(), name=to_name, value=f"${to_name}")
    nodes: dict[tuple[str, ...], Any] = {
        (): etree.SubElement(view, "Taxonomy", name=FROM_NAME, toName=to_name, leafsOnly="false")
    }
    for keyword in sorted(keywords):
        for depth in range(1, len(keyword.path) + 1):
            path = keyword.path[:depth]
            if path not in nodes:
                nodes[path] = etree.SubElement(nodes[path[:-1]], "Choice", value=path[-1])
    text: bytes = etree.tostring(view, encoding="utf-8", pretty_print=True, xml_declaration=False)
    return text


def _task_entry(chosen: Chosen, options: ExportOptions) -> dict[str, Any]:
    to_name = VIDEO if is_video(chosen.photo.photo) else TO_NAME
    data: dict[str, Any] = {
        to_name: _folder_url(options.photo_url) + quote(chosen.photo.photo, safe="/"),
        "file": name_to_text(chosen.photo.photo),
        **media_type(chosen.photo.photo),
    }
    if chosen.rejected:
        data["not_tags"] = [keyword.text for keyword in chosen.rejected]
    task: dict[str, Any] = {"data": data}
    if chosen.accepted or chosen.rejected:
        task["annotations"] = [{"result": _results(chosen.accepted, "accepted", to_name)}]
    if chosen.suggested:
        data["scores"] = {keyword.text: score for keyword, score in chosen.suggested.items()}
        task["predictions"] = [
            {
                "model_version": options.model_version,
                "score": min(chosen.suggested.values()),
                "result": _results(tuple(chosen.suggested), "suggested", to_name),
            }
        ]
    return task


def _folder_url(url: str) -> str:
    """Return an address with what parts it from a name below it."""
    return url if not url or url.endswith(("/", "=")) else f"{url}/"


def _results(keywords: tuple[Keyword, ...], identity: str, to_name: str) -> list[dict[str, Any]]:
    if not keywords:
        return []
    value = {"taxonomy": [list(keyword.path) for keyword in keywords]}
    return [{"id": identity, "from_name": FROM_NAME, "to_name": to_name, "type": "taxonomy", "value": value}]


def _task(task: dict[str, Any], place: str, name: str, notes: Notes) -> Iterator[Said]:
    no = notes.keywords(place, task["data"].get("not_tags"))
    for kind, suggested in (("annotations", False), ("predictions", True)):
        entries = task.get(kind) or []
        if not isinstance(entries, list):
            notes.problem(place, f"expected a list of {kind}, got {shown(entries)}")
            continue
        for entry in entries:
            if not isinstance(entry, dict) or not isinstance(entry.get("result"), list):
                notes.problem(place, f"expected {kind} with a list called result, got {shown(entry)}")
            elif not entry.get("was_cancelled"):
                yes = tuple(dict.fromkeys(k for item in entry["result"] for k in _labels(item, place, notes)))
                denied = () if suggested else no
                if yes or denied or not entry["result"]:
                    yield Said(place, name, yes, denied, suggested=suggested)


def _labels(item: Any, place: str, notes: Notes) -> tuple[Keyword, ...]:
    value = item.get("value") if isinstance(item, dict) else None
    if not isinstance(value, dict):
        notes.problem(place, f"expected a result with a value, got {shown(item)}")
        return ()
    # A box or another shape makes its label present, as in the other formats.
    kinds = [kind for kind in value if kind in ("choices", "taxonomy") or kind.endswith("labels")]
    return tuple(keyword for kind in kinds for keyword in notes.keywords(place, value[kind]))


def _photo_name(data: dict[str, Any]) -> str:
    keys = [key for key in _IMAGE_KEYS if isinstance(data.get(key), str)]
    keys = keys or [key for key, value in data.items() if isinstance(value, str)]
    if not keys:
        return ""
    text: str = data[keys[0]]
    return text if keys[0] == "file" else _name_from_url(text)


def _name_from_url(text: str) -> str:
    """Return the path in an address: of a local file, of an upload (less the mark put before its name), or of a URL."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return text
    if parts.path.endswith("/data/local-files/") and parts.query:
        # Relative to a folder that the server knows: only the end of it can be told to be a photo.
        return "/" + parse_qs(parts.query).get("d", [text])[0]
    if "/data/upload/" in parts.path:
        return _UPLOAD_PREFIX.sub("", unquote(parts.path.rpartition("/")[2]))
    return "/" + unquote(parts.netloc + parts.path) if parts.scheme and parts.netloc else text
