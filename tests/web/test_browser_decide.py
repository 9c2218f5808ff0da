"""What is decided is what was shown and said, and what is undone is what was named."""

import contextlib
import re
import shutil

import numpy as np
import pytest
from playwright.sync_api import expect

from tagloom.learning.suggest import open_suggestions
from tagloom.project.project import Project
from tests.web.browsing import CELL, GRID, active, cursor_on, press, serving, shown, until, visiting_page
from tests.web.conftest import FLAGS

pytestmark = pytest.mark.medium

LENS = "[data-testid=lens]"
TOAST = "[data-testid=toast]"
RANKING = re.compile(r"/api/v1/ranking\?")
_LARGEST_CELLS = "if (location.protocol === 'http:') localStorage.setItem('tagloom-size', '5');"


class Review:
    """A page, and the same project seen from the store."""

    def __init__(self, visit, project):
        self.visit = visit
        self.project = project

    @property
    def store(self):
        return self.project.store

    def standing(self):
        found = self.store.decisions.current()
        return set(zip(found.photo_ids.tolist(), found.tag_ids.tolist(), found.states.tolist(), strict=True))

    def has(self, decisions):
        until(self.page, lambda: decisions <= self.standing(), f"the store holds {decisions}")

    def has_not(self, decisions):
        until(self.page, lambda: not decisions & self.standing(), f"the store no longer holds {decisions}")

    def open(self, path):
        self.page = self.visit.open(path)
        return self.page


@contextlib.contextmanager
def reviewing(photos, browser):
    with (
        serving(photos, flags=FLAGS) as server,
        visiting_page(browser, server) as visit,
        Project.open(photos, flags=FLAGS) as project,
    ):
        yield Review(visit, project)


@pytest.fixture
def photos(album, tmp_path):
    return shutil.copytree(album, tmp_path / "photos")


@pytest.fixture
def review(photos, browser):
    with reviewing(photos, browser) as review:
        yield review


def two_tags(project):
    """Return the two tags that most is suggested of."""
    numbers = open_suggestions(project.store)
    return numbers.tag_ids[np.argsort(-numbers.above.sum(axis=0), kind="stable")[:2]].tolist()


def ranked(project, tag):
    """Return the open photos of a tag, the likeliest first."""
    numbers = open_suggestions(project.store)
    column = numbers.tag_ids.tolist().index(tag)
    rows = np.flatnonzero(numbers.open[:, column])
    return numbers.photo_ids[rows[np.argsort(-numbers.values[rows, column], kind="stable")]].tolist()


def _go_to_tag(page, tag):
    page.locator(f"a[href='/tag/{tag}']").first.click()
    page.wait_for_url(re.compile(rf"/tag/{tag}$"))


def test_nothing_is_decided_while_the_photos_of_another_tag_are_shown(review):
    first, second = two_tags(review.project)
    page = review.open(f"/tag/{first}")
    page.wait_for_selector(f"{LENS} {CELL}:focus")
    before, held = review.standing(), []
    page.route(RANKING, lambda route: held.append(route))
    _go_to_tag(page, second)
    expect(page.locator(f"{LENS} h1")).to_have_text(review.store.tags.texts([second])[0])
    until(page, lambda: held, "the order is asked for")
    for key, n_refused in (("a", 1), ("r", 2), ("A", 3)):
        press(page, key)
        expect(page.locator(TOAST, has_text="nothing changed")).to_have_count(n_refused)
    expect(page.locator(f"{LENS} {CELL}:visible")).to_have_count(0)
    assert review.standing() == before
    for route in held:
        route.continue_()
    page.unroute(RANKING)
    page.wait_for_selector(f"{LENS} {CELL}:focus")
    photo = active(page)
    press(page, "a")
    review.has({(photo, second, 1)})
    assert review.standing() - before == {(photo, second, 1)}


def test_an_order_that_cannot_be_read_shows_no_photos_and_is_tried_again(review):
    first, second = two_tags(review.project)
    page = review.open(f"/tag/{first}")
    page.wait_for_selector(f"{LENS} {CELL}:focus")
    before = review.standing()
    page.route(RANKING, lambda route: route.fulfill(status=500, json={"error": "a hiccup"}))
    _go_to_tag(page, second)
    expect(page.locator("[role=status]", has_text="could not be loaded. a hiccup")).to_be_visible()
    expect(page.locator("[data-testid=retry]")).to_be_focused()
    expect(page.locator(f"{LENS} {CELL}:visible")).to_have_count(0)
    press(page, "a")
    expect(page.locator(TOAST, has_text="nothing changed")).to_have_count(1)
    assert review.standing() == before
    page.unroute(RANKING)
    press(page, "Enter")
    cursor_on(page, ranked(review.project, second)[0])
    page.route(RANKING, lambda route: route.fulfill(status=500, json={"error": "a hiccup"}))
    _go_to_tag(page, first)
    expect(page.locator("[data-testid=retry]")).to_be_focused()
    page.unroute(RANKING)
    page.evaluate("import('/static/js/net/state.js').then(({ store }) => store.emit('reset'))")  # the link is back
    cursor_on(page, ranked(review.project, first)[0])
    review.visit.errors.clear()  # a browser notes every answer that is an error


def _best_suggestions(project):
    """Return the likeliest suggestion of each photo that has any, as decisions that accept them."""
    numbers = open_suggestions(project.store)
    rows = np.flatnonzero(numbers.above.any(axis=1))
    best = np.where(numbers.above, numbers.values, -np.inf)[rows].argmax(axis=1)
    return {(int(numbers.photo_ids[row]), int(numbers.tag_ids[tag]), 1) for row, tag in zip(rows, best, strict=True)}


def test_all_that_is_selected_is_decided_and_undone_as_one(photos, browser):
    with Project.open(photos, flags=FLAGS) as project:
        tag, _ = two_tags(project)
        project.label(ranked(project, tag)[::2], add=project.store.tags.texts([tag]))  # others are best for these now
        project.threshold = 0.3
        project.train()
        wanted = _best_suggestions(project)
    assert len({tag for _, tag, _ in wanted}) > 1
    with reviewing(photos, browser) as review:
        review.visit.context.add_init_script(_LARGEST_CELLS)
        asked = []
        review.visit.context.on(
            "request", lambda request: "/api/v1/cells?" in request.url and asked.append(request.url)
        )
        page = review.open("/#state=suggested")
        page.wait_for_selector(f"{GRID} img.ready")
        assert len({photo for url in asked for photo in re.findall(r"\d+", url.partition("=")[2])}) < len(wanted)
        before, n_batches = review.standing(), len(review.project.history(1000))
        press(page, "Control+a")
        page.wait_for_selector(f":text('{len(wanted)} photos selected')")
        press(page, "a")
        review.has(wanted)
        assert review.standing() - before == wanted
        assert len(review.project.history(1000)) == n_batches + 1
        expect(page.locator(TOAST, has_text=f"Accepted the best suggestion on {len(wanted)} photos")).to_be_visible()
        press(page, "u")
        expect(page.locator(TOAST, has_text="Undone")).to_be_visible()
        assert review.standing() == before


def test_the_undo_of_a_message_undoes_what_it_names(review):
    tag, _ = two_tags(review.project)
    page = review.open(f"/tag/{tag}")
    page.wait_for_selector(f"{LENS} {CELL}:focus")
    first, second, third, *_ = shown(page)
    before = review.standing()
    press(page, "Space", "ArrowRight", "Space")
    page.wait_for_selector(":text('2 photos selected')")
    press(page, "a")
    review.has({(first, tag, 1), (second, tag, 1)})
    cursor_on(page, second)
    press(page, "ArrowRight")
    cursor_on(page, third)
    press(page, "r")
    review.has({(third, tag, 0)})
    page.locator(TOAST, has_text="on 2 photos").get_by_role("button").click()
    review.has_not({(first, tag, 1), (second, tag, 1)})
    assert review.standing() - before == {(third, tag, 0)}


def test_what_was_not_done_here_is_asked_about_before_it_is_undone(review):
    page = review.open("/")
    (alias,) = (batch for batch in review.project.history() if batch.kind == "tags")
    (imported,) = (batch for batch in review.project.history() if batch.kind == "decide")
    before = review.standing()
    assert len(before) == imported.n
    press(page, "u")
    expect(page.locator("[data-testid=undo-what]")).to_contain_text(f"“{alias.label}”")
    press(page, "Enter")
    expect(page.locator(TOAST, has_text=f"Undone: {alias.label}")).to_be_visible()
    press(page, "u")
    expect(page.locator("[data-testid=undo-what]")).to_contain_text(f"“{imported.label}” ({imported.n} decisions")
    press(page, "Escape")
    until(page, lambda: page.locator("dialog").count() == 0, "the question is gone")
    assert review.standing() == before
    assert [batch.kind for batch in review.project.history(1)] == ["undo"]
    photo = shown(page)[0]
    cursor_on(page, photo)
    press(page, "t")
    page.wait_for_selector("dialog input:focus")
    page.keyboard.type("mine")
    press(page, "Enter")
    until(page, lambda: review.standing() - before, "the tag is there")
    until(page, lambda: page.locator("dialog").count() == 0, "the box is gone")
    press(page, "u")  # done here, and small: not asked
    until(page, lambda: review.standing() == before, "only that was undone")


def test_enter_makes_the_tag_that_was_typed(review):
    photo = int(review.store.photos.table().ids[-1])
    flower = review.store.tags.numbers(["flower"])[0]
    page = review.open(f"/photo/{photo}")
    page.wait_for_selector("[data-testid=photo-view] img.large.ready")
    for typed in ("flow", "owe", "flower"):
        press(page, "t")
        page.keyboard.type(typed)
        page.wait_for_selector("[data-testid=tag-option][aria-selected=true]")
        press(page, "Enter")
        until(page, lambda typed=typed: review.store.tags.numbers([typed])[0], f"there is a tag {typed}")
        review.has({(photo, review.store.tags.numbers([typed])[0], 1)})
        press(page, "Escape")
    assert review.store.tags.numbers(["flower"])[0] == flower
    texts = {tag.text for tag in review.store.tags.all()}
    assert {"flow", "owe", "flower"} <= texts
    count = review.store.decisions.count()
    press(page, "t")
    page.wait_for_selector("[data-testid=tag-option]")
    press(page, "Enter")  # nothing typed, nothing chosen
    expect(page.locator("[data-testid=tag-option][aria-selected=true]")).to_have_count(0)
    press(page, "ArrowDown")
    expect(page.locator("[data-testid=tag-option][aria-selected=true]")).to_have_count(1)
    assert review.store.decisions.count() == count


_STACKED = "(ids) => fetch(`/api/v1/cells?ids=${ids}`).then((answer) => answer.json())"


def test_accepting_all_above_decides_stacks_as_one(photos, browser):
    with Project.open(photos, flags=FLAGS) as project:
        tag, _ = two_tags(project)
        table = project.store.photos.table()
        name = table.paths[table.ids.tolist().index(ranked(project, tag)[0])]
        shutil.copy(photos / name.decode(), photos / "copy.jpg")
        project.scan()
        project.train()
        pair = sorted(project.store.photos.find([name, b"copy.jpg"]).values())
        wanted = ranked(project, tag)
    assert set(pair) <= set(wanted)
    with reviewing(photos, browser) as review:
        page = review.open("/")
        until(page, lambda: all(cell["stack"] for cell in page.evaluate(_STACKED, pair)["cells"]), "they are a stack")
        page = review.open(f"/tag/{tag}#stacks=1")
        page.wait_for_selector(f"{LENS} {CELL}:focus")
        assert page.evaluate("document.querySelector('tl-grid').ids.length") == len(wanted) - 1
        press(page, "End")
        until(page, lambda: active(page) == page.evaluate("document.querySelector('tl-grid').ids.at(-1)"), "at the end")
        press(page, "A")
        expect(page.locator("dialog h2")).to_contain_text(f"on {len(wanted)} photos?")
        press(page, "Enter")
        review.has({(photo, tag, 1) for photo in wanted})


def _fresh(page, photo):
    return page.evaluate("(id) => import('/static/js/net/state.js').then(({ store }) => store.isFresh(id))", photo)


def _cell(page, photo):
    script = "(id) => import('/static/js/net/state.js').then(({ store }) => JSON.stringify(store.cells.get(id)))"
    return page.evaluate(script, photo)


def _is_open(page, photo, tag):
    """Tell whether the server takes a tag of a photo for undecided."""
    script = """([photo, tag]) => import('/static/js/net/api.js')
        .then((api) => api.ranking({ sort: "score", tag, state: "unreviewed" }))
        .then(({ ids }) => ids.includes(photo))"""
    return page.evaluate(script, [photo, tag])


def test_a_selection_does_not_overturn_what_was_refused_elsewhere(review):
    page = review.open("/")
    numbers = open_suggestions(review.store)
    rows = np.flatnonzero(numbers.above.any(axis=1))
    photo = next(id for id in shown(page) if id in numbers.photo_ids[rows])
    row = numbers.photo_ids.tolist().index(photo)
    tag = int(numbers.tag_ids[np.where(numbers.above[row], numbers.values[row], -np.inf).argmax()])
    press(page, "End")
    until(page, lambda: photo not in shown(page), "the photo is out of sight")
    until(page, lambda: _fresh(page, photo), "its cell is there")
    before = _cell(page, photo)
    review.store.decisions.decide([photo], [tag], [0])
    # A cell that was asked for meanwhile comes with the decision, and is fresh again.
    until(page, lambda: not _fresh(page, photo) or _cell(page, photo) != before, "the page hears of it")
    press(page, "Control+a", "a")
    expect(page.locator(TOAST, has_text="Accepted")).to_be_visible()
    until(page, lambda: len(review.standing()) > len(rows), "the rest is accepted")
    assert (photo, tag, 0) in review.standing()


def test_a_new_tag_goes_to_the_photo_it_was_typed_for(review):
    page = review.open("/")
    first, second = shown(page)[:2]
    cursor_on(page, first)
    press(page, "Enter")
    page.wait_for_selector("[data-testid=photo-view] img.large.ready")
    held = []
    page.route("**/api/v1/tags", lambda route: held.append(route))
    press(page, "t")
    page.wait_for_selector("[data-testid=photo-view] [data-testid=tag-input]:focus")
    page.keyboard.type("brand new")
    press(page, "Enter", "Escape", "ArrowRight")
    page.wait_for_url(re.compile(rf"/photo/{second}$"))
    until(page, lambda: held, "the tag is asked for")
    held[0].continue_()
    until(page, lambda: "brand new" in [tag.text for tag in review.store.tags.all()], "the tag is made")
    (tag,) = (tag.id for tag in review.store.tags.all() if tag.text == "brand new")
    review.has({(first, tag, 1)})
    assert (second, tag, 1) not in review.standing()


def test_accepting_all_above_asks_again_what_is_open(review):
    tag = two_tags(review.project)[0]
    page = review.open(f"/tag/{tag}")
    page.wait_for_selector(f"{LENS} {CELL}:focus")
    top = ranked(review.project, tag)[:4]
    cursor_on(page, top[0])
    press(page, *["ArrowRight"] * 3)
    cursor_on(page, top[3])
    press(page, "A")
    page.wait_for_selector("[data-testid=confirm]")
    until(page, lambda: _fresh(page, top[1]), "its cell is there")
    review.store.decisions.decide([top[1]], [tag], [0])
    until(page, lambda: not _is_open(page, top[1], tag), "the server knows of it")
    page.locator("[data-testid=confirm]").click()
    review.has({(photo, tag, 1) for photo in (top[0], top[2], top[3])})
    assert (top[1], tag, 0) in review.standing()
