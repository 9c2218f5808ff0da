import html.parser
import io
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tagloom.exceptions import InvalidInputError
from tagloom.methods.topics import TopicDescription, TopicPhoto, TopicTag
from tagloom.report import page as report_page
from tagloom.report.data import ReportData, ReportPhoto, TagSummary, UnreadablePhoto, summarize_tags
from tagloom.report.page import display_text, write_report

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{data}}<!--"


def picture(kind="webp"):
    stream = io.BytesIO()
    Image.new("RGB", (8, 6), (200, 30, 60)).save(stream, kind)
    return stream.getvalue()


class Page(html.parser.HTMLParser):
    """What a browser would make of the file: elements, attributes, texts, and what stands in script and style."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self.raw, self._open = [], [], {}, None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        self._open = tag + attributes.get("id", "") if tag in ("script", "style") else None

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, data):
        if self._open:
            self.raw[self._open] = self.raw.get(self._open, "") + data
        else:
            self.texts.append(data)

    def count(self, tag, **attributes):
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return sum(tag == kind and wanted.items() <= found.items() for kind, found in self.elements)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    @property
    def data(self):
        return json.loads(self.raw["scriptreport-data"])


@pytest.fixture
def make(tmp_path):
    def make(**options):
        path = write_report(tmp_path / "report.html", ReportData(**options))
        return Page(path.read_text(encoding="utf-8"))

    return make


PHOTOS = [
    ReportPhoto(b"a.jpg", picture(), given=("sky", "sea")),
    ReportPhoto(b"b.jpg", picture("jpeg"), suggestions=(("sky", 0.8), ("sand", 0.2))),
    ReportPhoto(b"c.jpg", picture("png"), suggestions=(("sky", 0.4),)),
    ReportPhoto(b"d.jpg", b"<svg onload=alert(1)>", labeled=True),
    ReportPhoto(b"e.jpg"),
]


def test_tags_are_counted():
    assert summarize_tags(PHOTOS) == [
        TagSummary("sky", 1, 2, pytest.approx(0.6)),
        TagSummary("sand", 0, 1, 0.2),
        TagSummary("sea", 1, 0, None),
    ]


def test_the_summary_and_every_part_is_there(make):
    page = make(
        photos=PHOTOS,
        unreadable=[UnreadablePhoto(b"caf\xe9.jpg", "not_an_image", "no known format")],
        method="ridge",
        features="deep, colour",
        seconds=3725.0,
        created="2026-01-02",
        version="9.8.7",
        settings=[("n_keywords", "7", "flag --n-keywords")],
        notes=["2 names match no photo"],
        evaluation=[("MAP", "0.612")],
    )
    for expected in [
        "Photos 6",
        "Labelled by you 2",
        "With suggestions 2",
        "Unreadable 1",
        "ridge",
        "deep, colour",
        "1 h 2 min",
        "2026-01-02",
        "tagloom 9.8.7",
        "flag --n-keywords",
        "2 names match no photo",
        "MAP 0.612",
        r"caf\xe9.jpg not an image no known format",
        "Labelled, without tags",
        "Nothing suggested",
    ]:
        assert expected in page.text, expected
    assert page.count("tr", **{"data-tag": "0"}) == 1
    assert page.count("li", class_="card") == 5
    assert page.count("img") == 3
    assert page.count("noscript") == 0


def test_parts_without_content_are_left_out(make):
    page = make(photos=[])
    for absent in ["Evaluation", "could not be read", "Settings", "Method", "Time"]:
        assert absent not in page.text
    assert page.data == {"tags": [], "photos": []}


def test_topics_show_the_photos_at_their_places_even_those_that_are_cut(make):
    topics = [
        TopicDescription(3, 0.5, (TopicTag("sky", 0, 0.75, 2.0),), (TopicPhoto(2, 0.9), TopicPhoto(1, 0.8))),
        TopicDescription(0, 0.25, (), (TopicPhoto(4, 0.7),)),
    ]
    page = make(photos=PHOTOS, topics=topics, max_photos=2)
    assert page.count("li", class_="topic") == 2
    assert "Topics 2" in page.text
    assert "Topic 4 50.0% of the photos sky 0.75 c.jpg 0.90 b.jpg 0.80 Topic 1 25.0% of the photos e.jpg" in page.text
    sources = [found["src"] for tag, found in page.elements if tag == "img"]
    # The typical photos, the last of them without a picture, then two cards.
    assert [source[:15] for source in sources[:2]] == ["data:image/png;", "data:image/jpeg"]
    assert "Topic" not in make(photos=PHOTOS).text


def test_markup_in_names_and_tags_is_text(make):
    plain = make(photos=[ReportPhoto(b"a", picture(), ("t",), (("u", 0.5),))], unreadable=[UnreadablePhoto(b"n", "v")])
    page = make(
        photos=[ReportPhoto(EVIL.encode(), picture(), (EVIL,), ((EVIL + "2", 0.5),))],
        unreadable=[UnreadablePhoto(EVIL.encode(), EVIL, EVIL)],
        title=EVIL,
        method=EVIL,
        features=EVIL,
        created=EVIL,
        version=EVIL,
        settings=[(EVIL, EVIL, EVIL)],
        notes=[EVIL],
        evaluation=[(EVIL, EVIL)],
        topics=[TopicDescription(0, 1.0, (TopicTag(EVIL, 0, 1.0, 1.0),), (TopicPhoto(0, 1.0),))],
    )
    assert page.count("script") == 2
    assert page.count("img") == 2 * plain.count("img") == 2
    assert not any(name.startswith("on") or name == "style" for _, found in page.elements for name in found)
    assert page.text.count(EVIL) >= 16
    assert page.data["tags"] == [EVIL + "2", EVIL]
    assert page.data["photos"][0][0] == EVIL


@given(st.binary(max_size=20), st.text(max_size=20))
@settings(deadline=None)
def test_names_and_texts_are_shown_as_visible_text(name, text):
    for shown in (display_text(name), display_text(text)):
        shown.encode("utf-8")
        assert not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)


def test_reordering_characters_are_shown_as_escapes():
    assert display_text("photo\u202egpj.exe") == r"photo\u202egpj.exe"
    assert display_text(b"caf\xe9\n") == r"caf\xe9\n"
    assert display_text("caf\udce9") == r"caf\xe9"
    assert display_text("👩\u200d🚀 café 東京") == "👩\u200d🚀 café 東京"


def test_nothing_outside_is_referred_to_and_the_policy_allows_no_more(make):
    page = make(photos=PHOTOS)
    policy = next(found["content"] for tag, found in page.elements if "http-equiv" in found)
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "unsafe" not in policy
    for kind in ("style", "script"):
        assert f"{kind}-src '{report_page._hash(page.raw[kind])}'" in policy
    for _, found in page.elements:
        assert found.get("src", "data:").startswith("data:")
        assert found.get("href", "#").startswith("#")
    assert not re.search(r"https?:|//[a-z]|url\(|@import|\beval\b|innerHTML", page.raw["style"] + page.raw["script"])


def test_the_embedded_data_hold_scores_and_bars(make):
    data = make(photos=PHOTOS).data
    assert data["tags"] == ["sky", "sand", "sea"]
    assert [photo[0] for photo in data["photos"]] == ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg"]
    assert [photo[1][:16] for photo in data["photos"]] == [
        "data:image/webp;",
        "data:image/jpeg;",
        "data:image/png;b",
        "",
        "",
    ]
    assert [photo[2] for photo in data["photos"]] == [1, 0, 0, 1, 0]
    assert data["photos"][0][3:] == [[0, 2], []]
    assert data["photos"][1][3:] == [[], [[0, "0.80", 20], [1, "0.20", 5]]]


def test_videos_are_marked(make):
    page = make(photos=[ReportPhoto(b"a.jpg"), ReportPhoto(b"clip.mp4", given=("sky",))])
    assert [photo[5:] for photo in page.data["photos"]] == [[], [1]]
    assert sum(found.get("class") == "kind" for _, found in page.elements) == 1


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((-1.0, 1.0), [("-1.00", 0), ("1.00", 20)]),
        ((0.004, 0.002), [("0.004", 20), ("0.002", 10)]),
        ((5000.0, 1000.0), [("5e+03", 20), ("1e+03", 4)]),
        ((0.0, 0.0), [("0", 0), ("0", 0)]),
        ((-3.0, -1.0), [("-3.00", 0), ("-1.00", 13)]),
    ],
)
def test_bars_of_any_scores(make, scores, expected):
    photo = ReportPhoto(b"a.jpg", suggestions=[(str(number), score) for number, score in enumerate(scores)])
    assert [(text, level) for _, text, level in make(photos=[photo]).data["photos"][0][4]] == expected


def test_a_cut_page_says_so_and_counts_all(make):
    photos = [ReportPhoto(b"%d.jpg" % number, suggestions=[("sky", 0.5)]) for number in range(70)]
    page = make(photos=photos, max_photos=60)
    assert "first 60 of 70 photos" in page.text
    assert "With suggestions 70" in page.text
    assert len(page.data["photos"]) == 60
    assert page.count("li", class_="card") == 50
    assert "The first 50 of 60 photos. Turn on JavaScript" in page.text
    assert "to stay light" not in make(photos=photos, max_photos=70).text


def test_many_unreadable_files_are_listed_up_to_a_limit(make):
    page = make(photos=[], unreadable=[UnreadablePhoto(b"%d" % number, "damaged") for number in range(1003)])
    assert "3 more are not listed" in page.text
    assert page.count("th", class_="file") == 1000


def test_errors():
    with pytest.raises(InvalidInputError, match="finite"):
        ReportData(photos=[ReportPhoto(b"a", suggestions=[("sky", float("nan"))])])
    with pytest.raises(InvalidInputError, match="max_photos"):
        ReportData(photos=[], max_photos=-1)


#: After these, what watches for the end of the list has seen it.
TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture(scope="module")
def tab(browser):
    """Return a tab, and the list of what comes to its console."""
    said = []
    with browser.new_page() as page:
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(f"Uncaught {error}"))
        yield page, said


@pytest.fixture
def browse(tab, tmp_path, monkeypatch):
    """Return a function that opens a report in a browser, does something there, and returns page and console."""
    opened, said = tab
    original = report_page._template

    def browse(data, action="", tamper=lambda text: text):
        monkeypatch.setattr(
            report_page, "_template", lambda name: original(name) + (action if name == "report.js" else "")
        )
        path = write_report(tmp_path / "report.html", data)
        path.write_text(tamper(path.read_text(encoding="utf-8")), encoding="utf-8")
        said.clear()
        opened.goto(path.as_uri())
        opened.evaluate(TWO_FRAMES)
        return Page(opened.content()), "\n".join(said)

    return browse


def cards(page):
    """Return the names on the cards in the order they are shown."""
    return re.findall(r"\w+\.jpg", page.text.split("with its score")[1])


CHOOSE = """
const set = (id, value) => {{
  document.getElementById(id).value = value;
  document.getElementById(id).dispatchEvent(new Event(id === "search" ? "input" : "change"));
}};
{}
"""


@pytest.mark.medium
def test_in_a_browser_script_and_static_page_draw_the_same_cards(browse, make):
    static = make(photos=PHOTOS)
    page, console = browse(ReportData(photos=PHOTOS))
    assert "Content Security Policy" not in console
    assert "Uncaught" not in console
    is_card_part = re.compile("card|body|name|chips|chip|suggestions|tag|score|track|bar .*|none|blank")
    for kind in ("li", "div", "p", "ul", "span", "img"):
        drawn, written = (
            [
                found
                for tag, found in each.elements
                if tag == kind and is_card_part.fullmatch(found.get("class") or "card")
            ]
            for each in (page, static)
        )
        assert drawn == written, kind
    assert next(found for tag, found in page.elements if found.get("id") == "controls").get("hidden", "no") == "no"


@pytest.mark.medium
def test_in_a_browser_the_policy_refuses_a_changed_script(browse):
    page, console = browse(
        ReportData(photos=PHOTOS),
        tamper=lambda text: text.replace('"use strict";', '"use strict"; document.title = "x";'),
    )
    assert "Content Security Policy" in console
    assert page.count("li", class_="card") == 5


@pytest.mark.medium
@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("set('search', ' SAND ')", ["b.jpg"]),
        ("set('search', 'C.jp')", ["c.jpg"]),
        ("set('tag', '0')", ["a.jpg", "b.jpg", "c.jpg"]),
        ("set('show', 'labeled')", ["a.jpg", "d.jpg"]),
        ("set('show', 'suggested'); set('order', 'unsure')", ["c.jpg", "b.jpg"]),
        ("set('order', 'sure')", ["b.jpg", "c.jpg", "a.jpg", "d.jpg", "e.jpg"]),
        ("set('search', 'nowhere')", []),
        ("document.querySelector('tr[data-tag=\"2\"] button').click()", ["a.jpg"]),
        ("set('search', 'x'); document.getElementById('reset').click()", ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg"]),
    ],
)
def test_in_a_browser_filters_and_order(browse, action, expected):
    page, console = browse(ReportData(photos=PHOTOS), CHOOSE.format(action))
    assert "Uncaught" not in console
    assert cards(page) == expected


@pytest.mark.medium
@pytest.mark.parametrize(
    ("column", "n_clicks", "expected"),
    [
        (0, 1, ["sand", "sea", "sky"]),
        (0, 2, ["sky", "sea", "sand"]),
        (3, 1, ["sky", "sand", "sea"]),
        (3, 2, ["sea", "sand", "sky"]),
    ],
)
def test_in_a_browser_the_tag_table_sorts(browse, column, n_clicks, expected):
    click = f"document.querySelectorAll('#tag-table thead button')[{column}].click();"
    page, _ = browse(ReportData(photos=PHOTOS), click * n_clicks)
    rows = re.search(r"Tags 3 (.*?) Photos 5", page.text)[1]
    assert re.findall(r"sky|sand|sea", rows) == expected


@pytest.mark.medium
def test_in_a_browser_more_photos_come_in_chunks(browse):
    photos = [ReportPhoto(b"%d.jpg" % number, picture()) for number in range(1000)]
    page, _ = browse(ReportData(photos=photos))
    assert 60 <= page.count("li", class_="card") < 1000
    click = "for (let i = 0; i < 20; i++) document.getElementById('more').click();"
    page, _ = browse(ReportData(photos=photos), click)
    assert page.count("li", class_="card") == 1000
