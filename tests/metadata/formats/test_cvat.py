"""The published description: docs.cvat.ai, "XML annotation format", version 1.1, annotation mode."""

import os

import pytest
from lxml import etree

from tagloom.core.keywords import Keyword
from tagloom.core.statements import PhotoKeywords, Statement
from tagloom.exceptions import LabelsFileError
from tagloom.metadata.formats import ReadOptions, export_keywords, read_statements

SEA, SAND = Keyword.flat("sea"), Keyword.flat("sand")
PHOTOS = [b"a.jpg", b"b.jpg"]


def _read(tmp_path, text, **options):
    path = tmp_path / "annotations.xml"
    path.write_bytes(text.encode())
    return read_statements(path, PHOTOS, options=ReadOptions(**options))


def test_the_file_is_cvat(tmp_path):
    photos = [
        PhotoKeywords(b"a.jpg", 4, 3, (Keyword.parse('A|<"B">'),), ((SEA, 0.5),)),
        PhotoKeywords(b"b.jpg", 4, 3, (), (), (SEA,)),
    ]
    report = export_keywords(photos, tmp_path / "annotations.xml", format="cvat")
    assert report.warnings == ("1 rejected keywords are not written: CVAT cannot store them",)
    assert report.n_rejected == 0
    root = etree.parse(tmp_path / "annotations.xml").getroot()
    assert [child.tag for child in root] == ["version", "meta", "image", "image"]
    assert root.findtext("version") == "1.1"
    assert root.findtext("meta/task/mode") == "annotation"
    assert root.findtext("meta/task/size") == "2"
    declared = {label.findtext("name"): label for label in root.iterfind("meta/task/labels/label")}
    assert [image.get("id") for image in root.iterfind("image")] == ["0", "1"]
    assert dict(root.find("image").attrib) == {"id": "0", "name": "a.jpg", "width": "4", "height": "3"}
    tags = list(root.iter("tag"))
    assert [(tag.get("label"), tag.get("source")) for tag in tags] == [('A|<"B">', "manual"), ("sea", "auto")]
    for tag in tags:
        names = {
            attribute.findtext("name") for attribute in declared[tag.get("label")].iterfind("attributes/attribute")
        }
        assert {attribute.get("name") for attribute in tag} <= names
    assert tags[1].findtext("attribute") == "0.5"


def test_tags_and_shapes(tmp_path):
    text = (
        '<annotations><version>1.1</version><meta/><image id="0" name="a.jpg"><tag label="sea" source="manual"/>'
        '<box label="sand" xtl="0" ytl="0" xbr="1" ybr="1"><attribute name="x">y</attribute></box>'
        '<tag label="sky" source="auto"/></image><image id="1" name="b.jpg"/></annotations>'
    )
    assert _read(tmp_path, text).statements == (Statement(b"a.jpg", (SEA, SAND)),)
    assert _read(tmp_path, text, count_empty=True).statements[1] == Statement(b"b.jpg", ())
    asked = _read(tmp_path, text, include_suggested=True)
    assert set(asked.statements[0].yes) == {SEA, SAND, Keyword.flat("sky")}


def test_images_that_cannot_be_understood(tmp_path):
    text = (
        '<annotations>\n<image id="0"/>\n<image name="a.jpg">\n<tag/>\n<tag label=" "/><tag label="sea"/></image>\n<x'
    )
    reading = _read(tmp_path, text)
    assert reading.statements == (Statement(b"a.jpg", (SEA,)),)
    assert [line.split(":")[0].removeprefix("annotations.xml, ") for line in reading.problems] == [
        "line 2",
        "line 4",
        "line 3",
        "line 6",
    ]


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><annotations><image name="a.jpg"><tag label="&x;"/>'
        "</image></annotations>",
        '<!DOCTYPE a [<!ENTITY x "yyyyyyyyyy"><!ENTITY z "&x;&x;&x;&x;&x;&x;&x;&x;">]><annotations><image name="&z;"/>'
        "</annotations>",
        '<!DOCTYPE annotations SYSTEM "http://example.org/x.dtd"><annotations/>',
        "<html/>",
    ],
)
def test_declarations_and_other_documents_are_refused(tmp_path, text):
    with pytest.raises(LabelsFileError, match=r"document type declaration|expected <annotations>"):
        _read(tmp_path, text)


def test_deep_nesting_is_told(tmp_path):
    reading = _read(tmp_path, "<annotations><image name='a.jpg'>" + "<x>" * 100_000)
    assert reading.statements == ()
    assert len(reading.problems) == 1


def test_what_is_no_file(tmp_path):
    with pytest.raises(LabelsFileError, match="no file at"):
        read_statements(tmp_path / "annotations.xml", PHOTOS)
    os.mkfifo(tmp_path / "annotations.xml")
    with pytest.raises(LabelsFileError, match="is a named pipe; expected a file"):
        read_statements(tmp_path / "annotations.xml", PHOTOS)
