"""The process that is disturbed: it does one verb of a project and says on standard output what has been done.

A line is said only after the call that it is about has returned: whatever was said must be there after a kill.

As a program it is a server: it loads everything once, then forks one child per request (a line of JSON), so that a
thousand kills do not cost a thousand starts of Python. ``--once REQUEST`` does one request without a fork.
"""

import json
import os
import random
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.faults.scene import TAGS, use_settings


def say(line: str) -> None:
    """Tell the verifier, in one system call."""
    os.write(1, line.encode() + b"\n")


def _acknowledge_files() -> None:
    """Say the name of each file when the call that replaces it, or puts it back, has returned."""
    from tagloom.metadata.file_changes import FileChanges

    replace, undo = FileChanges.replace, FileChanges.undo

    def replace_and_say(self: FileChanges, path: bytes, *arguments: Any, **options: Any) -> Any:
        entry = replace(self, path, *arguments, **options)
        say(f"ack {os.path.basename(os.fsdecode(path))}")
        return entry

    def undo_and_say(self: FileChanges, entry: Any, *, path: bytes | None = None, **options: Any) -> Any:
        undone = undo(self, entry, path=path, **options)
        say(f"ack {os.path.basename(os.fsdecode(path or entry.path))}")
        return undone

    FileChanges.replace = replace_and_say  # type: ignore[method-assign]
    FileChanges.undo = undo_and_say  # type: ignore[method-assign]


def _scan(folder: Path, request: dict[str, Any]) -> int:  # noqa: ARG001
    from tagloom.project.project import Project

    with Project.open(folder) as project:
        return project.scan().n_listed


def _label(folder: Path, request: dict[str, Any]) -> int:
    """Label one pair after the other: said before and after, so that the verifier knows what was under way."""
    from tagloom.project.project import Project

    rng = random.Random(request.get("seed", 0))
    with Project.open(folder) as project:
        photos = project.store.photos.table(state="present").ids.tolist()
        for _ in range(request.get("n", 10)):
            photo, tag, state = rng.choice(photos), rng.choice(TAGS), rng.choice((1, 1, 0, -1))
            word = {1: "add", 0: "remove", -1: "clear"}[state]
            say(f"try {json.dumps([photo, tag, state])}")
            result = project.label(photo, **{word: tag})
            say(f"ack {result.batch.id if result.batch else 0}")
    return int(request.get("n", 10))


def pairs_of(photos: list[int], number: int, n: int) -> list[tuple[int, str]]:
    """Return ``n`` pairs of photo and tag that no other process labels."""
    return [(photos[i % len(photos)], f"tag {number}-{i // len(photos)}") for i in range(n)]


def _pairs(folder: Path, request: dict[str, Any]) -> int:
    """Label pairs that are this process's own, one call each."""
    from tagloom.project.project import Project

    with Project.open(folder) as project:
        photos = project.store.photos.table(state="present").ids.tolist()
        for photo, tag in pairs_of(photos, request["number"], request["n"]):
            result = project.label(photo, add=tag, who=f"process {request['number']}")
            say(f"ack {result.batch.id if result.batch else 0}")
    return int(request["n"])


def _train(folder: Path, request: dict[str, Any]) -> int:  # noqa: ARG001
    from tagloom.project.project import Project

    with Project.open(folder) as project:
        return project.train().model


def _write(folder: Path, request: dict[str, Any], *, embed: bool = False) -> int:
    from tagloom.project.project import Project

    _acknowledge_files()
    with Project.open(folder) as project:
        result = project.write(embed=embed, photos=request["photos"] if embed else None, base=folder)
    if result.counts.get("failed"):
        raise RuntimeError(f"files failed: {[item.problem for item in result.files if item.problem]}")
    return int(result.batch or 0)


def _embed(folder: Path, request: dict[str, Any]) -> int:
    return _write(folder, request, embed=True)


def _undo(folder: Path, request: dict[str, Any]) -> int:
    """Undo a write, unless a killed process had come to the end of that."""
    from tagloom.project.project import Project

    _acknowledge_files()
    with Project.open(folder) as project:
        if not project.store.decisions.batch(request["batch"]).undone:
            project.undo(request["batch"])
    return int(request["batch"])


def _import(folder: Path, request: dict[str, Any]) -> int:
    from tagloom.project.project import Project

    with Project.open(folder) as project:
        return project.import_keywords(request["source"], absent_means="unknown").batch or 0


def _tags(folder: Path, request: dict[str, Any]) -> int:
    """Rename a tag, then make it another one; what a killed process had done is not done again."""
    from tagloom.project.project import Project

    old, new, into = request["old"], request["new"], request["into"]
    with Project.open(folder) as project:
        if not project.store.tags.numbers([new])[0]:
            project.rename_tag(old, new)
        say("ack rename")
        tag, target = project.store.tags.numbers([new, into])
        if tag != target:
            project.merge_tags(new, into)
        say("ack merge")
    return 2


def _backup(folder: Path, request: dict[str, Any]) -> int:
    from tagloom.project.project import Project

    with Project.open(folder) as project:
        project.backup(request["target"])
    return 1


def _command(folder: Path, request: dict[str, Any]) -> int:
    """Run the program itself with these arguments, as a person would."""
    from tagloom.cli.app import main

    os.chdir(folder)
    try:
        main(list(request["arguments"]))
    except SystemExit as end:
        return int(end.code or 0) if not isinstance(end.code, str) else 1
    return 0


VERBS: dict[str, Callable[[Path, dict[str, Any]], int]] = {
    "scan": _scan,
    "label": _label,
    "pairs": _pairs,
    "train": _train,
    "write": _write,
    "embed": _embed,
    "undo": _undo,
    "import": _import,
    "tags": _tags,
    "backup": _backup,
}


def perform(request: dict[str, Any]) -> None:
    """Do one request."""
    use_settings(request.get("journal", "wal"))
    if request.get("careless"):
        _forget_folders()
    say(f"begin {os.getpid()}")
    number = VERBS[request["verb"]](Path(request["folder"]), request)
    say(f"done {number}")


def run_program(request: dict[str, Any]) -> int:
    """Run ``tagloom`` and return its exit code; its output goes where the request says."""
    use_settings(request.get("journal", "wal"))
    say(f"begin {os.getpid()}")
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    code = _command(Path(request["folder"]), request)
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _forget_folders() -> None:
    """Leave out the synchronisation of folders: a control, which the proof must find out."""
    from tagloom.core import system

    system.sync_folder = lambda folder: True  # noqa: ARG005


def _load() -> None:
    """Import what the verbs import, so that a child need not."""
    import tagloom.catalog.extraction
    import tagloom.catalog.logs
    import tagloom.cli.app
    import tagloom.cli.shared
    import tagloom.features.classic.color
    import tagloom.features.classic.exif
    import tagloom.features.engine
    import tagloom.images.pool
    import tagloom.learning.train
    import tagloom.project.export
    import tagloom.project.imports
    import tagloom.project.scan
    import tagloom.project.status
    import tagloom.project.undo
    import tagloom.project.write  # noqa: F401
    from tagloom.learning.methods import get_learner

    get_learner("ridge")


def serve() -> None:
    """Fork a child per request, and say how it ended."""
    _load()
    say("ready")
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.setsid()
                code = run_program(request) if "arguments" in request else 0
                if "arguments" not in request:
                    perform(request)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        say(f"end {os.waitstatus_to_exitcode(status)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--once"]:
        perform(json.loads(sys.argv[2]))
    else:
        serve()
