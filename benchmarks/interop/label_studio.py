"""Pre-annotations in a real Label Studio: ``python -m benchmarks.interop.label_studio --server FILE --backend FILE``.

Starts Label Studio and the ML backend of ``connectors/label_studio``, both from environments of their own, and a served
project of all MSRC photos. Tasks come in, and a labeller who knows the truth labels ten photos in the order that Label
Studio gives, presses *Train*, and retrieves predictions for all others: how many of the pre-annotated tags are right?
Then ten more. All of it through Label Studio's API. The truth is never shown to tagloom but by these labels.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote
from xml.sax.saxutils import quoteattr

import numpy as np

from benchmarks.datasets import ROOT, data_folder
from benchmarks.interop.serving import answers, record, running, served, wait_for

BACKEND = ROOT / "connectors" / "label_studio"
N_LABELS = (10, 20)
N_PAGE = 100
TOKEN = "0123456789abcdef0123456789abcdef01234567"  # of a server that lasts as long as this


class LabelStudio:
    """The requests of Label Studio's API that a labeller's page makes."""

    def __init__(self, base: str) -> None:
        self.base = base

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer to a request."""
        request = urllib.request.Request(
            f"{self.base}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=600) as answer:
                data = answer.read()
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.code} {error.read()[:600]!r}") from error
        return json.loads(data) if data and answer.headers.get_content_type() == "application/json" else data


def run(folder: Path, server: str, backend: str, data: Path) -> dict[str, Any]:
    """Return what came of it."""
    from tagloom import Project
    from tagloom.datasets import load_msrc_v2

    known = load_msrc_v2(data, vocabulary=21)
    truth = {
        Path(os.fsdecode(path)).name: {tag for tag, value in zip(known.tags, row, strict=True) if value == 1}
        for path, row in zip(known.paths, known.Y, strict=True)
    }
    photos = folder / "root" / "photos"
    photos.mkdir(parents=True)
    for path in known.paths:
        shutil.copy(os.fsdecode(path), photos)
    os.environ["TAGLOOM_CONFIG"] = str(folder / "config")
    with Project.init(photos) as project:
        project.scan()
        project.extract()
    with served(photos, folder / "config") as (base, token):
        (folder / "token").write_text(token, encoding="ascii")
        told = os.environ | {
            "TAGLOOM_URL": base,
            "TAGLOOM_TOKEN_FILE": str(folder / "token"),
            "TAGLOOM_FOLDER": "photos",
            "TAGLOOM_TRAIN_EVERY": "0",
            "PYTHONPATH": str(ROOT / "src"),
            "PATH": f"{Path(backend).parent}{os.pathsep}{os.environ['PATH']}",
        }
        port = free_port()
        command = [backend, "start", str(BACKEND), "--port", str(port)]
        with running(command, told, folder / "backend.txt"):
            wait_for(lambda: answers(f"http://127.0.0.1:{port}/health"), "the backend does not answer")
            with label_studio(folder, server) as studio:
                return play(studio, f"http://127.0.0.1:{port}", base, token, truth, known.tags)


def label_studio(folder: Path, program: str) -> Any:
    """Start a server on a database of its own; it asks nothing of the network."""
    import contextlib

    @contextlib.contextmanager
    def start() -> Any:
        port = free_port()
        known = os.environ | {
            "LABEL_STUDIO_BASE_DATA_DIR": str(folder / "studio"),
            "LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED": "true",
            "LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT": str(folder / "root"),
            "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
            "LABEL_STUDIO_USERNAME": "labeller@example.org",
            "LABEL_STUDIO_PASSWORD": TOKEN,
            "LABEL_STUDIO_USER_TOKEN": TOKEN,
            "COLLECT_ANALYTICS": "false",
            "LATEST_VERSION_CHECK": "false",
            "SENTRY_DSN": "",
            "ML_BLOCK_LOCAL_IP": "false",  # the backend is on this machine
            "SSRF_PROTECTION_ENABLED": "false",  # and so are its events
        }
        command = [program, "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
        with running(command, known, folder / "studio.txt"):
            wait_for(lambda: answers(f"http://127.0.0.1:{port}/health"), "Label Studio does not answer")
            yield LabelStudio(f"http://127.0.0.1:{port}")

    return start()


def play(
    studio: LabelStudio, backend: str, base: str, token: str, truth: dict[str, set[str]], tags: Any
) -> dict[str, Any]:
    """Label, train and look, as a labeller does."""
    import tagloom

    choices = "".join(f"<Choice value={quoteattr(tag)}/>" for tag in tags)
    choices = f'<Choices name="tags" toName="image" choice="multiple">{choices}</Choices>'
    config = f'<View><Image name="image" value="$image"/>{choices}</View>'
    project = studio.ask(
        "POST", "/api/projects/", {"title": "MSRC", "label_config": config, "sampling": "Uncertainty sampling"}
    )["id"]
    root = {"project": project, "path": str(Path(os.environ["TAGLOOM_CONFIG"]).parent / "root" / "photos")}
    studio.ask("POST", "/api/storages/localfiles/", root | {"title": "photos", "use_blob_urls": True})
    tasks = [{"data": {"image": f"/data/local-files/?d=photos/{quote(name)}"}} for name in truth]
    studio.ask("POST", f"/api/projects/{project}/import", tasks)
    model = studio.ask("POST", "/api/ml/", {"project": project, "url": backend, "title": "tagloom"})["id"]
    with tagloom.connect(base, token) as remote:
        retrieve(studio, project, remote)  # no tag yet, but the order
        order = [remote.photo(number)["name"] for number in remote.next_photos(N_LABELS[0])["ids"]]
        labelled: list[str] = []
        rounds = []
        for n in N_LABELS:
            while len(labelled) < n:
                task = studio.ask("GET", f"/api/projects/{project}/next")
                name = name_of(task)
                if not labelled:  # the labeller sees the photo
                    assert studio.ask("GET", task["data"]["image"])[:2] == b"\xff\xd8"
                result = [choice(sorted(truth[name]))] if truth[name] else []
                studio.ask("POST", f"/api/tasks/{task['id']}/annotations/", {"result": result})
                labelled.append(name)
            wait_for(lambda n=n: remote.status()["progress"]["n_reviewed"] == n, "labels did not arrive")  # type: ignore[misc]
            before = remote.status()["model"]
            studio.ask("POST", f"/api/ml/{model}/train")
            wait_for(lambda before=before: remote.status()["model"] != before, "there is no new model")  # type: ignore[misc]
            retrieve(studio, project, remote)
            found = predictions(studio, project)
            rounds.append(scored(found, truth, labelled, remote.status()))
        kept = {name: {tag["text"] for tag in remote.photo(name)["tags"] if tag["state"] == 1} for name in labelled}
    return {
        "photos": len(truth),
        "tags": len(tags),
        "first ten in tagloom's order": sorted(labelled[: N_LABELS[0]]) == sorted(order),
        "labels as given": kept == {name: truth[name] for name in labelled},
        "rounds": rounds,
    }


def retrieve(studio: LabelStudio, project: int, remote: Any) -> None:
    """Do what *Retrieve Predictions* of the Data Manager does, and choose the version that came in the settings."""
    chosen = {"selectedItems": {"all": True, "excluded": []}, "project": project}
    studio.ask("POST", f"/api/dm/actions?id=retrieve_tasks_predictions&project={project}", chosen)
    model = remote.status()["model"]
    version = "none" if model is None else f"{model['method']} {model['id']}"
    studio.ask("PATCH", f"/api/projects/{project}/", {"model_version": version})


def predictions(studio: LabelStudio, project: int) -> dict[str, dict[str, Any]]:
    """Return the latest prediction for each photo."""
    found: dict[str, dict[str, Any]] = {}
    page, n_known = 1, 1
    while (page - 1) * N_PAGE < n_known:
        some = studio.ask("GET", f"/api/tasks/?project={project}&fields=all&page_size={N_PAGE}&page={page}")
        found |= {
            name_of(task): max(task["predictions"], key=lambda one: int(one["id"]))
            for task in some["tasks"]
            if task["predictions"]
        }
        page, n_known = page + 1, some["total"]
    return found


def scored(
    found: dict[str, dict[str, Any]], truth: dict[str, set[str]], labelled: list[str], status: Any
) -> dict[str, Any]:
    """Compare pre-annotations of the other photos with the truth."""
    rest = [name for name in truth if name not in labelled]
    given = {
        name: {tag for item in found.get(name, {}).get("result", ()) for tag in item["value"]["choices"]}
        for name in rest
    }
    n_given = sum(map(len, given.values()))
    n_right = sum(len(given[name] & truth[name]) for name in rest)
    common = [tag for tag, _ in Counter(tag for name in sorted(labelled) for tag in sorted(truth[name])).most_common()]
    most = common[: max(1, round(n_given / len(rest)))]
    return {
        "labelled": len(labelled),
        "kind": status["kind"],
        "model": status["model"]["method"],
        "versions": sorted({one["model_version"] for one in found.values()}),
        "photos": len(rest),
        "with a pre-annotation": sum(map(bool, given.values())),
        "pre-annotated tags": n_given,
        "accepted": n_right,
        "share accepted": round(n_right / max(n_given, 1), 4),
        "share of the true tags": round(n_right / sum(len(truth[name]) for name in rest), 4),
        "photos right as they are": sum(given[name] == truth[name] for name in rest),
        "share accepted of the most common tags": round(
            float(np.mean([len(set(most) & truth[name]) / len(most) for name in rest])), 4
        ),
    }


def choice(tags: list[str]) -> dict[str, Any]:
    """Return what the labelling page makes of ticked boxes."""
    return {"from_name": "tags", "to_name": "image", "type": "choices", "value": {"choices": tags}}


def name_of(task: dict[str, Any]) -> str:
    """Return the file of a task."""
    return unquote(task["data"]["image"].rpartition("/")[2])


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def version(program: str, package: str) -> str:
    """Return the version of a package beside a program."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    python = Path(program).parent / "python"
    return subprocess.run([str(python), "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def main(argv: list[str] | None = None) -> int:
    """Run the check and record it."""
    parser = argparse.ArgumentParser(prog="benchmarks.interop.label_studio", description=__doc__)
    parser.add_argument("--server", required=True, help="label-studio, in an environment of its own")
    parser.add_argument("--backend", required=True, help="label-studio-ml, in an environment of its own")
    parser.add_argument("--scratch", type=Path, help="keep what the programs write in this folder")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="label-studio-") as scratch:
        folder = arguments.scratch.resolve() if arguments.scratch else Path(scratch)
        found = run(folder, arguments.server, arguments.backend, data_folder("msrc_v2"))
    shares = [
        f"after {one['labelled']} labels {one['share accepted']:.0%} of {one['pre-annotated tags']:,}"
        for one in found["rounds"]
    ]
    usual = found["rounds"][0]["share accepted of the most common tags"]
    record(
        "label_studio",
        "Label Studio ML backend",
        "label-studio-ml start connectors/label_studio",
        {
            "Label Studio": version(arguments.server, "label-studio"),
            "label-studio-ml": version(arguments.backend, "label-studio-ml"),
        },
        "the real server and its API, 591 MSRC photos",
        f"pre-annotated tags that are right: {', '.join(shares)}; of the most common tags {usual:.0%} are",
        **found,
    )
    return 0 if found["labels as given"] else 1


if __name__ == "__main__":
    sys.exit(main())
