"""The published description: cocodataset.org, "Data format"; LVIS for ``neg_category_ids``."""

import json

import pytest

from tagloom.core.keywords import Keyword
from tagloom.core.statements import PhotoKeywords, Statement
from tagloom.exceptions import LabelsFileError
from tagloom.metadata.formats import ReadOptions, export_keywords, read_statements

CAT, DOG = Keyword.flat("cat"), Keyword.flat("dog")
PHOTOS = [b"a.jpg", b"b.jpg", b"c.jpg"]


def _read(tmp_path, document, **options):
    path = tmp_path / "coco.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document, indent=1), encoding="utf-8")
    return read_statements(path, PHOTOS, options=ReadOptions(**options))


def test_the_file_is_coco(tmp_path):
    photos = [
        PhotoKeywords(b"a.jpg", 4, 3, (Keyword.parse("pets|cat"), DOG), ((Keyword.flat("sky"), 0.5),)),
        PhotoKeywords(b"b.jpg", 0, 0, (DOG,), (), (CAT,)),
        PhotoKeywords(b"c.jpg", 8, 6, (), ()),
    ]
    export_keywords(photos, tmp_path / "coco.json", format="coco")
    coco = json.loads((tmp_path / "coco.json").read_text("utf-8"))
    assert set(coco) == {"info", "licenses", "images", "annotations", "categories"}
    images = {image["id"]: image for image in coco["images"]}
    categories = {category["id"]: category for category in coco["categories"]}
    assert len(images) == len(photos)
    assert len({category["name"] for category in coco["categories"]}) == len(categories) == 4
    assert sorted(annotation["id"] for annotation in coco["annotations"]) == [1, 2, 3, 4]
    for annotation in coco["annotations"]:
        assert annotation["image_id"] in images
        assert annotation["category_id"] in categories
        assert annotation["attributes"]["source"] == ("suggested" if "score" in annotation else "accepted")
    assert {(c["name"], c["supercategory"]) for c in coco["categories"]} >= {("pets|cat", "pets"), ("dog", "")}
    assert [(i.get("width"), i.get("height")) for i in coco["images"]] == [(4, 3), (None, None), (8, 6)]
    assert [categories[i]["name"] for i in coco["images"][1]["neg_category_ids"]] == ["cat"]


def test_nothing_at_all(tmp_path):
    export_keywords([], tmp_path / "coco.json", format="coco")
    coco = json.loads((tmp_path / "coco.json").read_text("utf-8"))
    assert (coco["images"], coco["annotations"], coco["categories"]) == ([], [], [])


def test_objects_make_their_category_present(tmp_path):
    document = {
        "annotations": [
            {"id": 1, "image_id": 7, "category_id": 18, "bbox": [0, 0, 1, 1], "area": 1, "iscrowd": 0},
            {"id": 2, "image_id": 7, "category_id": 18, "bbox": [1, 1, 1, 1], "area": 1, "iscrowd": 1},
        ],
        "images": [{"id": 7, "file_name": "a.jpg"}, {"id": 8, "file_name": "b.jpg", "neg_category_ids": [18]}],
        "categories": [{"id": 18, "name": "dog", "supercategory": "animal"}],
    }
    assert _read(tmp_path, document).statements == (Statement(b"a.jpg", (DOG,)), Statement(b"b.jpg", (), (DOG,)))


def test_an_image_without_annotations_counts_only_if_asked(tmp_path):
    document = {"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": [], "categories": []}
    assert _read(tmp_path, document).statements == ()
    assert _read(tmp_path, document, count_empty=True).statements == (Statement(b"a.jpg", ()),)


def test_what_does_not_fit_is_told_with_its_line(tmp_path):
    document = {
        "images": [
            {"id": 1, "file_name": "a.jpg"},
            {"id": "2", "file_name": "b.jpg"},
            {"id": 3},
            "x",
            {"id": 1, "file_name": "c.jpg"},
        ],
        "annotations": [
            {"image_id": 1, "category_id": 1},
            {"image_id": 1, "category_id": 9},
            {"image_id": 9, "category_id": 1},
            {"image_id": None},
        ],
        "categories": [{"id": 1, "name": "dog"}, {"id": 2, "name": 3}],
    }
    text = '{"images": [\n' + ",\n".join(json.dumps(item) for item in document["images"])
    text += '],\n"annotations": [' + ",\n".join(json.dumps(item) for item in document["annotations"])
    text += '],\n"categories": ' + json.dumps(document["categories"]) + "}"
    reading = _read(tmp_path, text)
    assert reading.statements == (Statement(b"a.jpg", (DOG,)),)
    told = {line.split(":")[0].removeprefix("coco.json, ") for line in reading.problems}
    assert told == {f"line {number}" for number in (3, 4, 5, 6, 8, 9, 10, 11)}


def test_an_empty_file(tmp_path):
    with pytest.raises(LabelsFileError, match="is empty; expected a JSON document"):
        _read(tmp_path, " ")


def test_a_file_that_breaks_off(tmp_path):
    text = (
        '{"categories": [{"id": 1, "name": "dog"}], "images": [{"id": 1, "file_name": "a.jpg"}],\n"annotations": [{"a'
    )
    reading = _read(tmp_path, text)
    assert reading.statements == ()
    assert "coco.json, line 2: expected JSON" in reading.problems[0]
