import html.parser

import numpy as np

from tagloom.methods.topics import LaplacianTopicModel, TopicDescription, TopicPhoto, TopicTag
from tagloom.report.page import topics_fragment

EVIL = "</section><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u202e"
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 8


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self.depth = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag != "img":
            self.depth.append(tag)

    def handle_endtag(self, tag):
        assert self.depth.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def topic(name="sea", row=0):
    return TopicDescription(2, 0.25, (TopicTag(name, 0, 0.5, 3.0),), (TopicPhoto(row, 0.9),))


def test_each_topic_shows_its_tags_and_photos():
    page = Page(topics_fragment([topic()], [b"a.jpg"], {0: PNG}))
    text = "".join(page.texts)
    for expected in ("Topic 3", "25.0% of the photos", "sea", "0.50", "a.jpg", "0.90"):
        assert expected in text
    (image,) = [attributes for tag, attributes in page.elements if tag == "img"]
    assert image["src"].startswith("data:image/png;base64,")
    assert not page.depth


def test_nothing_that_was_given_becomes_markup():
    page = Page(topics_fragment([topic(EVIL)], [EVIL.encode()], {0: b"<svg onload=alert(3)>"}, heading=EVIL))
    assert {tag for tag, _ in page.elements} <= {"section", "h2", "h3", "div", "ul", "li", "span"}
    assert not any(name.startswith("on") or name == "style" for _, found in page.elements for name in found)
    assert "\u202e" not in "".join(page.texts)
    assert "".join(page.texts).count("<script>alert(1)</script>") == 3
    assert not page.depth


def test_without_names_photos_are_numbered_and_no_topics_are_said():
    assert "photo 8" in topics_fragment([topic(row=7)])
    assert "No topics" in topics_fragment([])


def test_what_a_model_describes_can_be_shown():
    rng = np.random.default_rng(0)
    X, Y = rng.poisson(1.0, size=(20, 8)), rng.integers(0, 2, size=(20, 3))
    model = LaplacianTopicModel(3, random_state=0).fit(X, Y)
    page = Page(topics_fragment(model.describe_topics(["a", "b", "c"])))
    assert sum(found.get("class") == "topic" for _, found in page.elements) == model.n_topics_
