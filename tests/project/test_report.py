"""The page of a project: what was said, suggested and measured."""

import io
import re

import pytest
from PIL import Image

from tagloom.exceptions import WriteError
from tagloom.store.lock import FolderLock
from tests.made_evaluation import make_evaluation
from tests.report.test_report import Page


@pytest.fixture
def trained(made_up):
    """Return a project of 40 photos, 24 of them decided, with a model."""
    made = made_up(40, 3)
    made.say(range(24))
    made.project.train("ridge")
    return made


@pytest.fixture
def page(tmp_path):
    """Return a function that writes the report of a project and returns page and result."""

    def write(made):
        result = made.project.report(tmp_path / "report.html")
        return Page(result.file.read_text(encoding="utf-8")), result

    return write


def test_photos_tags_and_suggestions_are_those_of_the_project(trained, page):
    shown, result = page(trained)
    assert (result.n_photos, result.n_shown, result.n_labeled, result.n_with_suggestions) == (40, 40, 24, 16)
    tags = shown.data["tags"]
    suggested = {photo[0]: [(tags[tag], text) for tag, text, _ in photo[4]] for photo in shown.data["photos"]}
    expected = {}
    for row in trained.project.suggest(n=5):
        expected.setdefault(row.photo.decode(), []).append((row.tag, f"{row.value:.2f}"))
    assert {name: found for name, found in suggested.items() if found} == expected
    given = {photo[0]: {tags[tag] for tag in photo[3]} for photo in shown.data["photos"]}
    for row in range(24):
        assert given[f"{row:05d}.jpg"] == {f"tag {tag}" for tag in trained.truth[row].nonzero()[0]}
    names = [photo[0] for photo in shown.data["photos"]]
    assert names == [f"{row:05d}.jpg" for row in (*range(24, 40), *range(24))]  # suggestions first, then by path
    assert "ridge" in shown.text


def _learned_from(shown):
    return int(re.search(r"learned from ([\d,]+) labelled photo", shown.text).group(1).replace(",", ""))


def test_it_says_how_many_photos_the_model_has_learnt_from(trained, page):
    assert _learned_from(page(trained)[0]) == 24
    trained.say(range(24, 30))
    shown, result = page(trained)
    assert (_learned_from(shown), result.n_labeled) == (24, 30)
    trained.project.update()
    assert _learned_from(page(trained)[0]) == 30
    trained.project.undo()
    trained.project.undo()
    shown, result = page(trained)
    assert (_learned_from(shown), result.n_labeled) == (30, 0)


def test_the_last_evaluation_is_on_it_and_says_when_it_is_old(trained, page):
    before, result = page(trained)
    assert "Measured on your labels" not in before.text
    assert not result.has_evaluation
    assert "tagloom evaluate" in before.text
    found = trained.project.evaluate("ridge", folds=2, curve=False, groups=False)
    now, result = page(trained)
    assert f"{found.map:.3f} ({found.map_low:.3f} to {found.map_high:.3f})" in now.text
    assert "on all your decisions" in now.text
    assert result.has_evaluation
    trained.say([30], [0, 1])
    old, result = page(trained)
    assert f"{found.map:.3f}" in old.text
    assert "before 2 further decisions" in old.text
    assert "before 2 further decisions" in result.note


def test_another_method_is_named(trained, page):
    trained.project.evaluate("neighbors", folds=2, curve=False, groups=False)
    assert "Measured with neighbors; the suggestions are by ridge." in page(trained)[0].text


def test_an_evaluation_that_cannot_be_read_is_a_note(trained, page):
    store = trained.project.store
    run = store.runs.start("evaluate", {"labels_digest": "", "n_decisions": 0})
    store.runs.end(run, {"format": 0, "evaluation": make_evaluation().as_dict()})
    shown, result = page(trained)
    assert "cannot be read" in shown.text
    assert "Measured on your labels" not in shown.text
    assert not result.has_evaluation


def test_thumbnails_of_what_is_shown(made_up, page):
    made = made_up(6, 2, report_photos=4)
    made.say([0, 1, 2])
    stream = io.BytesIO()
    Image.new("RGB", (8, 6), (200, 30, 60)).save(stream, "webp")
    store = made.project.store
    with store.lock(), store.cache() as cache:
        cache.put_thumbnails([(f"{number:064x}", stream.getvalue()) for number in (1, 4, 5, 6)])
    shown, result = page(made)
    assert (result.n_photos, result.n_shown) == (6, 4)
    assert [photo[0] for photo in shown.data["photos"]] == [f"{row:05d}.jpg" for row in (3, 4, 5, 0)]
    assert all(photo[1].startswith("data:image/webp;base64,") for photo in shown.data["photos"])
    assert "first 4 of 6 photos" in shown.text


def test_before_anything_was_said(made_up, page):
    shown, result = page(made_up(3, 0))
    assert (result.n_photos, result.n_labeled, result.n_with_suggestions, result.has_evaluation) == (3, 0, 0, False)
    assert len(shown.data["photos"]) == 3
    assert not re.search(r"\{\{\w+\}\}", shown.text)


def test_no_lock_is_needed_and_a_refusal_is_told(trained, page, tmp_path):
    with FolderLock(trained.project.folder):
        assert page(trained)[1].n_photos == 40
    with pytest.raises(WriteError):
        trained.project.report(tmp_path / "nowhere" / "report.html")


def test_photos_out_of_reach_keep_their_suggestions(made_up, tmp_path):
    made = made_up(20, 2, project=tmp_path / "elsewhere")
    made.say(range(10))
    made.project.train("ridge")
    before = made.project.suggest(n=2)
    made.project.root.rename(tmp_path / "unplugged")
    assert made.project.status().n_offline == 20
    assert made.project.suggest(n=2) == before
    assert made.project.report(tmp_path / "report.html").n_with_suggestions == 10
    assert len(made.project.next_photos(30).photos) == 10
