"""Explanations and evaluations of a project, on made-up scenes with cheap features."""

import json
import shutil

import numpy as np
import pytest

from tagloom.datasets import write_scenes
from tagloom.exceptions import InvalidInputError, StoreError
from tagloom.project.project import Project

pytestmark = pytest.mark.medium

LIGHT = {"descriptors": "color,edges", "n_workers": 1, "n_threads": 1, "n_neighbors": 5}
N_PHOTOS = 40


@pytest.fixture(scope="module")
def extracted(tmp_path_factory):
    """Return photos with a project that has features and labels, and no model."""
    folder = tmp_path_factory.mktemp("scenes") / "photos"
    write_scenes(folder, N_PHOTOS, size=(96, 64), labeled=0.6, random_state=0)
    with Project.init(folder, flags=LIGHT) as project:
        project.scan()
        project.import_keywords(folder / "labels.csv")
        project.extract()
    return folder


@pytest.fixture
def photos(extracted, tmp_path):
    copy = tmp_path / "photos"
    shutil.copytree(extracted, copy, copy_function=shutil.copy2)
    with Project.open(copy, flags=LIGHT) as project:
        project.move_root(copy)
    return copy


def open_unlabelled(project):
    """Return the photos of which nothing was said."""
    return sorted({row.photo_id for row in project.suggest(n=0)})


def check_sums(found):
    amounts = sum(one.amount for one in found.photos) + found.earlier
    assert found.photos_base + amounts + found.photos_other + found.photos_rest == pytest.approx(found.score, abs=1e-9)
    grouped = sum(one.amount for one in found.groups) + found.earlier
    assert found.groups_base + grouped + found.groups_rest == pytest.approx(found.score, abs=1e-9)
    sizes = [abs(one.amount) for one in found.photos]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("method", ["smoothed-ridge", "ridge"])
def test_ridge_is_explained_from_what_was_stored(photos, method):
    with Project.open(photos, flags=LIGHT) as project:
        project.train(method)
        for photo in open_unlabelled(project)[:4]:
            for tag in ("sky", "sea"):
                found = project.explain(photo, tag, n=5)
                assert (found.photos_exact, found.groups_exact, found.notes) == (True, True, ())
                assert found.error < 1e-6
                if found.kind == "score":
                    assert found.score == pytest.approx(found.value, abs=1e-5)
                assert len(found.photos) == 5
                assert {one.name for one in found.groups} >= {"color", "edges"}
                check_sums(found)
        everything = project.explain(photo, "sky", n=0)
        assert (everything.n_other, everything.photos_other) == (0, pytest.approx(0.0))
        assert len(everything.photos) == N_PHOTOS * 0.6
        assert json.loads(json.dumps(everything.as_dict()))["photos"][0]["photo"].startswith("scene_")


def test_a_label_moves_the_score_as_its_weight_says(photos):
    with Project.open(photos, flags=LIGHT | {"method": "harmonic"}) as project:
        project.train()
        photo = open_unlabelled(project)[0]
        found = project.explain(photo, "sky")
        assert found.photos_exact
        first = found.photos[0]
        before = project.explainer
        project.label(first.photo_id, **({"remove": "sky"} if first.has_tag else {"add": "sky"}))
        project.train()
        after = project.explain(photo, "sky")
        assert project.explainer is not before
        moved = -first.weight if first.has_tag else first.weight
        assert after.score == pytest.approx(found.score + moved, abs=1e-6)


@pytest.mark.parametrize("method", ["consistency", "neighbors", "laprls", "nova", "sfss", "auto"])
def test_other_methods_say_how_well_they_are_explained(photos, method):
    with Project.open(photos, flags=LIGHT) as project:
        project.train(method)
        found = project.explain(open_unlabelled(project)[0], "sky")
        check_sums(found)
        assert found.photos_exact == (method in ("consistency", "neighbors", "laprls", "auto"))
        assert found.groups_exact == (method == "nova")
        assert any("The table of photos" in note for note in found.notes) != found.photos_exact
        assert found.error == max(abs(found.photos_rest), abs(found.groups_rest))
        if method == "sfss" and found.kind == "probability":
            assert found.score == pytest.approx(np.log(found.value / (1 - found.value)), rel=1e-5)
            assert any("log-odds" in note for note in found.notes)


def open_labelled(project, tag):
    """Return the photos of which something was said about a tag, by id."""
    number = project.store.tags.find([tag])
    found = project.store.decisions.current(tag_ids=number)
    return found.photo_ids.tolist()


@pytest.mark.parametrize("method", ["auto", "smoothed-ridge", "ridge", "harmonic", "neighbors", "sfss"])
def test_of_a_labelled_photo_score_and_probability_are_without_its_label(photos, method):
    with Project.open(photos, flags=LIGHT) as project:
        project.train(method)
        for photo in open_labelled(project, "sky")[:3]:
            found = project.explain(photo, "sky", n=0)
            assert found.kind == "probability"
            assert found.knows_own_label is False
            assert photo not in {one.photo_id for one in found.photos}
            assert not any("knows" in note for note in found.notes)
            check_sums(found)
            if method == "sfss":
                assert found.score == pytest.approx(np.log(found.value / (1 - found.value)), rel=1e-5)
        unsaid = project.explain(open_unlabelled(project)[0], "sky")
        assert (unsaid.decided, unsaid.knows_own_label) == (None, False)


@pytest.mark.parametrize("method", ["harmonic", "neighbors"])
def test_the_score_of_a_labelled_photo_is_that_of_a_training_without_its_labels(photos, method):
    with Project.open(photos, flags=LIGHT) as project:
        project.train(method)
        photo = open_labelled(project, "sky")[0]
        found = project.explain(photo, "sky")
        said = [tag.text for tag in project.tags()]
        project.label(photo, clear=said)
        project.train(method)
        assert project.explain(photo, "sky").score == pytest.approx(found.score, abs=1e-6)


def test_a_score_that_knows_the_label_beside_a_probability_that_does_not_says_so(photos):
    with Project.open(photos, flags=LIGHT) as project:
        project.train("nova")
        found = project.explain(open_labelled(project, "sky")[0], "sky")
        assert (found.kind, found.knows_own_label) == ("probability", True)
        assert any("The score uses your label of this photo" in note for note in found.notes)
        assert not project.explain(open_unlabelled(project)[0], "sky").notes[0].startswith("The score uses")


def test_scores_are_explained_as_they_are_suggested(made_up):
    made = made_up(60, 2)
    made.say(range(12))
    made.project.train("ridge")
    found = made.project.explain(int(made.ids[0]), "tag 0")
    assert (found.kind, found.knows_own_label) == ("score", True)
    assert found.score == pytest.approx(found.value, abs=1e-5)


@pytest.mark.parametrize(
    ("n", "kind", "method"),
    [(12, "score", "harmonic"), (40, "probability", "harmonic"), (40, "probability", "consistency")],
)
def test_an_update_is_explained(made_up, n, kind, method):
    """Numbers that mix the model's with a ridge's: the ridge by photos and groups, the model as a row of its own."""
    made = made_up(120, n_tags=6, method=method)
    made.say(np.arange(n))
    project = made.project
    project.train()
    made.say(np.arange(n, n + 6))
    project.update()
    rows = [row for row in project.suggest(n=2) if row.photo_id in made.ids[n + 6 :]]
    assert {row.kind for row in rows} == {kind}
    for row in rows[:12]:
        found = project.explain(row.photo_id, row.tag)
        check_sums(found)
        assert found.photos_exact
        assert found.groups_exact
        assert found.error < 2e-3 * max(1.0, abs(found.score))
        assert found.earlier != 0.0
        assert any("comes from an update" in note for note in found.notes)
        assert {photo.photo_id for photo in found.photos} <= set(made.ids[: n + 6].tolist())
    decided = project.explain(int(made.ids[n]), rows[0].tag)
    assert decided.knows_own_label


def test_a_new_tag_after_a_training_is_explained(made_up):
    made = made_up(120, n_tags=6)
    made.say(np.arange(12), [0, 1, 2, 3, 4])
    made.project.train()
    made.say(np.arange(12, 18))
    made.project.update()
    found = made.project.explain(int(made.ids[60]), "tag 5")
    check_sums(found)
    assert found.earlier == 0.0
    assert found.photos_exact


def test_labels_that_no_update_knows_are_not_explained_away(made_up):
    """What was decided since the update is in no number: the rest is told."""
    made = made_up(120, n_tags=6, method="harmonic")
    made.say(np.arange(40))
    made.project.train()
    made.say(np.arange(40, 46))
    made.project.update()
    made.say(np.arange(46, 80))
    found = made.project.explain(int(made.ids[100]), "tag 0")
    check_sums(found)
    assert not found.photos_exact
    assert any("does not explain" in note for note in found.notes)


def test_what_explanations_share_is_kept_until_something_changes(photos):
    with Project.open(photos, flags=LIGHT) as project:
        with pytest.raises(StoreError, match="tagloom train"):
            project.explain("scene_00001.jpg", "sky")
        project.train("smoothed-ridge")
        first, second = open_unlabelled(project)[:2]
        project.explain(first, "sky")
        kept = project.explainer
        project.explain(second, "sea")
        assert project.explainer is kept
        project.label(second, add="sky")
        changed = project.explain(first, "sky")
        assert project.explainer is not kept
        assert changed.notes[0].startswith("Labels or photos have changed")
        assert project.explain(second, "sky").decided is True
        assert changed.groups_exact  # goes by the stored coefficients alone
        check_sums(changed)
        project.label(first, add="something new")
        with pytest.raises(InvalidInputError, match="does not know the tag 'something new'"):
            project.explain(first, "something new")
        with pytest.raises(InvalidInputError, match="n must be at least 0"):
            project.explain(first, "sky", n=-1)
        with pytest.raises(InvalidInputError, match="there is no tag 'skyy'"):
            project.explain(first, "skyy")
    with (
        Project.open(photos, flags=LIGHT | {"descriptors": "color"}) as project,
        pytest.raises(StoreError, match="train again"),
    ):
        project.explain(first, "sky")
