import random
from pathlib import Path

import pytest
from lxml import etree

from tagloom.core.keywords import Keyword
from tagloom.exceptions import MetadataError
from tagloom.metadata import xmp_tree
from tagloom.metadata.xmp_fields import FIELDS, HIERARCHICAL, SUBJECT, TAGS_LIST, absorb
from tagloom.metadata.xmp_read import read_xmp
from tagloom.metadata.xmp_tree import parse_xmp
from tests.metadata.damage import damaged

SIDECARS = Path(__file__).parent / "sidecars"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
NAMESPACES = " ".join(f'xmlns:{each.prefix}="{each.namespace}"' for each in FIELDS)


def packet(content: str, attributes: str = "") -> bytes:
    return (
        f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="{RDF}"><rdf:Description rdf:about="" {NAMESPACES} '
        f"{attributes}>{content}</rdf:Description></rdf:RDF></x:xmpmeta>"
    ).encode()


def texts(data: bytes) -> list[str]:
    return [keyword.text for keyword in read_xmp(data)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("darktable", ["Animals|heron", "lake"]),
        ("lightroom", ["Places|Europe|France|Paris", "rain & wind"]),
        ("digikam", ["Orte", "Orte|Café", "日本|京都"]),
        ("exiftool", ["O'Neill", "sea"]),
        ("odd", ["<second> & third", "Single|Text", "first", "from an attribute", "qualified"]),
    ],
)
def test_sidecars_of_other_programs(name, expected):
    assert texts((SIDECARS / f"{name}.xmp").read_bytes()) == expected


def test_fields_are_read_as_another_parser_reads_them():
    paths = {of: f".//{{{RDF}}}RDF/{{{RDF}}}Description/{{{of.namespace}}}{of.name}//{{{RDF}}}li" for of in FIELDS}
    for name in ("darktable", "lightroom", "digikam", "exiftool"):
        data = (SIDECARS / f"{name}.xmp").read_bytes()
        tree, root = parse_xmp(data), etree.fromstring(data)
        assert {of: tree.items(of) for of in FIELDS} == {
            of: [li.text for li in root.findall(paths[of])] for of in FIELDS
        }


@pytest.mark.parametrize("array", ["Bag", "Seq", "Alt"])
@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_every_field_in_every_array(field, array):
    name = f"{field.prefix}:{field.name}"
    data = packet(f"<{name}><rdf:{array}><rdf:li> cat </rdf:li><rdf:li/><rdf:li>  </rdf:li></rdf:{array}></{name}>")
    assert texts(data) == ["cat"]


def test_union_keeps_hierarchy_and_absorbs_levels():
    data = packet(
        "<dc:subject><rdf:Bag><rdf:li>A</rdf:li><rdf:li>B</rdf:li><rdf:li>D</rdf:li></rdf:Bag></dc:subject>"
        "<lr:hierarchicalSubject><rdf:Bag><rdf:li>A|B</rdf:li></rdf:Bag></lr:hierarchicalSubject>"
        "<digiKam:TagsList><rdf:Seq><rdf:li>/A/B</rdf:li><rdf:li>A/B/C</rdf:li><rdf:li>E</rdf:li></rdf:Seq></digiKam:TagsList>"
    )
    assert texts(data) == ["A|B", "A|B|C", "D", "E"]


def test_absorb():
    cat, animals, both = Keyword.flat("cat"), Keyword.flat("Animals"), Keyword(("Animals", "cat"))
    assert absorb([cat, cat], ["cat"]) == (cat,)
    assert absorb([both], ["cat", "Animals", "Animals|cat", "Animals/cat"]) == (both,)
    assert absorb([both], ["Cat"]) == (both, Keyword.flat("Cat"))
    # In a field with levels a flat keyword was meant as such.
    assert absorb([cat, both, animals]) == (animals, both, cat)


def test_a_root_tag_with_the_name_of_a_level_is_read():
    flat = (
        "<dc:subject><rdf:Bag><rdf:li>Italy</rdf:li><rdf:li>Places</rdf:li><rdf:li>Rome</rdf:li></rdf:Bag></dc:subject>"
    )
    lr = "<lr:hierarchicalSubject><rdf:Bag>{}<rdf:li>Places|Italy|Rome</rdf:li></rdf:Bag></lr:hierarchicalSubject>"
    assert texts(packet(flat + lr.format(""))) == ["Places|Italy|Rome"]
    assert texts(packet(flat + lr.format("<rdf:li>Rome</rdf:li>"))) == ["Places|Italy|Rome", "Rome"]


def test_separators_of_fields():
    keyword = Keyword(("a/b", "c"))
    assert (SUBJECT.text(keyword), HIERARCHICAL.text(keyword), TAGS_LIST.text(keyword)) == ("c", "a/b|c", "a\\b/c")
    assert HIERARCHICAL.text(Keyword(("a|b", "c"))) == "a/b|c"
    assert TAGS_LIST.text(Keyword(("a|b", "c"))) == "a|b/c"
    assert HIERARCHICAL.keyword("||") is None
    assert SUBJECT.keyword("a|b") == Keyword.flat("a|b")


MORE = (
    'xmlns:mwg-kw="http://www.metadataworkinggroup.com/schemas/keywords/" '
    'xmlns:mwg-rs="http://www.metadataworkinggroup.com/schemas/regions/" '
    'xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/" xmlns:MP="http://ns.microsoft.com/photo/1.2/" '
    'xmlns:MPRI="http://ns.microsoft.com/photo/1.2/t/RegionInfo#" '
    'xmlns:MPReg="http://ns.microsoft.com/photo/1.2/t/Region#" '
    'xmlns:MicrosoftPhoto="http://ns.microsoft.com/photo/1.0/" xmlns:acdsee="http://ns.acdsee.com/iptc/1.0/" '
    'xmlns:mediapro="http://ns.iview-multimedia.com/mediapro/1.0/"'
)


def more(inner: str) -> list[str]:
    return texts(packet(inner).replace(b"<rdf:Description ", f"<rdf:Description {MORE} ".encode(), 1))


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (
            "<Iptc4xmpExt:PersonInImage><rdf:Bag><rdf:li>Ann Smith</rdf:li></rdf:Bag></Iptc4xmpExt:PersonInImage>",
            ["Ann Smith"],
        ),
        (
            '<mwg-rs:Regions rdf:parseType="Resource"><mwg-rs:RegionList><rdf:Bag>'
            '<rdf:li><rdf:Description mwg-rs:Name="Ann" mwg-rs:Type="Face"><mwg-rs:Area/></rdf:Description></rdf:li>'
            '<rdf:li rdf:parseType="Resource"><mwg-rs:Name>Rex</mwg-rs:Name><mwg-rs:Type>Pet</mwg-rs:Type></rdf:li>'
            '<rdf:li><rdf:Description mwg-rs:Name="point" mwg-rs:Type="Focus"/></rdf:li>'
            '<rdf:li><rdf:Description mwg-rs:Name="" mwg-rs:Type="Face"/></rdf:li>'
            "</rdf:Bag></mwg-rs:RegionList></mwg-rs:Regions>",
            ["Ann", "Rex"],
        ),
        (
            '<MP:RegionInfo rdf:parseType="Resource"><MPRI:Regions><rdf:Bag>'
            '<rdf:li MPReg:PersonDisplayName="Ann" MPReg:Rectangle="0.1, 0.1, 0.2, 0.2"/>'
            "</rdf:Bag></MPRI:Regions></MP:RegionInfo>",
            ["Ann"],
        ),
        (
            '<mwg-kw:Keywords rdf:parseType="Resource"><mwg-kw:Hierarchy><rdf:Bag><rdf:li rdf:parseType="Resource">'
            "<mwg-kw:Keyword>Animals</mwg-kw:Keyword><mwg-kw:Children><rdf:Bag>"
            '<rdf:li mwg-kw:Keyword="Cat"/><rdf:li mwg-kw:Keyword="Dog" mwg-kw:Applied="False"/>'
            "</rdf:Bag></mwg-kw:Children></rdf:li></rdf:Bag></mwg-kw:Hierarchy></mwg-kw:Keywords>",
            ["Animals|Cat"],
        ),
        (
            "<MicrosoftPhoto:LastKeywordXMP><rdf:Bag><rdf:li>A/B</rdf:li></rdf:Bag></MicrosoftPhoto:LastKeywordXMP>",
            ["A|B"],
        ),
        ("<mediapro:CatalogSets><rdf:Bag><rdf:li>A|B</rdf:li></rdf:Bag></mediapro:CatalogSets>", ["A|B"]),
        (
            '<acdsee:categories>&lt;Categories&gt;&lt;Category Assigned="0"&gt;A&lt;Category Assigned="1"&gt;B'
            "&lt;/Category&gt;&lt;/Category&gt;&lt;/Categories&gt;</acdsee:categories>",
            ["A|B"],
        ),
        ("<acdsee:categories>&lt;Categories&gt;&lt;broken</acdsee:categories>", []),
        ("<acdsee:categories>&lt;!DOCTYPE a [&lt;!ENTITY b 'c'&gt;]&gt;&lt;Categories/&gt;</acdsee:categories>", []),
    ],
)
def test_people_and_other_fields_are_read(inner, expected):
    assert more(inner) == expected
    assert more(inner.replace("<rdf:li", " <rdf:li")) == expected


def test_a_namespace_without_its_last_slash_as_exiftool_writes_it():
    inner = "<MicrosoftPhoto:LastKeywordXMP><rdf:Bag><rdf:li>A/B</rdf:li></rdf:Bag></MicrosoftPhoto:LastKeywordXMP>"
    declared = 'xmlns:MicrosoftPhoto="http://ns.microsoft.com/photo/1.0"'
    assert texts(packet(inner.replace(">", f" {declared}>", 1))) == ["A|B"]


def test_a_person_who_is_a_tag_with_levels_is_no_second_tag():
    person = "<Iptc4xmpExt:PersonInImage><rdf:Bag><rdf:li>Ann</rdf:li></rdf:Bag></Iptc4xmpExt:PersonInImage>"
    tagged = "<digiKam:TagsList><rdf:Seq><rdf:li>People/Ann</rdf:li></rdf:Seq></digiKam:TagsList>"
    assert more(person + tagged) == ["People|Ann"]


def test_properties_of_other_things_in_the_packet_are_not_keywords():
    inner = "<dc:subject><rdf:Bag><rdf:li>no</rdf:li></rdf:Bag></dc:subject>"
    data = packet(f'<foreign:x xmlns:foreign="urn:f"><rdf:Description>{inner}</rdf:Description></foreign:x>')
    assert texts(data) == []


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "iso-8859-1", "windows-1252"])
def test_encodings(encoding):
    text = (
        (SIDECARS / "darktable.xmp")
        .read_text("utf-8")
        .replace("lake", "lac é")
        .replace("UTF-8", encoding.removesuffix("-sig"))
    )
    if encoding.startswith("utf-16-"):
        text = text.replace(f' encoding="{encoding}"', "")
    assert texts(text.encode(encoding)) == ["Animals|heron", "lac é"]


def test_padding_of_embedded_packets():
    assert texts((SIDECARS / "exiftool.xmp").read_bytes() + bytes(7)) == ["O'Neill", "sea"]


LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {new} "{10 * f"&{old};"}">' for old, new in zip("abcdefgh", "bcdefghi", strict=True))
    + "]>"
)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"cat",
        b"<a/>",
        b"<x:xmpmeta/>",
        packet("<dc:subject>"),
        packet("<nobody:x/>"),
        packet("<dc:subject>&nbsp;</dc:subject>"),
        packet("")[:-1],
        packet("") + b"x",
        packet("\x01"),
        packet("").replace(b"<x:", b"<?xml version='1.0' encoding='utf-7'?><x:", 1),
        packet("").replace(b"<x:", b"<?xml version='1.0' encoding='nonsense'?><x:", 1),
        packet("").replace(b"<x:", b"<?xml version='1.0' encoding='shift_jis'?><x:", 1),
        packet("").decode().encode("utf-32"),
        b"<?xml version='1.0' encoding='utf-8'?><!DOCTYPE x SYSTEM 'http://127.0.0.1/x'>" + packet(""),
        b"<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>" + packet("<dc:subject>&e;</dc:subject>"),
        LAUGHS.encode() + packet("<dc:subject>&i;</dc:subject>"),
        LAUGHS.encode("utf-16") + packet("<dc:subject>&i;</dc:subject>").decode().encode("utf-16-le"),
        b"<a>" * 100_000,
        packet("<dc:subject>" * 300 + "</dc:subject>" * 300),
    ],
)
def test_what_cannot_be_read_is_one_clear_error(data):
    with pytest.raises(MetadataError, match="expected"):
        read_xmp(data)


def test_sizes_have_limits(monkeypatch):
    with pytest.raises(MetadataError, match="16 MiB"):
        read_xmp(b" " * (xmp_tree.LARGEST_XMP + 1))
    monkeypatch.setattr(xmp_tree, "MOST_ELEMENTS", 50)
    with pytest.raises(MetadataError, match="without end"):
        read_xmp(packet("<dc:subject><rdf:Bag>" + 60 * "<rdf:li>x</rdf:li>" + "</rdf:Bag></dc:subject>"))


def test_long_packets_have_right_positions():
    # The parser takes its input in pieces of a MiB.
    filler = "<!-- é -->" * 150_000
    data = packet(f"{filler}<dc:subject><rdf:Bag><rdf:li>cat</rdf:li></rdf:Bag></dc:subject>")
    (description,) = parse_xmp(data).descriptions
    (element,) = description.children
    assert data[element.start : element.end] == b"<dc:subject><rdf:Bag><rdf:li>cat</rdf:li></rdf:Bag></dc:subject>"
    assert data[element.inside : element.close] == b"<rdf:Bag><rdf:li>cat</rdf:li></rdf:Bag>"


@pytest.mark.parametrize("seed", range(4))
def test_mutations_never_crash(seed):
    generator = random.Random(seed)
    originals = [path.read_bytes() for path in sorted(SIDECARS.glob("*.xmp"))]
    n_read = 0
    for _ in range(300):
        try:
            read_xmp(damaged(generator.choice(originals), generator))
            n_read += 1
        except MetadataError:
            pass
    assert 30 < n_read < 270
