"""Tags that the page is not sure of, tags that only count as absent, and names that are alike."""

import json
import re
import shutil

import pytest
from playwright.sync_api import expect

from tests.web.browsing import CELL, press, until
from tests.web.test_browser_decide import TOAST, reviewing

pytestmark = pytest.mark.medium

SUGGESTION = "[data-testid=suggestion]"
PANEL = "[data-testid=photo-view] .panel"
OVERRIDE = "gnp.\u202etac"


@pytest.fixture
def photos(album, tmp_path):
    return shutil.copytree(album, tmp_path / "photos")


@pytest.fixture
def review(photos, browser):
    with reviewing(photos, browser) as review:
        yield review


def _unlabelled(review):
    known = set(review.store.decisions.current().photo_ids.tolist())
    return next(photo for photo in review.store.photos.table().ids.tolist() if photo not in known)


def test_tags_below_the_threshold_are_shown_and_never_accepted_by_a_key_too_many(review):
    review.project.threshold = 0.99
    photo = _unlabelled(review)
    page = review.open(f"/photo/{photo}")
    expect(page.locator(f"{SUGGESTION}.unsure")).to_have_count(5)
    expect(page.locator(PANEL)).to_contain_text("No suggestions above the threshold.")
    expect(page.locator(PANEL)).not_to_contain_text("Nothing left to decide")
    expect(page.locator(f"{SUGGESTION}.current")).to_have_count(0)
    before = review.standing()
    press(page, "a")
    expect(page.locator(TOAST, has_text="↓ for a less likely tag")).to_be_visible()
    assert review.standing() == before
    press(page, "ArrowDown")
    tag = int(page.locator(f"{SUGGESTION}.unsure.current").get_attribute("data-tag"))
    press(page, "a")
    review.has({(photo, tag, 1)})
    expect(page.locator(f"{SUGGESTION}.current")).to_have_count(0)


def test_the_grid_shows_less_likely_tags_on_request(review):
    review.project.threshold = 0.99
    page = review.open("/")
    cell = page.locator(f"{CELL}[data-photo='{_unlabelled(review)}']")
    expect(cell.locator(".chip.unsure")).to_have_count(0)
    page.check("[data-testid=show-unsure]")
    expect(cell.locator(".chip.unsure:not(:empty)")).to_have_count(5)
    expect(cell).to_have_attribute("aria-label", re.compile(r"less likely .+\s%"))
    page.reload()
    expect(cell.locator(".chip.unsure:not(:empty)")).to_have_count(5)


def test_the_threshold_is_chosen_on_the_page(review):
    page = review.open("/")
    said = page.locator("[data-testid=expected]").first
    expect(said).to_have_text(re.compile(r"^\d+ suggestions?, about \d+\s% correct$"))
    n = int(said.text_content().split()[0])
    page.locator("[data-testid=threshold]").first.focus()
    press(page, "Home")
    expect(said).to_have_text(re.compile(r"^\d+ suggestions above 5\s%, about \d+\s% correct$"))
    until(page, lambda: review.project.threshold == 0.05, "the project has the threshold")
    assert int(said.text_content().split()[0].replace(",", "")) > n
    page.locator("[data-testid=threshold-reset]").first.click()
    until(page, lambda: review.project.threshold is None, "each tag has its own threshold")
    expect(said).to_have_text(re.compile(rf"^{n} suggestions?, "))


def test_what_only_counts_as_absent_is_behind_one_line(review):
    current = review.store.decisions.current()
    photo = int(current.photo_ids[0])
    no = current.tag_ids[(current.photo_ids == photo) & (current.states == 0)].tolist()
    assert len(no) > 5
    page = review.open(f"/photo/{photo}")
    expect(page.locator("[data-testid=absent] summary")).to_have_text(f"{len(no)} other tags count as absent")
    expect(page.locator(f"{PANEL} .chip.minus")).to_have_count(0)
    expect(page.locator("[data-testid=absent] .chip").first).to_be_hidden()
    page.click("[data-testid=absent] summary")
    expect(page.locator("[data-testid=absent] .chip")).to_have_count(len(no))
    review.project.label([photo], remove=[review.store.tags.texts([no[0]])[0]])  # a person says so now
    expect(page.locator(f"{PANEL} .chip.minus")).to_have_count(1)


def _type(page, text):
    box = page.locator(f"{PANEL} [data-testid=tag-input]")
    box.focus()
    box.fill(text)
    page.wait_for_selector("[data-testid=tag-option][aria-selected=true]")
    press(page, "Enter")


def _numbers(review, *texts):
    return review.store.tags.numbers(list(texts))


def test_a_slip_takes_one_click(review):
    photo = _unlabelled(review)
    page = review.open(f"/photo/{photo}")
    (flower,) = _numbers(review, "flower")
    _type(page, "flwoer")
    expect(page.locator("[data-testid=which-tag] h2")).to_have_text("Did you mean “flower”?")
    page.click("[data-testid=use-known]")
    review.has({(photo, flower, 1)})
    assert _numbers(review, "flwoer") == [0]
    _type(page, "flwoer")
    page.click("[data-testid=keep-new]")
    until(page, lambda: _numbers(review, "flwoer") != [0], "the new tag is made")
    review.has({(photo, _numbers(review, "flwoer")[0], 1)})


def test_capitals_make_no_new_tag(review):
    photo = _unlabelled(review)
    page = review.open(f"/photo/{photo}")
    press(page, "t")
    page.keyboard.type("FLOWER")
    expect(page.locator("[data-testid=tag-option]")).to_have_count(1)
    press(page, "Enter")
    review.has({(photo, _numbers(review, "flower")[0], 1)})


def test_a_list_is_split_and_going_back_loses_nothing(review):
    photo = _unlabelled(review)
    page = review.open(f"/photo/{photo}")
    _type(page, "harbour, FLOWER; pier")
    page.wait_for_selector("[data-testid=split]")
    press(page, "Escape")
    expect(page.locator(f"{PANEL} [data-testid=tag-input]")).to_have_value("harbour, FLOWER; pier")
    _type(page, "harbour, FLOWER; pier")
    page.click("[data-testid=split]")
    until(page, lambda: 0 not in _numbers(review, "harbour", "pier"), "the new tags are made")
    review.has({(photo, tag, 1) for tag in _numbers(review, "harbour", "flower", "pier")})
    assert _numbers(review, "harbour, FLOWER; pier") == [0]
    assert _numbers(review, "FLOWER") == _numbers(review, "flower")


def _explained(route):
    answer = json.loads(route.fetch().text())
    answer |= {"photos_rest": 0.376, "photos_exact": False, "groups_rest": 6.2e-7}
    answer["groups"][0]["amount"] = 6.2e-7
    route.fulfill(json=answer)


def test_an_explanation_has_plain_numbers_and_says_what_is_not_explained(review):
    page = review.open(f"/photo/{_unlabelled(review)}")
    page.route(re.compile("/why/"), _explained)
    page.locator(f"{SUGGESTION} button").first.click()
    rows = page.locator("[data-testid=why] .why-bars li")
    expect(rows.filter(has_text="Not explained")).to_have_count(1)
    expect(rows.filter(has_text="Not explained")).to_contain_text("+0.38")
    expect(page.locator("[data-testid=why]")).not_to_contain_text(re.compile(r"e[-−]\d"))


def test_a_name_from_right_to_left_changes_nothing_around_it(review):
    photo = _unlabelled(review)
    (tag,) = review.store.tags.numbers([OVERRIDE], make=True)
    review.project.label([photo], add=[OVERRIDE])
    page = review.open(f"/photo/{photo}")
    name = page.locator(f"{PANEL} .tag-row[data-tag='{tag}'] .words")
    assert name.evaluate("(node) => getComputedStyle(node).unicodeBidi") == "isolate"
    page.click(f"{PANEL} .tag-row[data-tag='{tag}'] [aria-label^='This photo has no']")
    review.has({(photo, tag, 0)})
    heading = review.visit.open(f"/tag/{tag}").locator("[data-testid=lens] h1")
    expect(heading).to_have_text("\u2068gnp.\\u202etac\u2069")
