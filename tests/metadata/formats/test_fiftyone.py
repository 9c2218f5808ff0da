"""The published description: FiftyOneImageClassificationDataset in FiftyOne's user guide."""

import json

import pytest

from tagloom.core.keywords import Keyword
from tagloom.core.statements import PhotoKeywords, Statement
from tagloom.exceptions import LabelsFileError, WriteError
from tagloom.metadata.formats import ExportOptions, ReadOptions, export_keywords, read_statements

SEA, SAND = Keyword.flat("sea"), Keyword.flat("sand")
PHOTOS = [b"p/a.jpg", b"p/b.jpg", b"c.jpg"]


def _read(tmp_path, document, name="labels.json", **options):
    (tmp_path / name).write_text(json.dumps(document, indent=1), encoding="utf-8")
    return read_statements(tmp_path / name, PHOTOS, options=ReadOptions(**options))


def test_the_two_files(tmp_path):
    photos = [
        PhotoKeywords(b"a.jpg", 4, 3, (Keyword.parse("A|B"),), ((SEA, 0.5),), (SAND,)),
        PhotoKeywords(b"a.png", 4, 3, (), ()),
        PhotoKeywords(b"caf\xe9.png", 4, 3, (SEA,), ()),
    ]
    options = ExportOptions(photo_root="/photos")
    report = export_keywords(photos, tmp_path / "out", format="fiftyone", options=options)
    labels = json.loads((tmp_path / "out/labels.json").read_text("utf-8"))
    data = json.loads((tmp_path / "out/data.json").read_text("utf-8"))
    assert set(labels["labels"]) == set(data)
    assert [data[key] for key in labels["labels"]] == ["/photos/a.jpg", "/photos/a.png", "/photos/bytes://caf%E9.png"]
    assert not any("." in key for key in data)
    assert list(labels["labels"].values())[:2] == [
        [
            {"label": "A|B", "attributes": {"source": "accepted"}},
            {"label": "sea", "confidence": 0.5, "attributes": {"source": "suggested"}},
        ],
        None,
    ]
    assert labels["classes"] is None
    assert len(report.warnings) == 1


def test_targets_as_fiftyone_writes_them(tmp_path):
    document = {
        "classes": ["sea", "sand"],
        "labels": {"a": 0, "p/b": ["sand", {"label": 0}], "c": {"label": "sea", "confidence": 0.5}, "d": None},
    }
    reading = _read(tmp_path, document)
    assert reading.statements == (Statement(b"p/a.jpg", (SEA,)), Statement(b"p/b.jpg", (SAND, SEA)))
    assert reading.n_suggested == 1


def test_samples_of_a_whole_dataset(tmp_path):
    document = {
        "samples": [
            {
                "filepath": "/home/me/p/a.jpg",
                "truth": {
                    "_cls": "Classifications",
                    "classifications": [{"_cls": "Classification", "label": "sea", "confidence": None}],
                },
                "guess": {"_cls": "Classification", "label": "sand", "confidence": 0.9},
                "boxes": {"_cls": "Detections", "detections": []},
            },
            {"filepath": 3},
            {"filepath": "/home/me/c.jpg", "truth": None},
        ]
    }
    reading = _read(tmp_path, document, "samples.json")
    assert reading.statements == (Statement(b"p/a.jpg", (SEA,)),)
    assert len(reading.problems) == 1
    asked = _read(tmp_path, document, "samples.json", column="guess", include_suggested=True)
    assert asked.statements == (Statement(b"p/a.jpg", (SAND,)),)


def test_an_export_keeps_its_photos_in_a_folder_of_its_own(tmp_path):
    document = {
        "samples": [{"filepath": "data/c.jpg", "tags": ["sea"]}, {"filepath": "data/p/a.jpg", "tags": ["sand"]}]
    }
    found = (Statement(b"c.jpg", (SEA,)), Statement(b"p/a.jpg", (SAND,)))
    assert _read(tmp_path, document, "samples.json").statements == found
    (tmp_path / "data.json").write_text(json.dumps({"one": "data/c.jpg"}), encoding="utf-8")
    assert _read(tmp_path, {"labels": {"one": "sea"}}).statements == found[:1]


def test_labels_that_cannot_be_understood(tmp_path):
    reading = _read(tmp_path, {"classes": ["sea"], "labels": {"a": 1, "c": [{"label": None}, True, ""]}})
    assert reading.statements == ()
    assert len(reading.problems) == 4


@pytest.mark.parametrize("text", ["[", "[]"])
def test_a_broken_manifest(tmp_path, text):
    (tmp_path / "data.json").write_text(text, encoding="utf-8")
    with pytest.raises(LabelsFileError, match=r"data\.json"):
        _read(tmp_path, {"labels": {"a": "sea"}})


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "out").write_text("a file", encoding="utf-8")
    with pytest.raises(WriteError, match="could not"):
        export_keywords([], tmp_path / "out", format="fiftyone")
