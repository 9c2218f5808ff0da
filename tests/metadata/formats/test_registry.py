from importlib import metadata

import pytest

from tagloom.exceptions import InvalidInputError, LabelsFileError
from tagloom.metadata.formats import (
    ExportReport,
    available_exporters,
    describe_formats,
    detect_export_format,
    detect_format,
    export_keywords,
    get_exporter,
    registry,
)
from tagloom.metadata.formats.registry import get_reader


class Shout:
    name = "shout"
    description = "an exporter of another package"

    def write(self, photos, target, options):
        target.write_text("\n".join(photo.photo.decode().upper() for photo in photos), encoding="utf-8")
        return ExportReport(self.name, (target,), 0, 0, 0, 0)


class Broken:
    name = "broken"

    def __init__(self):
        raise OSError("no licence")


class Half:
    name = "half"


@pytest.fixture
def installed(monkeypatch):
    points = {
        name: metadata.EntryPoint(name, f"{__name__}:{cls.__name__}", registry.ENTRY_POINT_GROUP)
        for name, cls in {"shout": Shout, "broken": Broken, "half": Half, "csv": Shout}.items()
    }
    monkeypatch.setattr(registry, "_entry_points", lambda: points)
    monkeypatch.setattr(metadata.EntryPoint, "load", lambda self: globals()[self.attr])


def test_exporters_of_other_packages(installed, tmp_path):
    assert available_exporters()[-3:] == ("broken", "half", "shout")
    assert export_keywords([], tmp_path / "x", format="shout").format == "shout"
    assert type(get_exporter("csv")).__name__ == "CsvExporter"
    with pytest.raises(InvalidInputError, match="cannot be loaded: OSError: no licence"):
        get_exporter("broken")
    with pytest.raises(InvalidInputError, match="gives a Half, which lacks description, write of"):
        get_exporter("half")
    assert [form.name for form in describe_formats()][-1] == "shout"


def test_each_format_is_described_and_its_exporter_knows_its_name():
    for form in describe_formats():
        assert form.description
        if form.exporter:
            assert get_exporter(form.name).name == form.name
        if form.reader:
            assert callable(get_reader(form.name))


@pytest.mark.parametrize("name", ["imagefolder", "ImageFolder", "yolo-cls", "yolo"])
def test_formats_of_one_label_are_refused_with_the_reason(name):
    with pytest.raises(InvalidInputError, match=r"one label per photo.*Use huggingface, webdataset or csv"):
        get_exporter(name)


def test_an_unknown_format_is_told_with_what_there_is():
    with pytest.raises(InvalidInputError, match=r"no format 'voc' to write; choose one of .*coco"):
        get_exporter("voc")


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("Labels.CSV", "", "csv"),
        ("x.tsv", "", "tsv"),
        ("metadata.csv", "", "huggingface"),
        ("metadata.jsonl", "", "huggingface"),
        ("x.jsonl", "", "jsonl"),
        ("x.parquet", "", "parquet"),
        ("x.tar", "", "webdataset"),
        ("annotations.xml", "", "cvat"),
        ("instances_val2017.json", "", "coco"),
        ("x.json", '{"info": {"a": 1}, "images": [{"id": 1}', "coco"),
        ("x.json", '{"info": {}, "categories": [{}]', "coco"),
        ("x.json", '{"classes": ["a"], "labels": {}}', "fiftyone"),
        ("x.json", '{"samples": [{}]}', "fiftyone"),
        ("x.json", '[{"data": {}}, broken', "label-studio"),
    ],
)
def test_formats_are_told_apart(tmp_path, name, text, format):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert detect_format(tmp_path / name) == format


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("x.csv", "csv"),
        ("X.CSV", "csv"),
        ("metadata.csv", "csv"),
        ("x.tsv", "tsv"),
        ("x.jsonl", "jsonl"),
        ("metadata.jsonl", "huggingface"),
        ("x.parquet", "parquet"),
        ("metadata.parquet", "parquet"),
        ("x.xml", "cvat"),
        ("x.tar", "webdataset"),
        ("instances_val2017.json", "coco"),
    ],
)
def test_the_name_tells_what_to_write(tmp_path, name, format):
    assert detect_export_format(tmp_path / name) == format
    (tmp_path / name).touch()
    assert detect_export_format(tmp_path / name) == format


@pytest.mark.parametrize("name", ["x", "x.json", "x.txt", "."])
def test_other_names_tell_nothing(tmp_path, name):
    with pytest.raises(InvalidInputError, match="cannot tell from the name"):
        detect_export_format(tmp_path / name)


@pytest.mark.parametrize("name", ["x.xlsx", "x.XLS", "x.ods"])
def test_a_spreadsheet_is_to_be_saved_as_csv(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(LabelsFileError, match=r'is a spreadsheet.* Save it as "CSV UTF-8"'):
        detect_format(tmp_path / name)


@pytest.mark.parametrize("text", ["[1]", '{"a": [1]}', "[]", "{", "3"])
def test_other_json_is_not_guessed(tmp_path, text):
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    with pytest.raises(LabelsFileError, match="cannot tell the format"):
        detect_format(tmp_path / "x.json")
