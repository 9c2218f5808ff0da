import os

import pytest

from tagloom.exceptions import InvalidInputError


def test_runs(store):
    first = store.runs.start("train", {"method": "SFSS", "n": 3})
    second = store.runs.start("scan", {})
    store.runs.end(first, {"seconds": 1.5})
    runs = store.runs.all()
    assert [(run.id, run.kind, run.settings, run.result) for run in runs] == [
        (second, "scan", {}, None),
        (first, "train", {"method": "SFSS", "n": 3}, {"seconds": 1.5}),
    ]
    assert runs[1].ended >= runs[1].started
    assert [run.id for run in store.runs.all("train")] == [first]
    assert len(store.runs.all(limit=1)) == 1
    with pytest.raises(InvalidInputError, match="no run"):
        store.runs.end(99, {})
    with pytest.raises(InvalidInputError, match="finite"):
        store.runs.start("x", {"x": float("inf")})


def test_imports(store):
    batch = store.decisions.decide(1, 1, 1, origin="imported")
    name = os.fsdecode(b"labels-\xff.csv")
    store.runs.record_import(name, "no", "abc", batch=batch)
    store.runs.record_import("keywords", "unknown", "def")
    first, second = store.runs.imports()
    assert (first.source, first.absent_means, first.digest, first.batch) == (name, "no", "abc", batch)
    assert (second.absent_means, second.batch) == ("unknown", None)


def test_settings(store):
    assert store.settings.get("threshold", 0.5) == 0.5
    store.settings.set("threshold", 0.7)
    store.settings.set("names", ["ü", None])
    assert store.settings.all() == {"threshold": 0.7, "names": ["ü", None]}
    store.settings.set("threshold", None)
    assert store.settings.get("threshold") is None
