"""Steps of tagloom on a folder of photos, in a process of its own so that any checkout's tagloom can do them.

``PYTHONPATH=<checkout>/src python tagloom_child.py <folder>`` reads a list of steps from its input, as JSON, and prints
the keywords of each photo after the last one.
"""

import inspect
import json
import os
import sys
from typing import Any

from tagloom.core.keywords import Keyword
from tagloom.project.export import photo_keywords
from tagloom.project.project import Project

LIGHT = {"descriptors": "color", "n_workers": 1, "n_threads": 1}


def _text(levels: list[str]) -> str:
    return Keyword(tuple(levels)).text


def _step(project: Project, kind: str, given: Any) -> None:
    if kind == "scan":
        project.scan()
    elif kind == "label":
        for name, (add, remove) in given.items():
            project.label(name, add=[*map(_text, add)], remove=[*map(_text, remove)])
    elif kind == "rename":
        project.rename_tag(_text(given[0]), _text(given[1]))
    elif kind == "import":
        project.import_from_photos()
    elif kind == "write":
        known = inspect.signature(Project.write).parameters  # an older tagloom does not know every option
        result = project.write(**{name: value for name, value in given.items() if name in known})
        failed = [f"{item.photo!r}: {item.problem}" for item in result.files if item.status == "failed"]
        if failed:
            print("\n".join(failed), file=sys.stderr)
    else:
        raise ValueError(kind)


def main() -> None:
    """Do the steps."""
    folder = sys.argv[1]
    is_new = not os.path.isdir(os.path.join(folder, ".tagloom"))
    with Project.init(folder, flags=LIGHT) if is_new else Project.open(folder, flags=LIGHT) as project:
        for kind, given in json.load(sys.stdin):
            _step(project, kind, given)
        found = {
            os.fsdecode(said.photo): [list(keyword.path) for keyword in said.accepted]
            for _, said in photo_keywords(project.store, None, accepted_only=True, threshold=None)
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
