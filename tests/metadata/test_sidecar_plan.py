import random
import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

from tagloom.core.keywords import Keyword
from tagloom.exceptions import InvalidInputError, MetadataError
from tagloom.metadata.sidecar_plan import describe, plan_sidecar
from tagloom.metadata.xmp_fields import FIELDS, WRITTEN, is_programs_own
from tagloom.metadata.xmp_read import Stated, read_xmp
from tagloom.metadata.xmp_tree import parse_xmp
from tests.metadata.damage import damaged

SIDECARS = Path(__file__).parent / "sidecars"
REAL = ("darktable", "lightroom", "digikam", "exiftool")
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
OURS = re.compile(
    rb"\s*<(dc:subject|lr:hierarchicalSubject|digiKam:TagsList|MicrosoftPhoto:LastKeywordXMP|mediapro:CatalogSets)\b.*?</\1>"
    rb'|\s*acdsee:categories="[^"]*"',
    re.DOTALL,
)
SEA, HERON = Keyword.flat("sea"), Keyword(("Animals", "heron"))
ALPS = Keyword(("Places", "Alps"))


def sidecar(name: str) -> bytes:
    return (SIDECARS / f"{name}.xmp").read_bytes()


def fields(data: bytes) -> dict[str, list[str]]:
    tree = parse_xmp(data)
    return {of.name: tree.items(of) for of in WRITTEN}


def wrapped(inner: str, declared: str = f'xmlns:rdf="{RDF}"') -> bytes:
    return f'<x:xmpmeta xmlns:x="adobe:ns:meta/">\n <rdf:RDF {declared}>{inner}</rdf:RDF>\n</x:xmpmeta>\n'.encode()


def is_level(text: str) -> bool:
    try:
        Keyword.flat(text)
    except InvalidInputError:
        return False
    return True


levels = st.one_of(
    st.text(min_size=1, max_size=30),
    st.text("ab|/\\,;\"'<>&é猫 ]", min_size=1, max_size=8),
    st.sampled_from(["x" * 1000, "é" * 1000, "]]>", "&amp;", "<!--", "A", "B", "C"]),
).filter(is_level)
keywords = st.lists(levels, min_size=1, max_size=4).map(lambda path: Keyword(tuple(path)))


def unclear_keywords(plan, some):
    """Return the keywords that a plan leaves out by name: only where two kinds of separators stand in names."""
    named = [note for note in plan.notes if "is not written: beside" in note]
    unclear = {each for each in some if any(note.startswith(f"{each.text!r} is") for note in named)}
    separators = [set("|/\\") & set("".join(each.path)) for each in some]
    assert not unclear or len(set().union(*separators)) > 1
    assert all(set("|/\\") & set("".join(each.path)) for each in unclear)
    return unclear


@settings(deadline=None)
@example([Keyword(("darktable", "0")), SEA])
@example([Keyword(("darktable", "0"))])
@example([Keyword(("/", "\\", "|"))])
@example([Keyword(("a/b|c",)), Keyword(("/|", "|/"))])
@given(st.lists(keywords, max_size=6))
def test_what_is_written_is_read(some):
    plan = plan_sidecar(None, add=some)
    unclear = unclear_keywords(plan, some)
    expected = tuple(sorted({keyword for keyword in some if not is_programs_own(keyword)} - unclear))
    if not expected:
        assert plan.after is None
        return
    assert read_xmp(plan.after) == plan.added == expected
    assert not plan_sidecar(plan.after, add=expected).changes


def test_keywords_that_no_field_can_tell_apart_are_named():
    confusing, clear = Keyword(("/|", "|/")), Keyword(("a/b",))
    plan = plan_sidecar(None, add=[confusing, clear, Keyword(("a/b|c",)), SEA])
    assert read_xmp(plan.after) == plan.added
    assert {SEA, clear} <= set(plan.added)
    assert any("rename the tag" in note for note in plan.notes)


@pytest.mark.parametrize(
    ("branch", "keyword"),
    [
        ("darktable", Keyword(("darktable", "format"))),
        ("darktable", Keyword.flat("darktable/x")),
        ("tagloom|suggested", Keyword(("tagloom", "suggested", "dog"))),
        ("tagloom|rejected", Keyword.flat("tagloom|rejected|Animals|Dog")),
    ],
)
def test_programs_keep_their_branches_for_themselves(branch, keyword):
    plan = plan_sidecar(None, add=[keyword])
    assert not plan.changes
    assert "for its own use" in plan.notes[0]
    assert plan_sidecar(None, add=[Keyword.parse(branch)]).changes  # a name as good as any


@pytest.mark.parametrize("name", [*(pytest.param(name, marks=pytest.mark.medium) for name in REAL), "odd"])
@settings(deadline=None, max_examples=60)
@given(add=st.lists(keywords, max_size=4), data=st.data())
def test_adding_and_removing_in_real_sidecars(name, add, data):
    before = sidecar(name)
    there = read_xmp(before)
    remove = data.draw(st.lists(st.sampled_from(there), max_size=3))
    remove = [keyword for keyword in remove if keyword not in add]
    plan = plan_sidecar(before, add=add, remove=remove)
    found = read_xmp(plan.after)
    assert found == tuple(sorted({*plan.added, *plan.kept}))
    assert set(plan.removed) == set(there) - set(found)
    assert set(add) - unclear_keywords(plan, add) <= set(found)
    assert not set(remove) & set(found)
    if plan.changes:
        assert etree.fromstring(plan.after) is not None
    else:
        assert plan.after == before


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("remove_all", [False, True])
def test_every_byte_outside_the_fields_stays(name, newline, remove_all):
    before = sidecar(name).replace(b"\n", newline.encode())
    remove = read_xmp(before) if remove_all else read_xmp(before)[:1]
    for add in ((SEA, ALPS), ()):
        plan = plan_sidecar(before, add=set(add) - set(remove), remove=set(remove) - set(add))
        assert plan.changes
        assert OURS.sub(b"", plan.after) == OURS.sub(b"", before)
        assert plan.after.count(b"\n") == plan.after.count(newline.encode())


@pytest.mark.parametrize("name", REAL)
def test_items_that_stay_keep_their_bytes(name):
    before = sidecar(name)
    after = plan_sidecar(before, add=[ALPS]).after
    # ACDSee's categories are one value, which changes as a whole.
    kept = [line for line in before.splitlines() if b"acdsee:categories" not in line]
    # What came lies in whole new lines.
    lines = after.splitlines()
    for line in kept:
        lines.remove(line)
    parts = (b"<rdf:li>", b"TagsList", b"rdf:Bag", b"rdf:Seq", b"lr:hier", b"acdsee:categories")
    assert all(any(part in line for part in parts) for line in lines)


def test_adding_then_removing_gives_the_same_bytes():
    before = plan_sidecar(None, add=[SEA, HERON]).after
    during = plan_sidecar(before, add=[ALPS]).after
    assert plan_sidecar(during, remove=[ALPS]).after == before


def test_new_items_look_like_their_neighbours():
    after = plan_sidecar(sidecar("darktable"), add=[SEA]).after.decode()
    assert "     <rdf:li>lake</rdf:li>\n     <rdf:li>sea</rdf:li>\n    </rdf:Bag>\n   </dc:subject>" in after
    # A field that was missing gets all keywords, and its own declaration.
    assert (
        '   <digiKam:TagsList xmlns:digiKam="http://www.digikam.org/ns/1.0/">\n    <rdf:Seq>\n     <rdf:li>Animals/'
        in after
    )
    assert fields(after.encode())["TagsList"] == ["Animals/heron", "lake", "sea"]


def test_a_list_stays_the_kind_of_list_it_is():
    after = plan_sidecar(sidecar("digikam"), add=[SEA]).after.decode()
    assert "<rdf:li>日本/京都</rdf:li>\n     <rdf:li>sea</rdf:li>\n    </rdf:Seq>\n   </digiKam:TagsList>" in after


def test_odd_forms():
    before = sidecar("odd")
    plan = plan_sidecar(before, add=[SEA], remove=[Keyword.flat("<second> & third"), Keyword(("Single", "Text"))])
    assert [keyword.text for keyword in read_xmp(plan.after)] == ["first", "from an attribute", "qualified", "sea"]
    text = plan.after.decode()
    for kept in (
        'dc:subject="not ours"',
        "<li>not ours either</li>",
        "<!-- <li>x</li> -->",
        "<?keep  this ?>",
        "<purl:x>y</purl:x>",
    ):
        assert kept in text
    assert "purl:subject='from an attribute'" not in text
    assert "from an attribute</li>" in text
    assert "Single" not in text


def test_a_field_without_keywords_goes_as_a_whole():
    plan = plan_sidecar(sidecar("exiftool"), remove=read_xmp(sidecar("exiftool")))
    assert plan.after == OURS.sub(b"", sidecar("exiftool"))


SELF_CLOSING = '\n  <rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:Rating="3" />\n '
PLAIN = f'\n  <rdf:Description xmlns:dc="{FIELDS[0].namespace}" rdf:about="">%s</rdf:Description>\n '


@pytest.mark.parametrize(
    ("inner", "keywords_before"),
    [
        ("", []),
        ("\n ", []),
        (SELF_CLOSING, []),
        (SELF_CLOSING.replace('"3" ', '"3"'), []),
        (SELF_CLOSING + SELF_CLOSING, []),
        (SELF_CLOSING.replace(" />", "></rdf:Description>"), []),
        (SELF_CLOSING.replace(" />", f' xmlns:dc="{FIELDS[0].namespace}" dc:subject="one &amp; two"/>'), ["one & two"]),
        (PLAIN % "<dc:subject/>", []),
        (PLAIN % "<dc:subject></dc:subject>", []),
        (PLAIN % "<dc:subject>cat</dc:subject>", ["cat"]),
        (PLAIN % "<dc:subject><rdf:Bag/></dc:subject>", []),
        (PLAIN % "<dc:subject><rdf:Bag /></dc:subject>", []),
        (PLAIN % "\n   <dc:subject>\n    <rdf:Bag>\n    </rdf:Bag>\n   </dc:subject>\n  ", []),
        (PLAIN % "<dc:subject><rdf:Bag><rdf:li>cat</rdf:li></rdf:Bag></dc:subject>", ["cat"]),
        (PLAIN % "<!-- c --><dc:subject><rdf:Alt><rdf:li>a</rdf:li><rdf:li>a</rdf:li></rdf:Alt></dc:subject>", ["a"]),
        (PLAIN % "<dc:subject><rdf:Bag><!-- none --></rdf:Bag></dc:subject>", []),
        ((PLAIN % "<dc:subject>a</dc:subject>") + (PLAIN % "<dc:subject>b</dc:subject>"), ["a", "b"]),
        ('<rdf:Description rdf:about="" xmlns:dc="urn:other" dc:title="t"/>', []),
        (
            f'<rdf:Description rdf:about="" xmlns="{FIELDS[0].namespace}"><subject>cat</subject></rdf:Description>',
            ["cat"],
        ),
    ],
)
def test_every_form_of_description_and_field(inner, keywords_before):
    before = wrapped(inner)
    assert [keyword.text for keyword in read_xmp(before)] == keywords_before
    plan = plan_sidecar(before, add=[SEA, HERON])
    expected = sorted([*keywords_before, "Animals|heron", "sea"])
    assert sorted(keyword.text for keyword in read_xmp(plan.after)) == expected
    found = fields(plan.after)
    flat = sorted([*keywords_before, "Animals", "heron", "sea"])
    assert sorted(set(found["subject"])) == flat
    assert sorted(set(found["hierarchicalSubject"])) == expected
    assert sorted(set(found["TagsList"])) == [text.replace("|", "/") for text in expected]
    # The field is an array now, once: other readers expect that.
    root = etree.fromstring(plan.after)
    assert len(root.findall(f".//{{{FIELDS[2].namespace}}}TagsList/{{{RDF}}}Seq")) == 1
    assert not root.xpath("//@*[local-name()='subject']")
    # And everything can go again.
    emptied = plan_sidecar(plan.after, remove=read_xmp(plan.after))
    assert read_xmp(emptied.after) == ()
    assert not any(fields(emptied.after).values())


def test_a_description_in_one_tag_is_opened_and_nothing_else():
    after = plan_sidecar(wrapped(SELF_CLOSING), add=[SEA]).after
    gone = re.sub(rb"\s*<(dc|lr|digiKam):(\w+) xmlns.*?</\1:\2>", b"", after, flags=re.DOTALL)
    assert gone == wrapped(SELF_CLOSING.replace("/>", ">\n  </rdf:Description>"))


def test_prefixes_that_mean_something_else():
    declared = f'xmlns:rdf="{RDF}" xmlns:dc="urn:a" xmlns:lr="urn:b" xmlns:digiKam="urn:c"'
    after = plan_sidecar(wrapped('<rdf:Description rdf:about="" dc:x="1"/>', declared), add=[SEA]).after
    assert read_xmp(after) == (SEA,)
    assert etree.fromstring(after).xpath("//@*[namespace-uri()='urn:a']") == ["1"]
    odd = f'<dc:RDF xmlns:dc="{RDF}"><dc:Description dc:about=""/></dc:RDF>'.encode()
    assert read_xmp(plan_sidecar(odd, add=[SEA]).after) == (SEA,)


def test_rdf_as_the_default_namespace():
    for inner in ("", "<Description/>"):
        after = plan_sidecar(f'<RDF xmlns="{RDF}">{inner}</RDF>'.encode(), add=[SEA, ALPS]).after
        assert read_xmp(after) == (ALPS, SEA)
    assert read_xmp(plan_sidecar(f'<r:RDF xmlns:r="{RDF}" />'.encode(), add=[SEA]).after) == (SEA,)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "iso-8859-1", "windows-1252"])
def test_encodings_stay(encoding):
    name = {"utf-8-sig": "UTF-8", "utf-16-be": "UTF-16"}.get(encoding, encoding)
    text = sidecar("darktable").decode().replace("UTF-8", name)
    before = text.encode(encoding)
    if encoding == "utf-16-be":
        before = b"\xfe\xff" + before
    plan = plan_sidecar(before, add=[Keyword(("Länder", "日本"))], remove=[Keyword.flat("lake")])
    assert [keyword.text for keyword in read_xmp(plan.after)] == ["Animals|heron", "Länder|日本"]
    decoded = plan.after.decode(encoding).removeprefix("\ufeff")
    assert OURS.sub(b"", decoded.encode()) == OURS.sub(b"", text.encode())
    assert plan.after[:2] == before[:2]


def test_removing_takes_levels_along_but_not_what_others_need():
    start = plan_sidecar(None, add=[Keyword(("A", "B")), Keyword(("A", "C")), Keyword.flat("D")]).after
    plan = plan_sidecar(start, remove=[Keyword(("A", "B"))])
    assert fields(plan.after)["subject"] == ["A", "C", "D"]
    assert plan.removed == (Keyword(("A", "B")),)
    assert plan.kept == (Keyword(("A", "C")), Keyword.flat("D"))
    # A name that is there as a level only cannot go alone.
    assert not plan_sidecar(start, remove=[Keyword.flat("C")]).changes
    # What another program stated on its own stays when the keyword below it goes.
    left = plan_sidecar(sidecar("digikam"), remove=[Keyword(("Orte", "Café"))])
    assert [keyword.text for keyword in read_xmp(left.after)] == ["Orte", "日本|京都"]
    assert left.added == ()


def test_removing_one_branch_adds_nothing():
    plan = plan_sidecar(sidecar("digikam"), remove=[Keyword.flat("Orte")])
    assert fields(plan.after)["subject"] == ["Café", "Orte", "京都"]  # Orte is a level of the other one
    plan = plan_sidecar(sidecar("digikam"), remove=[Keyword.flat("Orte"), Keyword(("Orte", "Café"))])
    assert fields(plan.after)["subject"] == ["京都"]
    assert not any(change.added for change in plan.fields)


def test_a_root_tag_with_the_name_of_a_level_goes_both_ways():
    rome, root = Keyword(("Places", "Italy", "Rome")), Keyword.flat("Rome")
    both = plan_sidecar(plan_sidecar(None, add=[rome]).after, add=[root])
    assert both.added == (root,)
    found = fields(both.after)
    assert (found["hierarchicalSubject"], found["TagsList"]) == (
        ["Rome", "Places|Italy|Rome"],  # in this order, or else digiKam takes the root for the level
        ["Rome", "Places/Italy/Rome"],
    )
    assert [change.removed for change in both.fields] == [(), ()]
    assert fields(plan_sidecar(None, add=[rome, root, SEA]).after)["TagsList"] == ["Rome", "Places/Italy/Rome", "sea"]
    assert read_xmp(both.after) == (rome, root)
    without = plan_sidecar(both.after, remove=[root])
    assert (read_xmp(without.after), fields(without.after)["subject"]) == ((rome,), ["Italy", "Places", "Rome"])
    without = plan_sidecar(both.after, remove=[rome])
    assert (read_xmp(without.after), fields(without.after)["subject"]) == ((root,), ["Rome"])


def test_fields_that_digikam_reads_besides_are_kept_in_step():
    before = sidecar("digikam")
    plan = plan_sidecar(before, add=[SEA], remove=[Keyword(("Orte", "Café"))])
    found = fields(plan.after)
    assert found["LastKeywordXMP"] == ["Orte", "日本/京都", "sea"]
    assert found["CatalogSets"] == ["Orte", "日本|京都", "sea"]
    assert found["categories"] == [
        '<Categories><Category Assigned="1">Orte</Category><Category Assigned="1">sea</Category>'
        '<Category Assigned="0">日本<Category Assigned="1">京都</Category></Category></Categories>'
    ]
    changed = {change.label: (change.added, change.removed) for change in plan.fields}
    assert changed["acdsee:categories"] == (("sea",), ("Orte/Café",))
    assert changed["MicrosoftPhoto:LastKeywordXMP"] == (("sea",), ("Orte/Café",))
    # With the last keyword they all go, and none is made where it was not.
    emptied = plan_sidecar(before, remove=read_xmp(before)).after
    assert not any(fields(emptied).values())
    assert b"categories" not in emptied
    new = fields(plan_sidecar(None, add=[SEA]).after)
    assert [name for name, items in new.items() if items] == ["subject", "hierarchicalSubject", "TagsList"]


def test_categories_in_an_element():
    text = "&lt;Categories>&lt;Category Assigned=&quot;1&quot;>A &amp;amp; B&lt;/Category>&lt;/Categories>"
    inner = f'<acdsee:categories xmlns:acdsee="http://ns.acdsee.com/iptc/1.0/">{text}</acdsee:categories>'
    plan = plan_sidecar(wrapped(PLAIN % inner), add=[SEA])
    assert read_xmp(plan.after) == (Keyword.flat("A & B"), SEA)
    assert b"acdsee:categories" not in plan_sidecar(plan.after, remove=read_xmp(plan.after)).after


def test_separators_inside_levels():
    some = [
        Keyword.flat("a|b"),
        Keyword.flat("c/d"),
        Keyword(("e|f", "g")),
        Keyword(("h/i", "j")),
        Keyword(("k|l", "m/n")),
    ]
    plan = plan_sidecar(None, add=some)
    found = fields(plan.after)
    assert read_xmp(plan.after) == tuple(sorted(some))
    # No field lacks a keyword: what separates levels there has a stand-in, for "/" that of digiKam.
    assert sorted(found["hierarchicalSubject"]) == ["a/b", "c/d", "e/f|g", "h/i|j", "k/l|m/n"]
    assert sorted(found["TagsList"]) == ["a|b", "c\\d", "e|f/g", "h\\i/j", "k|l/m\\n"]
    assert sorted(found["subject"]) == ["a|b", "c/d", "e|f", "g", "h/i", "j", "k|l", "m/n"]
    assert len(plan.notes) == 6
    assert not plan_sidecar(plan.after, add=some).changes
    left = plan_sidecar(plan.after, remove=some[3:])
    assert left.removed == tuple(sorted(some[3:]))
    assert sorted(fields(left.after)["TagsList"]) == ["a|b", "c\\d", "e|f/g"]
    both = [Keyword.flat("x/y"), Keyword.flat("x|y"), Keyword.flat("x\\y")]
    assert read_xmp(plan_sidecar(None, add=both).after) == tuple(sorted(both))


def test_nothing_to_do():
    assert plan_sidecar(None) == plan_sidecar(None, remove=[SEA])
    assert not plan_sidecar(None).changes
    before = sidecar("lightroom")
    # Keywords that are there in any field are there: a sidecar is not rewritten to complete others.
    plan = plan_sidecar(before, add=read_xmp(before), remove=[SEA])
    assert plan.after is before
    assert not plan.changes
    assert describe(plan, "x.xmp") == "x.xmp: no change (2 keywords)"


@pytest.mark.parametrize("blank", [b"", b"\n", bytes(4)])
def test_a_blank_sidecar_becomes_a_new_one(blank):
    plan = plan_sidecar(blank, add=[SEA])
    assert plan.before is blank
    assert plan.after == plan_sidecar(None, add=[SEA]).after


def test_contradictions_are_refused():
    with pytest.raises(InvalidInputError, match="both for 'sea'"):
        plan_sidecar(None, add=[SEA], remove=[SEA])


def test_fields_that_are_not_understood_are_left_alone():
    odd = wrapped(PLAIN % '<dc:subject rdf:parseType="Resource"><dc:x>1</dc:x></dc:subject>')
    assert not plan_sidecar(odd, remove=[SEA]).changes
    with pytest.raises(MetadataError, match="dc:subject"):
        plan_sidecar(odd, add=[SEA])


def test_describe():
    plan = plan_sidecar(sidecar("darktable"), add=[SEA, Keyword.flat("a|b")], remove=[Keyword.flat("lake")])
    assert describe(plan, "IMG.CR2.xmp").splitlines() == [
        "IMG.CR2.xmp: changed, 2 added, 1 removed, 1 kept",
        r"  + a\|b",
        "  + sea",
        "  - lake",
        r"  ('a\\|b' is written to lr:hierarchicalSubject as 'a/b': '|' separates levels there)",
        "  dc:subject: + a|b  + sea  - lake",
        "  lr:hierarchicalSubject: + a/b  + sea  - lake",
        "  digiKam:TagsList: + Animals/heron  + a|b  + sea",
    ]
    shown = describe(plan, lines=True)
    assert "\n-     <rdf:li>lake</rdf:li>\n" in shown
    assert "\n+     <rdf:li>sea</rdf:li>\n" in shown


@pytest.mark.parametrize("seed", range(5))
def test_damaged_sidecars_are_refused_or_changed_well(seed):
    generator = random.Random(seed)
    originals = [path.read_bytes() for path in sorted(SIDECARS.glob("*.xmp"))]
    n_changed = 0
    for _ in range(200):
        before = damaged(generator.choice(originals), generator)
        try:
            plan = plan_sidecar(before, add=[SEA, ALPS], remove=[HERON, Keyword.flat("lake")])
        except MetadataError:
            continue
        n_changed += 1
        etree.fromstring(plan.after, etree.XMLParser(resolve_entities=False, recover=False))
        assert {SEA, ALPS} <= set(read_xmp(plan.after))
    assert 20 < n_changed < 180


OF_DARKTABLE = wrapped(
    '<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:lr="http://ns.adobe.com/lightroom/1.0/"><dc:subject><rdf:Bag><rdf:li>lake</rdf:li>'
    "<rdf:li>Animals|heron</rdf:li></rdf:Bag></dc:subject><lr:hierarchicalSubject><rdf:Bag>"
    "<rdf:li>darktable|format|nef</rdf:li><rdf:li>Animals|heron</rdf:li></rdf:Bag></lr:hierarchicalSubject>"
    "</rdf:Description>"
)


def test_what_darktable_wrote_for_itself_stays_where_it_is():
    found = fields(plan_sidecar(OF_DARKTABLE, add=[SEA], remove=[Keyword.flat("lake"), Keyword.flat("nef")]).after)
    assert found["hierarchicalSubject"] == ["darktable|format|nef", "Animals|heron", "sea"]
    assert sorted(found["subject"]) == ["Animals", "Animals|heron", "heron", "sea"]
    assert sorted(found["TagsList"]) == ["Animals/heron", "sea"]


def test_a_removed_keyword_does_not_stay_as_a_flat_text():
    plan = plan_sidecar(OF_DARKTABLE, remove=[HERON])
    assert plan.removed == (HERON,)
    assert HERON not in read_xmp(plan.after)
    assert fields(plan.after)["subject"] == ["lake"]


few_keywords = st.lists(st.sampled_from("ABC"), min_size=1, max_size=3).map(lambda path: Keyword(tuple(path)))


@settings(deadline=None, max_examples=150)
@given(*(st.lists(few_keywords, min_size=1, max_size=3) for _ in range(3)))
def test_what_was_brought_goes_and_leaves_the_rest_as_if_it_had_never_been(theirs, first, second):
    foreign = plan_sidecar(None, add=theirs).after
    written = plan_sidecar(foreign, add=first)
    later = plan_sidecar(written.after, add=second, own=written.own)
    alone = plan_sidecar(foreign, add=second)
    assert later.own == alone.own
    assert read_xmp(later.after) == read_xmp(alone.after) == tuple(sorted({*theirs, *second}))
    assert sorted(fields(later.after)["subject"]) == sorted(fields(alone.after)["subject"])
    back = plan_sidecar(later.after, own=later.own).after
    assert read_xmp(back) == tuple(sorted(set(theirs)))
    assert sorted(fields(back)["subject"]) == sorted({level for keyword in theirs for level in keyword.path})


def test_levels_that_others_wrote_stay():
    theirs = plan_sidecar(None, add=[Keyword.flat("heron"), ALPS]).after
    written = plan_sidecar(theirs, add=[HERON, ALPS])
    assert (sorted(written.own.flat), written.own.paths) == (["Animals"], {HERON})
    later = plan_sidecar(written.after, add=[SEA], own=written.own)
    assert fields(later.after)["subject"] == ["Alps", "Places", "heron", "sea"]
    assert read_xmp(later.after) == (ALPS, Keyword.flat("heron"), SEA)
    # Another program has made a keyword of its own out of the name of a level since.
    lone = wrapped(PLAIN % "<dc:subject><rdf:Bag><rdf:li>Animals</rdf:li></rdf:Bag></dc:subject>")
    assert not plan_sidecar(lone, own=Stated(frozenset({"heron"}), frozenset({HERON}))).changes


def test_what_was_brought_is_kept_as_text():
    own = plan_sidecar(None, add=[HERON, Keyword.flat("a|b"), Keyword.flat("日本")]).own
    assert Stated.from_text(own.to_text()) == own
    assert (Stated().to_text(), Stated.from_text("")) == ("", Stated())


def test_another_program_s_spelling_of_a_tag_is_that_tag():
    there = plan_sidecar(None, add=[Keyword.flat("DOG"), Keyword.parse("Animals|Cat")]).after
    for keyword in (Keyword.flat("Dog"), Keyword.parse("animals|cat")):
        assert not plan_sidecar(there, add=[keyword]).changes
    gone = plan_sidecar(there, remove=[Keyword.flat("Dog")])
    assert gone.removed == (Keyword.flat("DOG"),)
    both = plan_sidecar(there, add=[Keyword.flat("Dog")], remove=[Keyword.flat("DOG")])
    assert (both.added, both.removed) == ((Keyword.flat("Dog"),), (Keyword.flat("DOG"),))


def test_a_tag_that_tagloom_wrote_takes_its_new_capitals():
    first = plan_sidecar(None, add=[Keyword.flat("dog")])
    renamed = plan_sidecar(first.after, add=[Keyword.flat("Dog")], own=first.own)
    assert (renamed.added, renamed.removed) == ((Keyword.flat("Dog"),), (Keyword.flat("dog"),))
