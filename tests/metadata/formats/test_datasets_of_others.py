"""Datasets as other programs and public collections have them: told by their content, and read or refused by name."""

import io
import json
import tarfile

import pytest

from tagloom.exceptions import LabelsFileError
from tagloom.metadata.formats import detect_format, read_statements

PHOTOS = [b"a.jpg", b"b.jpg", b"sub/c.png"]


def said(reading):
    return {item.photo.decode(): ([k.text for k in item.yes], [k.text for k in item.no]) for item in reading.statements}


def read(path, text, photos=PHOTOS):
    path.write_text(text, encoding="utf-8")
    return read_statements(path, photos)


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("image,label", "a.jpg,cat\na.jpg,dog\nb.jpg,cat\n"),
        ("filename;class", "a.jpg;cat\na.jpg;dog\nb.jpg;cat\n"),
        ("image_id,labels", "a,cat;dog\nb,cat\n"),
        ("path\tlabel\twidth", "a.jpg\tcat\t3\na.jpg\tdog\t3\nb.jpg\tcat\t3\n"),
    ],
)
def test_tables_with_columns_of_other_names(tmp_path, header, rows):
    reading = read(tmp_path / "train.csv", f"{header}\n{rows}")
    assert reading.format == "csv"
    assert said(reading) == {"a.jpg": (["cat", "dog"], []), "b.jpg": (["cat"], [])}
    assert not reading.problems


def test_columns_of_a_labels_file_come_first(tmp_path):
    reading = read(tmp_path / "labels.csv", "file,tags,label\na.jpg,cat;dog,nobody asked\n")
    assert said(reading) == {"a.jpg": (["cat", "dog"], [])}


def test_a_table_with_two_columns_of_labels_is_refused(tmp_path):
    with pytest.raises(LabelsFileError, match="expected a header"):
        read(tmp_path / "labels.csv", "image,label,class\na.jpg,cat,dog\n")


def test_a_column_for_each_keyword(tmp_path):
    reading = read(
        tmp_path / "_classes.csv", "filename, cat, Animals|Bird,dog\na.jpg, 1, 0,1\nc,0.0,1.0,-1\nb.jpg,,,\n"
    )
    assert reading.format == "one-hot"
    assert said(reading) == {"a.jpg": (["cat", "dog"], ["Animals|Bird"]), "sub/c.png": (["Animals|Bird"], ["cat"])}


def test_a_cell_that_is_neither_is_a_problem(tmp_path):
    reading = read(tmp_path / "t.csv", "image,cat\n" + "a.jpg,1\n" * 30 + "b.jpg,maybe\nb.jpg,1,1\n")
    assert said(reading) == {"a.jpg": (["cat"], [])}
    assert reading.problems == (
        "t.csv, line 32: expected 1, 0 or nothing for each keyword, got 'maybe'",
        "t.csv, line 33: has 3 cells, the header has 2",
    )


def test_numbers_are_no_states(tmp_path):
    with pytest.raises(LabelsFileError, match="expected a header"):
        read(tmp_path / "sizes.csv", "image,width,height\na.jpg,640,480\n")


OPEN_IMAGES = """ImageID,Source,LabelName,Confidence
a,verification,/m/01yrx,1
a,verification,/m/0bt9lr,0
b,machine,/m/01yrx,0.7
sub/c,verification,/m/09,1
"""


@pytest.mark.parametrize(
    "names", ["/m/01yrx,Cat\n/m/0bt9lr,Dog\n", "LabelName,DisplayName\n/m/01yrx,Cat\n/m/0bt9lr,Dog\n"]
)
def test_open_images(tmp_path, names):
    (tmp_path / "class-descriptions-boxable.csv").write_text(names)
    reading = read(tmp_path / "train-annotations-human-imagelabels.csv", OPEN_IMAGES)
    assert reading.format == "open-images"
    assert said(reading) == {"a.jpg": (["Cat"], ["Dog"]), "sub/c.png": (["/m/09"], [])}
    assert reading.n_suggested == 1


def test_open_images_without_names(tmp_path):
    assert said(read(tmp_path / "labels.csv", OPEN_IMAGES))["a.jpg"] == (["/m/01yrx"], ["/m/0bt9lr"])
    reading = read(tmp_path / "labels.csv", "ImageID,LabelName,Confidence\na,x,2\nb,x,?\n")
    assert [line.split(": ")[1][:32] for line in reading.problems] == ["expected a confidence from 0 to "] * 2


VOC = """<?xml version="1.0"?><!-- made by hand -->
<annotation><folder>x</folder><filename>{name}</filename>
<object><name>cat</name><part><name>tail</name></part></object><object><name>dog</name></object><object><name>cat</name>
</object></annotation>"""


@pytest.mark.parametrize("folder", ["Annotations", "."])
def test_pascal_voc(tmp_path, folder):
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "x.xml").write_text(VOC.format(name="a.jpg"))
    (tmp_path / folder / "b.xml").write_text(VOC.format(name=""))
    (tmp_path / folder / "d.xml").write_text("<annotation><object>")
    (tmp_path / folder / "e.xml").write_text('<!DOCTYPE a [<!ENTITY e "x">]><annotation>&e;</annotation>')
    (tmp_path / folder / "f.xml").write_text("<html/>")
    reading = read_statements(tmp_path, PHOTOS)
    assert reading.format == "voc"
    assert said(reading) == {"a.jpg": (["cat", "dog"], []), "b.jpg": (["cat", "dog"], [])}
    assert [line.split(": ")[0].rpartition(" ")[2] for line in reading.problems] == ["'d.xml'", "'e.xml'", "'f.xml'"]
    assert said(read_statements(tmp_path / folder / "x.xml", PHOTOS)) == {"a.jpg": (["cat", "dog"], [])}


def test_yolo_folders(tmp_path):
    for name in ("train/cat/a.jpg", "train/dog/b.jpg", "val/cat/c.jpg", "val/cat/.hidden"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    expected = {"train/cat/a.jpg": (["cat"], []), "train/dog/b.jpg": (["dog"], []), "val/cat/c.jpg": (["cat"], [])}
    inside = read_statements(tmp_path, [name.encode() for name in expected])
    assert (inside.format, said(inside)) == ("yolo-cls", expected)
    elsewhere = read_statements(tmp_path, [b"a.jpg", b"x/train/dog/b.jpg"])
    assert said(elsewhere) == {"a.jpg": (["cat"], []), "x/train/dog/b.jpg": (["dog"], [])}


DATUMARO = {
    "dm_format_version": "1.0",
    "info": {},
    "categories": {
        "label": {"labels": [{"name": "cat", "parent": ""}, {"name": "dog", "parent": ""}], "attributes": []}
    },
    "items": [
        {
            "id": "a",
            "annotations": [{"type": "label", "label_id": 0}, {"type": "bbox", "label_id": 1, "bbox": [0, 0, 1, 1]}],
        },
        {"id": "x", "image": {"path": "b.jpg"}, "annotations": [{"type": "label", "label_id": 1}]},
        {"id": "sub/c", "annotations": [{"type": "caption", "caption": "no label"}, {"type": "label", "label_id": 7}]},
    ],
}


@pytest.mark.parametrize("name", ["default.json", "my_coco.json"])
@pytest.mark.parametrize("without", ["", "dm_format_version"])
def test_datumaro(tmp_path, name, without):
    document = {key: value for key, value in DATUMARO.items() if key != without}
    reading = read(tmp_path / name, json.dumps(document))
    assert reading.format == "datumaro"
    assert said(reading) == {"a.jpg": (["cat", "dog"], []), "b.jpg": (["dog"], [])}
    assert len(reading.problems) == 1


@pytest.mark.parametrize("labels", [7, {}, [7], [{}], None])
def test_datumaro_without_labels(tmp_path, labels):
    reading = read(tmp_path / "x.json", json.dumps(DATUMARO | {"categories": {"label": {"labels": labels}}}))
    assert not reading.statements
    assert reading.problems


def test_captions_are_no_keywords(tmp_path):
    captions = {
        "images": [{"id": 1, "file_name": "a.jpg"}],
        "annotations": [{"id": 1, "image_id": 1, "caption": "A dog on a beach."}],
    }
    with pytest.raises(LabelsFileError, match=r"captions_val\.json holds captions, .* give the file of instances"):
        read(tmp_path / "captions_val.json", json.dumps(captions))


def test_a_video_of_cvat_has_no_photos(tmp_path):
    video = '<annotations><track id="0" label="cat"><box frame="0" outside="0"/></track></annotations>'
    with pytest.raises(LabelsFileError, match="export of a video"):
        read(tmp_path / "annotations.xml", video)


def test_tags_of_samples(tmp_path):
    samples = [
        {"filepath": "/elsewhere/a.jpg", "tags": ["cat", "dog"], "ground_truth": None},
        {"filepath": "/elsewhere/b.jpg", "tags": [], "label": {"_cls": "Classification", "label": "sea"}},
    ]
    (tmp_path / "samples.json").write_text(json.dumps({"samples": samples}))
    reading = read_statements(tmp_path, PHOTOS)
    assert said(reading) == {"a.jpg": (["cat", "dog"], []), "b.jpg": (["sea"], [])}


def shard(path, members):
    with tarfile.open(path, "w") as archive:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


def test_classes_and_texts_of_a_shard(tmp_path):
    shard(tmp_path / "s.tar", {"a.jpg": b"x", "a.cls": b"1", "b.cls": b" big dog\n", "b.txt": b"sea; sand\nsun\n"})
    assert said(read_statements(tmp_path / "s.tar", PHOTOS)) == {
        "a.jpg": (["1"], []),
        "b.jpg": (["big dog", "sea", "sand", "sun"], []),
    }
    (tmp_path / "classnames.txt").write_text("cat\ndog\n")
    assert said(read_statements(tmp_path / "s.tar", PHOTOS))["a.jpg"] == (["dog"], [])
    shard(tmp_path / "s.tar", {"classes.txt": b"one\ntwo\n", "a.cls": b"1"})
    assert said(read_statements(tmp_path / "s.tar", PHOTOS)) == {"a.jpg": (["two"], [])}


def test_a_sentence_in_a_shard_is_no_keyword(tmp_path):
    shard(tmp_path / "s.tar", {"a.txt": b"two dogs that run on a beach in the morning", "b.cls": b"9" * 5000})
    reading = read_statements(tmp_path / "s.tar", PHOTOS)
    assert "expected keywords, got the sentence 'two dogs" in reading.problems[0]


@pytest.mark.parametrize("kind", ["Sequence", "list", "one"])
def test_numbers_of_hugging_face_are_names(tmp_path, kind, pyarrow):
    from pyarrow import parquet

    label = {"names": ["cat", "dog"], "_type": "ClassLabel"}
    feature = {"Sequence": {"feature": label, "_type": "Sequence"}, "list": [label], "one": label}[kind]
    values = [1, 0, -1] if kind == "one" else [[0, 1], [0], []]
    table = pyarrow.table(
        {"image": [{"bytes": b"", "path": name} for name in ("a.jpg", "b.jpg", "c.png")], "fine": values}
    )
    info = {"info": {"features": {"image": {"_type": "Image"}, "fine": feature}}}
    parquet.write_table(table.replace_schema_metadata({"huggingface": json.dumps(info)}), tmp_path / "t.parquet")
    reading = read_statements(tmp_path / "t.parquet", PHOTOS)
    assert said(reading) == (
        {"a.jpg": (["dog"], []), "b.jpg": (["cat"], [])}
        if kind == "one"
        else {"a.jpg": (["cat", "dog"], []), "b.jpg": (["cat"], [])}
    )
    assert not reading.problems


def test_a_folder_of_nothing_names_what_is_looked_for(tmp_path):
    (tmp_path / "train").mkdir()
    with pytest.raises(LabelsFileError, match="name the file to read"):
        detect_format(tmp_path)
