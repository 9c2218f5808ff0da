from tagloom.jobs.demo import demo_project
from tagloom.review.session import ReviewSession


def test_demo_project_is_ready_for_review(tmp_path):
    flags = {"descriptors": "color", "method": "ridge", "n_workers": 1, "n_threads": 1}
    with (
        demo_project(tmp_path, n_photos=20, labeled=0.5, flags=flags) as project,
        ReviewSession(project, with_looks=False) as session,
    ):
        found = session.overview()
    assert found["n_photos"] == 20
    assert found["model"] is not None
    assert found["next_job"] is None
    assert 0 < found["progress"]["n_reviewed"] < 20
