"""Exports of photos and videos: each format says which is which, or keeps them apart as its reader needs it."""

import csv
import importlib
import json

import pytest
from lxml import etree

from tagloom.core.keywords import Keyword
from tagloom.core.statements import PhotoKeywords
from tagloom.metadata.formats import ExportOptions, export_keywords, read_statements

SEA, SAND = Keyword.flat("sea"), Keyword.flat("sand")
NAMES = [b"a.jpg", b"b.jpg", b"trips/clip.MP4"]
SAID = [
    PhotoKeywords(NAMES[0], 4, 3, (SEA,), ()),
    PhotoKeywords(NAMES[1], 4, 3, (), ((SAND, 0.75),)),
    PhotoKeywords(NAMES[2], 4, 3, (SAND,), ((SEA, 0.5),), (Keyword.flat("sky"),)),
]


def statements(path, **options):
    return {one.photo: (one.yes, one.no) for one in read_statements(path, NAMES, **options).statements}


def test_a_table_has_a_column_for_it(tmp_path):
    export_keywords(SAID, tmp_path / "out.csv", format="csv")
    with open(tmp_path / "out.csv", encoding="utf-8", newline="") as file:
        kinds = {row["file"]: row["media_type"] for row in csv.DictReader(file)}
    assert kinds == {"a.jpg": "", "b.jpg": "", "trips/clip.MP4": "video"}
    assert statements(tmp_path / "out.csv")[NAMES[2]] == ((SAND,), (Keyword.flat("sky"),))


def test_parquet_has_a_column_for_it(tmp_path, pyarrow):
    export_keywords(SAID, tmp_path / "out.parquet", format="parquet")
    table = importlib.import_module("pyarrow.parquet")
    assert table.read_table(tmp_path / "out.parquet")["media_type"].to_pylist() == [None, None, "video"]
    assert statements(tmp_path / "out.parquet")[NAMES[2]] == ((SAND,), (Keyword.flat("sky"),))


def test_fiftyone_has_videos_in_a_dataset_of_their_own(tmp_path):
    out = tmp_path / "out"
    report = export_keywords(SAID, out, format="fiftyone", options=ExportOptions(photo_root="/photos"))
    assert [str(path.relative_to(out)) for path in report.files] == [
        "labels.json",
        "data.json",
        "videos/labels.json",
        "videos/data.json",
    ]
    photos, videos = (json.loads((path / "labels.json").read_text("utf-8")) for path in (out, out / "videos"))
    data = json.loads((out / "videos" / "data.json").read_text("utf-8"))
    assert ("media_type" not in photos, videos["media_type"]) == (True, "video")
    assert [len(part["labels"]) for part in (photos, videos)] == [2, 1]
    assert list(data.values()) == ["/photos/trips/clip.MP4"]
    assert list(videos["not_labels"].values()) == [["sky"]]
    assert "a dataset of their own" in report.warnings[0]
    assert report.n_photos == 3
    assert statements(out) == {NAMES[0]: ((SEA,), ()), NAMES[2]: ((SAND,), (Keyword.flat("sky"),))}


def test_fiftyone_without_videos_has_two_files(tmp_path):
    report = export_keywords(SAID[:2], tmp_path / "out", format="fiftyone")
    assert (len(report.files), report.warnings, (tmp_path / "out" / "videos").exists()) == (2, (), False)


def test_label_studio_has_tasks_for_videos(tmp_path):
    report = export_keywords(SAID, tmp_path / "tasks.json", format="label-studio")
    names = ["tasks.json", "tasks.config.xml", "tasks.videos.json", "tasks.videos.config.xml"]
    assert [path.name for path in report.files] == names
    photos, videos = (json.loads((tmp_path / name).read_text("utf-8")) for name in (names[0], names[2]))
    assert [task["data"].get("image") for task in photos] == [
        f"/data/local-files/?d={name}" for name in ("a.jpg", "b.jpg")
    ]
    (task,) = videos
    assert task["data"]["video"] == "/data/local-files/?d=trips/clip.MP4"
    assert (task["data"]["media_type"], "image" in task["data"]) == ("video", False)
    view = etree.parse(tmp_path / names[3]).getroot()
    video, taxonomy = view.find("Video"), view.find("Taxonomy")
    assert (video.get("name"), video.get("value"), taxonomy.get("toName")) == ("video", "$video", "video")
    for result in (*task["annotations"][0]["result"], *task["predictions"][0]["result"]):
        assert (result["from_name"], result["to_name"]) == (taxonomy.get("name"), "video")
    assert "a second project" in report.warnings[0]
    assert statements(tmp_path / names[2]) == {NAMES[2]: ((SAND,), (Keyword.flat("sky"),))}


def test_cvat_is_for_photos(tmp_path):
    report = export_keywords(SAID, tmp_path / "out.xml", format="cvat")
    images = etree.parse(tmp_path / "out.xml").getroot().findall("image")
    assert [(image.get("id"), image.get("name")) for image in images] == [("0", "a.jpg"), ("1", "b.jpg")]
    assert (report.n_photos, report.warnings) == (2, ("1 video is left out: this format of CVAT is for photos",))


@pytest.mark.parametrize(("format", "file"), [("coco", "out.json"), ("jsonl", "out.jsonl")])
def test_json_says_it(tmp_path, format, file):
    export_keywords(SAID, tmp_path / file, format=format)
    text = (tmp_path / file).read_text("utf-8")
    entries = json.loads(text)["images"] if format == "coco" else [json.loads(line) for line in text.splitlines()]
    assert [entry.get("media_type") for entry in entries] == [None, None, "video"]
