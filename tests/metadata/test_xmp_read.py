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
        ("digikam", ["Orte|Café", "日本|京都"]),
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
    assert absorb([cat, cat]) == (cat,)
    assert absorb([cat, both, animals]) == (both,)
    assert absorb([Keyword.flat("Cat"), both]) == (both, Keyword.flat("Cat"))


def test_separators_of_fields():
    keyword = Keyword(("a/b", "c"))
    assert (SUBJECT.text(keyword), HIERARCHICAL.text(keyword), TAGS_LIST.text(keyword)) == (None, "a/b|c", None)
    assert TAGS_LIST.text(Keyword(("a|b", "c"))) == "a|b/c"
    assert HIERARCHICAL.keyword("||") is None
    assert SUBJECT.keyword("a|b") == Keyword.flat("a|b")


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
