"""What the jobs of the review page do: the verbs of a project, opened anew for each job."""

import time
from pathlib import Path
from typing import Any

from tagloom.catalog.project_features import extract
from tagloom.catalog.reading import make_folder
from tagloom.catalog.results import Result
from tagloom.core.progress import Progress
from tagloom.exceptions import InvalidInputError, TagloomError
from tagloom.learning.train import train
from tagloom.metadata.formats import available_exporters
from tagloom.project.export import export
from tagloom.project.project import Project
from tagloom.project.scan import scan
from tagloom.project.write import write
from tagloom.review.jobs import JOB_KINDS, Work, job_summary
from tagloom.settings import Settings
from tagloom.store.project import ProjectStore

__all__ = ["job_work"]

OPTIONS = {"scan": (), "extract": (), "train": (), "write": ("photos",), "export": ("format", "accepted_only")}
_SUFFIXES = {
    "csv": ".csv",
    "tsv": ".tsv",
    "jsonl": ".jsonl",
    "parquet": ".parquet",
    "coco": ".json",
    "label-studio": ".json",
    "fiftyone": ".json",
    "cvat": ".xml",
}


def job_work(project: Project, kind: str, options: dict[str, Any], *, exports: Path | None, who: str) -> Work:
    """Return what a job does, having looked whether it can be asked for.

    Parameters
    ----------
    project : Project
        The project; the job opens it anew.
    kind : str
        One of `JOB_KINDS`.
    options : dict
        Of a write: ``photos``, ids. Of an export: ``format`` and ``accepted_only``.
    exports : Path or None
        The folder that exports go to. A page never names a path.
    who : str
        For the history.
    """
    if kind not in JOB_KINDS:
        raise InvalidInputError(f"kind must be one of {', '.join(JOB_KINDS)}, got {kind!r}")
    unknown = sorted(set(options) - set(OPTIONS[kind]))
    if unknown:
        raise InvalidInputError(f"{kind} has no option {unknown[0]!r}; it has {', '.join(OPTIONS[kind]) or 'none'}")
    target = _target(options, exports) if kind == "export" else None
    settings = project.settings

    def work(progress: Progress) -> str:
        with ProjectStore(project.folder, make=False) as store:
            result = _do(store, settings, kind, options, target, who, progress).as_dict()
            told = job_summary(kind, result)
            if kind == "write" and result["counts"].get("failed"):  # what was written is kept, and counted
                raise TagloomError(told)
            return told

    return work


def _do(
    store: ProjectStore,
    settings: Settings,
    kind: str,
    options: dict[str, Any],
    target: Path | None,
    who: str,
    progress: Progress,
) -> Result:
    if kind == "scan":
        return scan(store, settings, progress=progress)
    if kind == "extract":
        return extract(store, settings, progress=progress)
    if kind == "train":
        return train(store, settings, progress=progress)
    if target is None:
        return write(store, photos=options.get("photos"), who=who, progress=progress)
    progress.start("exporting", None)
    make_folder(target.parent)
    return export(store, target, str(options["format"]), accepted_only=options.get("accepted_only", True))


def _target(options: dict[str, Any], exports: Path | None) -> Path:
    name = options.get("format")
    if name not in available_exporters():
        raise InvalidInputError(f"format must be one of {', '.join(available_exporters())}, got {name!r}")
    if exports is None:
        raise InvalidInputError("this review was started without a folder for exports; use: tagloom export")
    return exports / f"keywords-{time.strftime('%Y%m%d-%H%M%S')}-{name}{_SUFFIXES.get(str(name), '')}"
