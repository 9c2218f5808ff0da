"""Each verb on each hostile project, photo and file: nothing outside changes, and errors are one line."""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.faults.hostile import imports, metadata, projects
from benchmarks.faults.hostile.commands import Commands, Ran
from benchmarks.faults.scene import SETTINGS, make_scene
from tagloom.project.project import Project

KINDS = ("projects", "metadata", "imports")
EVERY = 3  # of the projects, on which all verbs are tried; of the truncated ones each
DEADLINE = 120.0  # generous, as the machine may be busy
SECONDS_PER_MB = 4.0  # more for a file to import, whose reader has a deadline that grows with it as well
MEMORY_MB = 1024.0
MAX_PROBLEMS = 60
MANY = 20  # a share so small that pages are left out
LABELS, VOCABULARY = "labels.csv", "vocabulary.txt"
UNTOUCHED = {"TAGLOOM_DESCRIPTORS": "semantic"}  # what projects without labels need for suggestions
RESULTS = ("keywords.csv", "report.html")  # what commands may make in the folder of photos, where they are run
_FOLDERS = tuple(f"XDG_{name}_HOME" for name in ("CONFIG", "DATA", "STATE", "CACHE"))


class Arena:
    """A home that a stranger would like to reach, and photos with a project of the stranger's beside it.

    Parameters
    ----------
    folder : Path
        An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home, self.photos, self.out, self.template, self.untouched = (
            folder / name for name in ("home", "photos", "out", "template", "untouched")
        )
        maker = folder / "maker"
        for path in (self.home / "folder", self.out, maker):
            path.mkdir(parents=True)
        (self.home / ".profile").write_text("export SAFE=1\n")
        (self.home / "folder" / "victim.safetensors").write_bytes(b"the only copy")
        (self.home / "folder" / "tagloom.log").write_bytes(b"a log")
        (self.home / "folder" / ("a" * 32 + ".safetensors")).write_bytes(b"looks like one of tagloom's")
        for name in ("HOME", "TAGLOOM_CONFIG", *_FOLDERS):
            os.environ[name] = str(maker)  # the project is not the victim's own
        make_scene(self.photos)
        names = sorted(path.name for path in self.photos.glob("*.jpg"))
        (self.photos / LABELS).write_text("file,tags\n" + "".join(f"{name},sea;sand\n" for name in names[:8]))
        for path in self.photos.iterdir():
            if path.name == names[0]:
                shutil.copy(path, self.photos / imports.PHOTO)
        self.photo = names[0]
        self._make_untouched(names)
        self.photos.rename(self.template)
        config = folder / "config"  # tagloom may keep there what is the user's own
        config.mkdir()
        folders = dict.fromkeys(("TAGLOOM_CONFIG", *_FOLDERS), str(config))
        settings = {"HOME": str(self.home), **folders, **SETTINGS, "TERM": "dumb"}
        self.commands = Commands(os.environ | settings)

    def _make_untouched(self, names: Sequence[str]) -> None:
        """Make a project of the same photos, in which nothing is labelled and tags are suggested by their names."""
        self.untouched.mkdir()
        for name in (*names, LABELS):
            shutil.copy(self.photos / name, self.untouched)
        descriptors = os.environ["TAGLOOM_DESCRIPTORS"]
        os.environ.update(UNTOUCHED)
        with Project.init(self.untouched) as project:
            project.scan()
            project.suggest_first(["dog", "sea", "sunset", "snow"])
        os.environ["TAGLOOM_DESCRIPTORS"] = descriptors

    def reset(self, *, untouched: bool = False) -> Path:
        """Lay the good project out again, or the one that nobody has labelled anything in."""
        for path in (self.photos, self.out, self.folder / "config"):
            shutil.rmtree(path, ignore_errors=True)
        shutil.rmtree(self.home / "folder" / "store", ignore_errors=True)
        self.out.mkdir()
        (self.folder / "config").mkdir()
        (self.out / VOCABULARY).write_text("dog\nsea\n")
        shutil.copytree(self.untouched if untouched else self.template, self.photos, symlinks=True)
        return self.photos

    def facts(self) -> dict[str, str]:
        """Return what must not change: the home, and the photos themselves."""
        found = {}
        for top in (self.home, self.photos):
            for folder, folders, files in os.walk(top):
                folders[:] = [name for name in folders if name != projects.STORE]
                for name in (*folders, *files):
                    path = Path(folder, name)
                    if top == self.photos and not path.is_symlink() and (name.endswith(".xmp") or name in RESULTS):
                        continue
                    found[str(path.relative_to(self.folder))] = _fact(path)
        return {name: fact for name, fact in found.items() if not name.startswith("home/folder/store")}


def _fact(path: Path) -> str:
    if path.is_symlink():
        return f"link to {os.readlink(path)}"
    if path.is_file():
        return f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.stat().st_mode:o}"
    return f"{path.stat().st_mode:o}"


def verbs(arena: Arena) -> dict[str, list[str]]:
    """Return the verbs that are tried on hostile projects."""
    photo, out = arena.photo, arena.out
    return {
        "status": ["status"],
        "scan": ["scan"],
        "tags": ["tags"],
        "label": ["label", photo, "--add", "sea", "--remove", "snow"],
        "rename a tag": ["tags", "rename", "sea", "ocean"],
        "import": ["import", LABELS],
        "import photos": ["import", "--from-photos"],
        "extract": ["extract"],
        "train": ["train"],
        "update": ["update"],
        "evaluate": ["evaluate"],
        "suggest": ["suggest"],
        "suggest a vocabulary": ["suggest", "--vocabulary", str(out / VOCABULARY)],
        "search": ["search", "sea 2024 zebr"],
        "compare": ["compare", "ridge", "harmonic", "--folds", "2"],
        "next": ["next"],
        "explain": ["explain", photo, "sea"],
        "duplicates": ["duplicates"],
        "write": ["write"],
        "undo": ["undo", "--yes"],
        "undo the rest": ["undo", "--yes", "--leave-changed"],
        "redo": ["redo"],
        "export": ["export", str(out / "keywords.csv"), "--format", "csv"],
        "report": ["report", "--out", str(out / "report.html")],
        "history": ["history"],
        "check": ["check"],
        "repair": ["repair"],
        "backup": ["backup", str(out / "backup.sqlite")],
        "restore": ["restore", "--yes"],
        "trust": ["trust", "--yes"],
        "remove": ["remove", "--yes"],
    }


#: Results that a person names without a folder, where links may lie in wait.
HERE = {
    "export here": ["export", "keywords.csv"],
    "report here": ["report"],
    "backup here": ["backup", "out/backup.sqlite"],
}


def run(
    kinds: Sequence[str] = KINDS, *, every: int = EVERY, families: Sequence[str] = (), only: Sequence[str] = ()
) -> dict[str, Any]:
    """Try every n-th project, and of the files a share three times as large, and return what was found.

    With ``families`` or ``only`` it tries projects of some families, or some verbs on projects.
    """
    kinds = ("projects",) if families or only else kinds
    rows: list[dict[str, Any]] = []
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        arena = Arena(Path(scratch).resolve() / "arena")
        try:
            for kind in kinds:
                rows += attempts(arena, kind, every if kind == "projects" else max(1, every // 3), families, only)
        finally:
            arena.commands.close()
    return summary(rows, time.perf_counter() - begin)


def attempts(
    arena: Arena, kind: str, every: int, families: Sequence[str] = (), only: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """Yield what each verb did on every n-th case of a kind."""
    if kind == "projects":
        rows = _projects(arena, every, families, only)
    else:
        rows = {"metadata": _metadata, "imports": _imports}[kind](arena, every)
    for row in rows:
        yield {"kind": kind, **row}


def add(stored: dict[str, Any], found: dict[str, Any], commit: str, *, replace: bool = False) -> dict[str, Any]:
    """Return recorded results with those of more verbs on the same cases, or of more families.

    Parameters
    ----------
    stored, found : dict
        What `run` returned, of all and of the new ones.
    commit : str
        That the new ones are of.
    replace : bool, default=False
        Families that are recorded were tried whole again: what is new takes the place of what was known of them.
    """
    families = {(item["kind"], item["family"]): dict(item) for item in stored["families"]}
    for item in found["families"]:
        known = families.setdefault((item["kind"], item["family"]), item)
        if known is item:
            continue
        if replace:
            known.update(item)
            continue
        if known["n_cases"] != item["n_cases"]:
            raise ValueError(f"{item['family']}: {item['n_cases']} cases, and {known['n_cases']} are recorded")
        for key in ("n_verbs", "n_runs", "n_refused", "n_violations"):
            known[key] += item[key]
        for key in ("longest", "largest_mb"):
            known[key] = max(known[key], item[key])
    return stored | {
        "families": list(families.values()),
        "n_cases": sum(item["n_cases"] for item in families.values()),
        "n_runs": sum(item["n_runs"] for item in families.values()),
        "seconds": round(stored["seconds"] + found["seconds"], 1),
        "problems": [*stored["problems"], *found["problems"]],
        "n_problems": stored["n_problems"] + found["n_problems"],
        "again": [*stored.get("again", []), {"commit": commit, "why": "Later verbs and families."}],
    }


def summary(rows: Sequence[dict[str, Any]], seconds: float) -> dict[str, Any]:
    """Return what is recorded of attempts."""
    return {
        "families": _families(rows),
        "n_cases": len({(row["kind"], row["family"], row["case"]) for row in rows}),
        "n_runs": len(rows),
        "deadline": DEADLINE,
        "seconds_per_mb": SECONDS_PER_MB,
        "memory_limit_mb": MEMORY_MB,
        "seconds": round(seconds, 1),
        "problems": [text for row in rows for text in row["problems"]][:MAX_PROBLEMS],
        "n_problems": sum(len(row["problems"]) for row in rows),
    }


def _projects(
    arena: Arena, every: int, families: Sequence[str] = (), only: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    cases = projects.cases(arena.template)
    whole = projects.WHOLE if every < MANY else ()
    chosen = cases if every == 1 else [case for case in cases if case.family not in whole][::every]
    chosen += [case for case in cases if every > 1 and case.family in whole]
    for case in chosen:
        if families and case.family not in families:
            continue
        here = HERE if case.family == projects.WAYS_OUT else {}
        for verb, arguments in (verbs(arena) | here).items():
            if only and verb not in only:
                continue
            folder = arena.reset(untouched=case.is_untouched)
            case.spoil(folder, arena.home)
            environment = UNTOUCHED if case.is_untouched else {}
            yield _try(arena, case.family, case.name, verb, arguments, environment=environment)


def _metadata(arena: Arena, every: int) -> Iterator[dict[str, Any]]:
    for bad in metadata.files()[::every]:
        folder = arena.reset()
        (folder / bad.file).write_bytes(bad.data)
        if bad.file.endswith(".xmp"):
            (folder / "bad.jpg").write_bytes(metadata.picture())
        photo = "bad.jpg" if bad.file.endswith(".xmp") else bad.file
        for verb, arguments in {
            "scan": ["scan"],
            "import photos": ["import", "--from-photos"],
            "label": ["label", photo, "--add", "sea"],
            "write": ["write"],
        }.items():
            yield _try(arena, bad.family, bad.name, verb, arguments)


def _imports(arena: Arena, every: int) -> Iterator[dict[str, Any]]:
    for bad in imports.files()[::every]:
        folder = arena.reset()
        arena.commands.run(["scan"], folder, deadline=DEADLINE)  # the photo that the files speak of
        (arena.out / bad.file).write_bytes(bad.data)
        deadline = DEADLINE + SECONDS_PER_MB * len(bad.data) / 1e6
        for verb, more in (("import", []), ("import the rest", ["--skip-bad-rows"])):
            yield _try(arena, bad.family, bad.name, verb, ["import", str(arena.out / bad.file), *more], deadline)
        labels = ["annotate", str(folder), "--labels", str(arena.out / bad.file), "--out", str(arena.out / "results")]
        if bad.family == "tables":
            yield _try(arena, bad.family, bad.name, "annotate", labels, deadline)


def _try(
    arena: Arena,
    family: str,
    case: str,
    verb: str,
    arguments: list[str],
    deadline: float = DEADLINE,
    environment: dict[str, str] | None = None,
) -> dict[str, Any]:
    before = arena.facts()
    ran = arena.commands.run(arguments, arena.photos, deadline=deadline, environment=environment)
    after = arena.facts()
    what = [*_changes(before, after), *_faults(ran)]
    return {
        "family": family,
        "case": case,
        "verb": verb,
        "code": ran.code,
        "seconds": ran.seconds,
        "megabytes": ran.megabytes,
        "problems": [f"{family}: {case[:80]}: {verb}: {text}" for text in what],
    }


def _changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    gone = [f"{name} is gone" for name in before.keys() - after.keys()]
    new = [f"{name} was made" for name in after.keys() - before.keys()]
    other = [f"{name} was changed" for name, fact in before.items() if after.get(name, fact) != fact]
    return sorted([*gone, *new, *other])[:5]


def _faults(ran: Ran) -> list[str]:
    found = []
    if ran.code is None:
        found.append(f"still running after {ran.seconds:.0f} s")
    elif ran.code not in (0, 1):  # 2: the suite itself used the command wrongly, and nothing was tried
        found.append(f"ended with {ran.code}: {ran.err[-200:]!r}")
    if "unexpected error (" in ran.err:
        found.append(f"an error that nobody thought of: {ran.err.strip().splitlines()[-1][:300]!r}")
    if "Traceback" in ran.err or "Traceback" in ran.out:
        found.append(f"a traceback: {ran.err.strip().splitlines()[-1][:200]!r}")
    errors = [line for line in ran.err.splitlines() if line.startswith("tagloom: ")]
    if ran.code == 1 and not ran.out.strip() and (len(errors) != 1 or len(errors[0]) > 2000):
        found.append(f"{len(errors)} lines of error: {ran.err[:300]!r}")
    if "\x1b]0;" in ran.out + ran.err or "\a" in ran.out + ran.err:
        found.append("control characters reached the terminal")
    if ran.megabytes > MEMORY_MB:
        found.append(f"{ran.megabytes:.0f} MB")
    return found


def _families(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    names = dict.fromkeys((row["kind"], row["family"]) for row in rows)
    return [
        {
            "kind": kind,
            "family": family,
            "n_cases": len({row["case"] for row in mine}),
            "n_verbs": len({row["verb"] for row in mine}),
            "n_runs": len(mine),
            "n_refused": sum(row["code"] not in (0, None) for row in mine),
            "n_violations": sum(bool(row["problems"]) for row in mine),
            "longest": round(max(row["seconds"] for row in mine), 1),
            "largest_mb": round(max(row["megabytes"] for row in mine)),
        }
        for kind, family in names
        for mine in [[row for row in rows if (row["kind"], row["family"]) == (kind, family)]]
    ]
