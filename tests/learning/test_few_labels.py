import numpy as np
import pytest

from tagloom.learning.few_labels import labels_needed, not_calibrated
from tagloom.metadata.formats import available_exporters
from tagloom.review.session import ReviewSession
from tagloom.tuning.calibration.calibrated import cautious_precision


@pytest.fixture
def labelled(made_up):
    """Return a function that makes a project of which some photos are labelled, and trains it."""

    def make(n, method="ridge"):
        found = made_up(120, n_tags=12, method=method)
        found.say(np.arange(n))
        found.project.train()
        return found.project

    return make


def test_scores_that_are_not_calibrated_are_not_exported(labelled, tmp_path):
    project = labelled(10)
    done = project.export(tmp_path / "out.csv")
    assert done.n_suggested == 0
    assert "not calibrated yet: label 10 more photos" in done.withheld
    assert "--uncalibrated" in done.withheld
    assert project.export(tmp_path / "out.csv", threshold=-100.0).n_suggested == 0
    assert project.export(tmp_path / "all.csv", threshold=-100.0, uncalibrated=True).n_suggested > 0
    assert project.export(tmp_path / "none.csv", accepted_only=True).withheld == ""


@pytest.mark.parametrize("format", available_exporters())
def test_no_format_holds_scores_that_are_not_calibrated(labelled, tmp_path, format, request):
    if format == "parquet":
        request.getfixturevalue("pyarrow")
    assert labelled(10).export(tmp_path / "out", format).n_suggested == 0


def test_a_threshold_of_the_project_lets_no_uncalibrated_scores_out(labelled, tmp_path):
    project = labelled(10)
    project.threshold = -100.0
    assert project.export(tmp_path / "out.csv").n_suggested == 0
    assert project.write(accepted_only=False).n_suggested == 0


def test_scores_that_are_not_calibrated_are_not_written(labelled):
    project = labelled(10)
    for options in ({"accepted_only": False}, {"threshold": -100.0}):
        done = project.write(dry_run=True, **options)
        assert done.n_suggested == 0
        assert "not calibrated yet: label 10 more photos" in done.withheld
    done = project.write(dry_run=True, threshold=-100.0, uncalibrated=True)
    assert done.n_suggested > 0
    assert done.withheld == ""
    assert project.write(dry_run=True).withheld == ""


def test_uncalibrated_scores_are_suggested_and_none_is_above_the_threshold(labelled):
    project = labelled(10)
    found = project.suggest()
    assert {item.kind for item in found} == {"score"}
    assert not any(item.is_above for item in found)
    assert any(item.is_above for item in project.suggest(threshold=-100.0))  # asked for by a number


def test_calibrated_probabilities_leave_as_before(labelled, tmp_path):
    project = labelled(60)
    done = project.export(tmp_path / "out.csv", threshold=0.0)
    assert done.n_suggested > 0
    assert done.withheld == ""
    assert project.write(dry_run=True, threshold=0.0).n_suggested > 0
    none = project.export(tmp_path / "none.csv", threshold=1.0)
    assert (none.n_suggested, "Label more photos" in none.withheld) == (0, True)
    none = project.write(dry_run=True, threshold=1.0)
    assert (none.n_suggested, "Label more photos" in none.withheld) == (0, True)


def test_without_a_model_there_is_nothing_to_suggest_and_it_is_said(made_up, tmp_path):
    found = made_up(20)
    assert "tagloom review" in found.project.export(tmp_path / "none.csv").withheld
    assert "tagloom review" in found.project.write(accepted_only=False).withheld
    found.say(range(3))
    assert "tagloom train" in found.project.export(tmp_path / "out.csv").withheld
    assert "tagloom train" in found.project.write(accepted_only=False).withheld
    assert found.project.export(tmp_path / "accepted.csv", accepted_only=True).withheld == ""
    assert found.project.write().withheld == ""


def test_suggestions_that_are_written_already_are_not_called_missing(labelled):
    project = labelled(60)
    assert project.write(threshold=0.5).n_suggested > 0
    again = project.write(threshold=0.5)
    assert (again.n_suggested, again.withheld) == (0, "")


def test_what_is_needed_counts_photos_and_tags(made_up):
    found = made_up(120)
    assert labels_needed(found.project.store) == 20
    found.say(np.arange(15))
    n_yes = int((found.truth[:15] == 1).sum())
    assert labels_needed(found.project.store) == max(5, 20 - n_yes)
    found.say(np.arange(60))
    assert labels_needed(found.project.store) == 0


def test_what_is_said_of_scores():
    assert not_calibrated(3) == "not calibrated yet: label 3 more photos"
    assert not_calibrated(1) == "not calibrated yet: label 1 more photo"
    assert not_calibrated(0) == "not calibrated yet: run tagloom train"


def test_the_page_is_told(labelled):
    with ReviewSession(labelled(10), with_looks=False) as session:
        told = session.overview()["progress"]
    assert (told["calibrated"], told["labels_needed"]) == (False, 10)
    with ReviewSession(labelled(60), with_looks=False) as session:
        told = session.overview()["progress"]
    assert (told["calibrated"], told["labels_needed"]) == (True, 0)


def test_the_report_says_it(labelled, tmp_path):
    labelled(10).report(tmp_path / "few.html")
    assert "not calibrated yet: label 10 more photos" in (tmp_path / "few.html").read_text(encoding="utf-8")
    labelled(60).report(tmp_path / "many.html")
    assert "not calibrated yet" not in (tmp_path / "many.html").read_text(encoding="utf-8")


def test_few_labels_have_to_be_surer():
    wanted = [cautious_precision(0.9, n) for n in (0, 20, 35, 50, 500)]
    assert wanted == pytest.approx([0.95, 0.95, 0.925, 0.9, 0.9])
    assert cautious_precision(0.5, 20) == pytest.approx(0.75)


@pytest.mark.parametrize("method", ["ridge", "auto"])
def test_what_leaves_with_few_labels_is_surer_than_what_leaves_with_many(labelled, method):
    for n in (25, 100):
        above = [item.value for item in labelled(n, method).suggest(n=0) if item.is_above]
        assert not above or np.mean(above) >= cautious_precision(0.9, n) - 1e-6
