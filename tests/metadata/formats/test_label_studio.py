"""The published description: labelstud.io/guide/task_format and /guide/predictions."""

import json

import pytest
from lxml import etree

from tagloom.core.keywords import Keyword
from tagloom.core.statements import PhotoKeywords, Statement
from tagloom.metadata.formats import ExportOptions, ReadOptions, export_keywords, read_statements

SEA, SAND = Keyword.flat("sea"), Keyword.flat("sand")
PHOTOS = [b"p/a b.jpg", b"b.jpg"]


def _read(tmp_path, tasks, **options):
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks, indent=1), encoding="utf-8")
    return read_statements(path, PHOTOS, options=ReadOptions(**options))


def _result(**value):
    return {"id": "x", "from_name": "t", "to_name": "i", "type": next(iter(value)), "value": value}


def test_tasks_and_configuration(tmp_path):
    photos = [
        PhotoKeywords(b"p/a b.jpg", 4, 3, (Keyword.parse("A|B"),), ((SEA, 0.75), (SAND, 0.5)), (Keyword.flat("sky"),)),
        PhotoKeywords(b"b.jpg", 4, 3, (), ()),
    ]
    options = ExportOptions(model_version="sfss-7")
    report = export_keywords(photos, tmp_path / "tasks.json", format="label-studio", options=options)
    first, second = json.loads((tmp_path / "tasks.json").read_text("utf-8"))
    assert first["data"] == {
        "image": "/data/local-files/?d=p/a%20b.jpg",
        "file": "p/a b.jpg",
        "not_tags": ["sky"],
        "scores": {"sea": 0.75, "sand": 0.5},
    }
    (annotation,), (prediction,) = first["annotations"], first["predictions"]
    assert annotation["result"][0]["value"] == {"taxonomy": [["A", "B"]]}
    assert (prediction["model_version"], prediction["score"]) == ("sfss-7", 0.5)
    assert prediction["result"][0]["value"] == {"taxonomy": [["sea"], ["sand"]]}
    assert second == {"data": {"image": "/data/local-files/?d=b.jpg", "file": "b.jpg"}}
    view = etree.parse(report.files[1]).getroot()
    control = view.find("Taxonomy")
    for result in (*annotation["result"], *prediction["result"]):
        assert (result["from_name"], result["to_name"]) == (control.get("name"), control.get("toName"))
        assert result["type"] == "taxonomy"
    assert view.find("Image").get("name") == control.get("toName")
    offered = {
        tuple(n.get("value") for n in [*reversed(list(c.iterancestors("Choice"))), c]) for c in view.iter("Choice")
    }
    assert offered == {("A",), ("A", "B"), ("sea",), ("sand",)}


@pytest.mark.parametrize(
    "image",
    [
        "/data/local-files/?d=pictures/p/a%20b.jpg",
        "https://example.org/p/a%20b.jpg",
        "s3://bucket/p/a b.jpg",
        "/data/upload/3/0123abcd-a%20b.jpg",
        "p/a b.jpg",
    ],
)
def test_addresses(tmp_path, image):
    tasks = [{"data": {"img": image}, "annotations": [{"result": [_result(choices=["sea"])]}]}]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks), encoding="utf-8")
    assert read_statements(path, PHOTOS).statements == (Statement(b"p/a b.jpg", (SEA,)),)


def test_annotations_count_and_predictions_only_if_asked(tmp_path):
    task = {
        "data": {"image": "b.jpg"},
        "annotations": [
            {"result": [_result(choices=["sea"]), _result(taxonomy=[["A", "B"]])]},
            {"result": [_result(choices=["never"])], "was_cancelled": True},
        ],
        "predictions": [{"result": [_result(choices=["sand"])], "score": 0.5}],
    }
    assert _read(tmp_path, [task]).statements == (Statement(b"b.jpg", (SEA, Keyword.parse("A|B"))),)
    asked = _read(tmp_path, [task], include_suggested=True)
    assert set(asked.statements[0].yes) == {SEA, SAND, Keyword.parse("A|B")}


def test_a_task_that_nobody_did_says_nothing_and_one_without_a_choice_says_none(tmp_path):
    tasks = [
        {"data": {"image": "p/a b.jpg"}, "annotations": []},
        {"data": {"image": "b.jpg"}, "annotations": [{"result": []}]},
    ]
    assert _read(tmp_path, tasks).statements == (Statement(b"b.jpg", ()),)


def test_tasks_that_cannot_be_understood(tmp_path):
    good = {"data": {"image": "b.jpg"}, "annotations": [{"result": [_result(choices=["sea"])]}]}
    bad = [
        {"image": "b.jpg", "choice": "sea"},
        {"data": {}},
        {"data": {"image": "b.jpg"}, "annotations": "x"},
        {"data": {"image": "b.jpg"}, "annotations": [{"result": None}]},
        {
            "data": {"image": "b.jpg"},
            "annotations": [{"result": [3, {"value": {"choices": [3]}}], "was_cancelled": False}],
        },
        7,
    ]
    path = tmp_path / "export.json"
    path.write_text("[" + ",\n".join(json.dumps(task) for task in [*bad, good]) + "]", encoding="utf-8")
    reading = read_statements(path, PHOTOS, format="label-studio")
    assert reading.statements == (Statement(b"b.jpg", (SEA,)),)
    assert [line.split(":")[0] for line in reading.problems] == [
        f"export.json, line {n}" for n in (1, 2, 3, 4, 5, 5, 6)
    ]


def test_a_file_of_another_kind(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"images": [1, 2, 3]}', encoding="utf-8")
    (problem,) = read_statements(path, PHOTOS, format="label-studio").problems
    assert "expected a list of tasks" in problem
