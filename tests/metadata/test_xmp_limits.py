"""XMP that would take far more memory or time than it has bytes is refused, before a tree is made of it."""

import io
import tracemalloc
import zlib

import pytest

from tagloom.core.keywords import Keyword
from tagloom.exceptions import MetadataError
from tagloom.metadata import xmp_tree
from tagloom.metadata.embedded import find_blocks
from tagloom.metadata.iptc import read_iptc
from tagloom.metadata.sidecar_plan import plan_sidecar
from tagloom.metadata.xmp_fields import FIELDS, RDF
from tagloom.metadata.xmp_read import read_xmp
from tagloom.metadata.xmp_tree import parse_xmp

NAMESPACES = " ".join(f'xmlns:{each.prefix}="{each.namespace}"' for each in FIELDS)


def packet(content: str, attributes: str = "") -> bytes:
    return (
        f'<rdf:RDF xmlns:rdf="{RDF}"><rdf:Description rdf:about="" {NAMESPACES} {attributes}>{content}'
        f"</rdf:Description></rdf:RDF>"
    ).encode()


def long_namespace(n_characters: int, n_names: int) -> bytes:
    names = "".join(f"<n:a{number}/>" for number in range(n_names))
    return packet(names, f'xmlns:n="{"x" * n_characters}"')


def many_attributes(n_characters: int, n_names: int) -> bytes:
    names = " ".join(f'n:a{number}=""' for number in range(n_names))
    return packet("", f'xmlns:n="{"x" * n_characters}" {names}')


HOSTILE = {
    "one long namespace": long_namespace(700_000, 40_000),
    "a long namespace in attributes": many_attributes(700_000, 40_000),
    "a namespace used without end": many_attributes(900, 100_000),
    "namespaces without end": packet("".join(f'<a{n}:b xmlns:a{n}="u{n}"/>' for n in range(25_000))),
    "in two bytes a character": b"\xff\xfe" + long_namespace(30_000, 10_000).decode().encode("utf-16-le"),
    "in another alphabet": b"\x4c\x6f\xa7\x94\x93" + '<?xml version="1.0" encoding="cp037"?><a/>'.encode("cp037"),
    "declared as another alphabet": b'<?xml version="1.0" encoding="utf-7"?>' + packet(""),
    "elements without end": packet("<dc:x/>" * 600_000),
    "keywords without end": packet("<dc:subject>" + "<rdf:li>a</rdf:li>" * 150_000 + "</dc:subject>"),
    "lines without end": packet("<dc:subject>" + "\n" * 1_000_000 + "</dc:subject>"),
}


@pytest.mark.medium
@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_packet_is_refused_in_little_memory(case):
    tracemalloc.start()
    try:
        with pytest.raises(MetadataError) as refused:
            read_xmp(HOSTILE[case])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "\n" not in str(refused.value)
    assert peak < 300 << 20


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_sidecar_is_not_written_to(case):
    with pytest.raises(MetadataError):
        plan_sidecar(HOSTILE[case], add=[Keyword.flat("cat")])


def test_a_packet_of_many_names_is_still_read():
    history = "".join(f'<rdf:li d:n="{number}" d:params="{"ab" * 20}"/>' for number in range(20_000))
    data = packet(
        "<dc:subject><rdf:Bag><rdf:li>cat</rdf:li></rdf:Bag></dc:subject>"
        f'<d:history xmlns:d="http://darktable.sf.net/"><rdf:Seq>{history}</rdf:Seq></d:history>'
    )
    assert [keyword.text for keyword in read_xmp(data)] == ["cat"]


def test_a_namespace_is_held_once():
    tree = parse_xmp(packet("<dc:subject><rdf:Bag><rdf:li>a</rdf:li><rdf:li>b</rdf:li></rdf:Bag></dc:subject>"))
    bag = tree.descriptions[0].children[0].children[0]
    assert bag.name[0] is tree.rdf.name[0]
    assert bag.children[0].name is bag.children[1].name


def test_positions_do_not_depend_on_the_pieces_that_are_parsed(monkeypatch):
    data = packet("<dc:subject>\n<rdf:Bag> <rdf:li>a&amp;b</rdf:li>\n<rdf:li>ü</rdf:li></rdf:Bag></dc:subject>")
    whole = plan_sidecar(data, add=[Keyword.flat("cat")], remove=[Keyword.flat("ü")]).after
    for size in (1, 7, 64):
        monkeypatch.setattr(xmp_tree, "_CHUNK", size)
        assert plan_sidecar(data, add=[Keyword.flat("cat")], remove=[Keyword.flat("ü")]).after == whole


def test_blanks_inside_a_tag_are_passed_once():
    # In quadratic time this would take hours.
    data = packet("", 'dc:subject="dog"' + " " * 1_000_000)
    plan = plan_sidecar(data, add=[Keyword.flat("cat")])
    assert [keyword.text for keyword in plan.kept] == ["dog"]


def test_a_compressed_packet_is_not_inflated_without_end():
    text = zlib.compress(b" " * (xmp_tree.LARGEST_XMP + 1), 9)
    chunk = b"iTXtXML:com.adobe.xmp\0\1\0\0\0" + text
    png = b"\x89PNG\r\n\x1a\n" + (len(chunk) - 4).to_bytes(4, "big") + chunk + b"\0\0\0\0"
    assert find_blocks(io.BytesIO(png)).xmp == b""


def test_segments_of_a_photo_are_not_collected_without_end():
    segment = b"\xff\xed\xff\xff" + b"Photoshop 3.0\0".ljust(0xFFFD, b"\0")
    photo = io.BytesIO(b"\xff\xd8" + segment * 2000)
    tracemalloc.start()
    try:
        assert find_blocks(photo).iptc == b""
        assert tracemalloc.get_traced_memory()[1] < 200 << 20
    finally:
        tracemalloc.stop()


def test_many_small_fields_of_iptc_are_read_in_linear_time():
    block = b"\x1c\x02\x05\x00\x01a" * 150_000 + b"\x1c\x02\x19\x00\x03cat"
    assert [keyword.text for keyword in read_iptc(block)] == ["cat"]
