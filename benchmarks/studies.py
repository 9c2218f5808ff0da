"""Studies of a reproduction: what is no table of scores, such as a simulation or what a model has selected.

``[[studies]]`` of experiment.toml names a function ``(experiment, **parameters)`` that returns a dictionary of plain
JSON values: ``tables``, a list of ``{"caption", "header", "rows"}``, and ``panels``, a list of figures
``{"title", "x_label", "y_label", "log_x", "x", "lines", "dotted", "marks"}`` (lines and dotted: values by label, a
list or one number; marks: places on x by label), or with ``series`` in place of the last three: by label a pair of
means and deviations (None without), drawn with error bars. Panels with ``regions`` are pictures of the plane, see
`benchmarks.regions`.

Results are kept in ``studies.json`` beside ``results.json``; a study is run again when its function's name, its
parameters or the experiment's seed change, or with ``--fresh``.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.clock import measure
from benchmarks.errors import DataMissingError
from benchmarks.experiment import Experiment, Study
from benchmarks.methods import find
from benchmarks.results import digest, environment, write_json

FORMAT = 1


def run_studies(
    experiment: Experiment, *, names: tuple[str, ...] = (), fresh: bool = False, say: Callable[[str], None] = print
) -> None:
    """Run what is not there yet; each finished study is written at once.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    names : tuple of str
        Only these; empty: all.
    fresh : bool
        Run also what is there already.
    say : function
        Receives one line per study.
    """
    path = _path(experiment)
    for study in experiment.studies:
        known = finished_studies(experiment)
        if (names and study.name not in names) or (study.name in known and not fresh):
            continue
        try:
            with measure() as elapsed:
                found = find(study.function)(experiment, **study.parameters)
        except DataMissingError as error:
            say(f"study {study.name}: data missing: {error}")
            continue
        record = {"key": _key(experiment, study), "cpu": round(elapsed.cpu, 2), "environment": environment()}
        write_json(path, {"format": FORMAT, "studies": _stored(path) | {study.name: record | {"result": found}}})
        say(f"study {study.name}: {elapsed.cpu:.1f} CPU s")


def finished_studies(experiment: Experiment) -> dict[str, dict[str, Any]]:
    """Return the records of the studies as they are asked for now: result, CPU seconds, environment."""
    stored = _stored(_path(experiment))
    return {
        study.name: stored[study.name]
        for study in experiment.studies
        if stored.get(study.name, {}).get("key") == _key(experiment, study)
    }


def _path(experiment: Experiment) -> Path:
    return experiment.folder / "studies.json"


def _stored(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    studies: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["studies"]
    return studies


def _key(experiment: Experiment, study: Study) -> str:
    return digest([study.function, study.parameters, experiment.seed])
