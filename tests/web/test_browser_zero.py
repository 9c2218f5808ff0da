"""Labelling from zero: a folder of photos, no tag, no label, no model."""

import pytest
from playwright.sync_api import expect

from tagloom.datasets import write_scenes
from tagloom.project.project import Project
from tests.web.browsing import CELL, at, press, until
from tests.web.conftest import FLAGS
from tests.web.test_browser_decide import LENS, reviewing
from tests.web.test_browser_pages import _serious

pytestmark = pytest.mark.medium


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    write_scenes(folder, 24, size=(96, 64), labeled=0.5, random_state=0)
    (folder / "labels.csv").unlink()
    with Project.init(folder, flags=FLAGS):
        return folder


def test_from_nothing_to_suggestions(photos, browser):
    with reviewing(photos, browser) as review:
        page = review.open("/")
        page.wait_for_selector(CELL)  # a project that was never scanned is scanned before the page opens
        page.click("nav a:has-text('Lens')")
        at(page, "/lens")
        expect(page.locator("[data-testid=lens-empty]")).to_contain_text("You have no tags yet.")
        assert _serious(page) == []
        press(page, "Enter")  # the way on has the focus
        at(page, "/teach")
        page.wait_for_selector("[data-testid=new-tag-name]:focus")
        page.keyboard.type("night")
        press(page, "Enter")
        page.wait_for_selector(f"{CELL}:focus")
        press(page, "a", "r", "r")
        page.click("[data-testid=train-first]")
        expect(page.locator(".page > [data-testid=train-offer]")).to_be_hidden()
        page.click("[data-testid=see-suggestions]")
        page.wait_for_selector(f"{LENS} {CELL}:focus")
        until(page, lambda: page.locator(f"{LENS} .value:not(:empty)").count() > 5, "photos have scores")
        expect(page.locator(".side [data-testid=not-calibrated]").last).to_have_text(
            "Not calibrated yet: label 19 more photos."
        )
        (tag,) = review.store.tags.numbers(["night"])
        assert {state for _, number, state in review.standing() if number == tag} == {0, 1}


def test_a_lens_with_tags_goes_on_to_one(photos, browser):
    with Project.open(photos, flags=FLAGS) as project:
        project.scan()
        project.label(["scene_00000.jpg"], add=["night"])
        (tag,) = project.store.tags.numbers(["night"])
    with reviewing(photos, browser) as review:
        page = review.open("/lens")
        at(page, f"/tag/{tag}")
        page.wait_for_selector(f"{LENS} {CELL}:focus")
