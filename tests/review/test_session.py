"""A review without HTTP: rankings against a literal loop, and a copy in memory that agrees with the store."""

import re
import shutil
import threading
import time
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from tagloom.catalog.photo_index import UnknownPhotoError
from tagloom.datasets import write_scenes
from tagloom.exceptions import InvalidInputError
from tagloom.learning.compare import compare
from tagloom.learning.suggest import open_suggestions
from tagloom.project.project import Project
from tagloom.review.jobs import JobRunningError
from tagloom.review.learner import ProjectLearner
from tagloom.review.ranking import PhotoQuery
from tagloom.review.session import NothingToUndoError, ReviewSession
from tagloom.review.state import UnknownTagError
from tagloom.tuning.wrong_labels import find_wrong_labels
from tests.made_named import Made

FLAGS = {"descriptors": "color", "method": "ridge", "n_workers": 1, "n_threads": 1}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("review") / "photos"
    write_scenes(folder, 24, size=(96, 64), labeled=0.5, random_state=1)
    (folder / "2024" / "may").mkdir(parents=True)
    for number in range(4):
        (folder / f"scene_{number:05d}.jpg").rename(folder / "2024" / "may" / f"Beach {number}.jpg")
    shutil.copy(folder / "scene_00010.jpg", folder / "copy.jpg")
    with Project.init(folder, flags=FLAGS) as project:
        project.scan()
        project.import_keywords(folder / "labels.csv")
        numbers = project.store.photos.table().ids
        project.store.photos.set_taken(numbers[:6], 1.6e9 + 86_400.0 * np.arange(6))
        project.train()
    return folder


@pytest.fixture
def project(trained, tmp_path):
    with Project.open(shutil.copytree(trained, tmp_path / "photos"), flags=FLAGS) as project:
        yield project


@pytest.fixture
def session(project):
    with ReviewSession(project, who="tester", with_looks=False) as session:
        yield session


def ids(session, **query):
    return session.ranking(PhotoQuery(**query)).ids.tolist()


def tag(project, text):
    return int(project.store.tags.find([text])[0])


def wait_for(check, seconds=20.0):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def check_agreement(session):
    """Compare the copy in memory with the store."""
    store, state = session.project.store, session.state
    live = [item.id for item in store.tags.all()]
    _, _, said = store.decisions.labels(session.photos.ids, live, implied=False)
    _, _, labels = store.decisions.labels(session.photos.ids, live)
    rows = [state.place(item) for item in live]
    np.testing.assert_array_equal(state.said[rows].T, said)
    np.testing.assert_array_equal(state.labels[rows].T, labels)
    assert state.version == store.decisions.count()


def literal_photos(project, number, wanted):
    """Return the photos in a state about a tag, one by one."""
    found = open_suggestions(project.store)
    column = found.tag_ids.tolist().index(number)
    _, _, Y = project.store.decisions.labels(found.photo_ids, [number])
    said = project.store.decisions.labels(found.photo_ids, found.tag_ids)[2]
    wrong = find_wrong_labels(found.values, said) if found.kind == "probability" else None
    doubted = set() if wrong is None else set(wrong.rows[wrong.columns == column].tolist())
    chosen = []
    for row, photo in enumerate(found.photo_ids.tolist()):
        above = found.values[row, column] > found.trained_thresholds[column]  # the page shows scores, too
        label = Y[row, 0]
        holds = {
            "any": True,
            "has": label == 1,
            "rejected": label == 0,
            "unreviewed": label == -1,
            "suggested": label == -1 and above,
            "conflicts": row in doubted,
        }[wanted]
        if holds:
            chosen.append(photo)
    return chosen


STATES = ["any", "has", "rejected", "unreviewed", "suggested", "conflicts"]


@pytest.mark.parametrize("wanted", STATES)
def test_states_of_a_tag(session, wanted):
    for text in ("sky", "sea"):
        number = tag(session.project, text)
        assert sorted(ids(session, tag=number, state=wanted)) == literal_photos(session.project, number, wanted)


@pytest.mark.parametrize("wanted", ["has", "rejected", "suggested", "conflicts"])
def test_states_of_any_tag(session, wanted):
    tags = open_suggestions(session.project.store).tag_ids.tolist()
    union = {photo for number in tags for photo in literal_photos(session.project, number, wanted)}
    assert set(ids(session, state=wanted)) == union


def test_orders(session):
    photos, state = session.photos, session.state
    names = dict(zip(photos.ids.tolist(), photos.paths, strict=True))
    by_path = sorted(names, key=names.get)
    assert ids(session) == by_path
    number = tag(session.project, "sky")
    values = dict(zip(photos.ids.tolist(), state.values[state.place(number)].tolist(), strict=True))
    assert ids(session, sort="score", tag=number) == sorted(by_path, key=lambda photo: -values[photo])
    taken = dict(zip(photos.ids.tolist(), np.nan_to_num(photos.taken, nan=np.inf).tolist(), strict=True))
    assert ids(session, sort="time") == sorted(by_path, key=taken.get)
    limit = state.limits[state.place(number)] if state.kind == "score" else 0.5
    doubt = sorted(by_path, key=lambda photo: abs(np.float32(values[photo]) - np.float32(limit)))
    assert ids(session, sort="uncertainty", tag=number) == doubt


def test_filters(session):
    photos = session.photos
    names = dict(zip(photos.ids.tolist(), photos.names, strict=True))
    assert {names[photo] for photo in ids(session, folder="2024")} == {f"2024/may/Beach {n}.jpg" for n in range(4)}
    assert photos.folders == ["", "2024", "2024/may"]
    assert len(ids(session, folder="")) == len(photos)
    assert [names[photo] for photo in ids(session, words=("BEACH", "2.jp"))] == ["2024/may/Beach 2.jpg"]
    dated = np.flatnonzero(np.isfinite(photos.taken))
    assert sorted(ids(session, since="2020-09-14", until="2020-09-15")) == photos.ids[dated[1:3]].tolist()
    number = tag(session.project, "sky")
    found = set(ids(session, words=("sky",)))
    assert found == {*ids(session, tag=number, state="has"), *ids(session, tag=number, state="suggested")}
    for query in ({"folder": "202"}, {"since": "x"}, {"sort": "size"}, {"state": "x"}):
        with pytest.raises(InvalidInputError):
            ids(session, **query)
    with pytest.raises(UnknownTagError):
        ids(session, tag=10**6)


def test_a_search_does_not_run_from_one_path_into_the_next(session):
    names = session.photos.names
    assert ids(session, words=(names[0][-3:] + "\0" + names[1][:3],)) == []


def test_unknown_photos(session):
    for number in (0, -1, 10**6, 2**31, 2**70):
        with pytest.raises(UnknownPhotoError):
            session.photo(number)
        with pytest.raises(UnknownPhotoError):
            session.cells([1, number])


def test_decisions_and_their_undo(session):
    sky, sea = tag(session.project, "sky"), tag(session.project, "sea")
    before = session.state.labels.copy()
    for state in (1, 0, -1, 1):
        done = session.decide([3, 5, 20], [sky, sea], state)
        assert done["version"] == session.project.store.decisions.count()
        check_agreement(session)
    for _ in range(4):
        session.undo()
        check_agreement(session)
    np.testing.assert_array_equal(session.state.labels, before)
    session.redo()
    check_agreement(session)
    assert [batch["kind"] for batch in session.history(2)["batches"]] == ["redo", "undo"]


def test_a_decision_that_is_asked_for_again_is_made_once(project):
    sky, sea = tag(project, "sky"), tag(project, "sea")
    asked = {"photos": [3, 5], "tags": [sky], "state": 0, "key": "the page's name for it"}
    with ReviewSession(project, with_looks=False) as session:
        first = session.decide(**asked)
        assert first["n"] == 2
    with ReviewSession(project, with_looks=False) as session:  # the server was started anew
        session.change_tag(sky, "merge_into", sea)
        assert session.decide(**asked) | {"version": first["version"]} == first
        session.undo()
        assert session.withdraw(asked["key"])["batch"] == first["batch"]
        assert session.withdraw(asked["key"])["batch"] is None  # it is undone already
        n_batches = len(project.history(1000))
        assert session.withdraw("not come yet")["batch"] is None
        assert session.decide([3], [sky], 0, key="not come yet")["batch"] is None
        assert len(project.history(1000)) == n_batches
        check_agreement(session)


def test_too_many_pairs(session):
    with pytest.raises(InvalidInputError, match="pairs"):
        session.decide([1] * 100_001, [1], 1)
    with pytest.raises(InvalidInputError, match="pairs"):
        session.decide([1] * 100_001, [1] * 100_001, 1, paired=True)
    with pytest.raises(InvalidInputError, match="pairs"):
        session.decide([], [1], 1)


def test_nothing_to_undo(tmp_path):
    with Project.init(tmp_path) as project, ReviewSession(project, with_looks=False) as session:
        with pytest.raises(NothingToUndoError):
            session.undo()
        assert session.overview()["next_job"] == "scan"
        assert session.ranking(PhotoQuery(sort="score")).ids.tolist() == []
        assert session.teach(None, 5)["ids"] == []
        assert session.progress()["n_photos"] == 0


def test_changes_of_tags(session):
    store = session.project.store
    sky, sea = tag(session.project, "sky"), tag(session.project, "sea")
    water = session.add_tag("water")["id"]
    session.change_tag(sea, "parent", water)
    check_agreement(session)
    assert ids(session, tag=water, state="has") == ids(session, tag=sea, state="has") != []
    photo = ids(session, tag=sea, state="has")[0]
    shown = next(item for item in session.photo(photo)["tags"] if item["id"] == water)
    assert (shown["state"], shown["origin"], shown["implied"]) == (1, None, True)
    session.change_tag(sky, "merge_into", sea)
    check_agreement(session)
    cells = session.cells(session.photos.ids.tolist())["cells"]
    assert sky not in {number for cell in cells for number, _ in cell["suggested"]}
    assert session.overview()["merged"] == [{"id": sky, "text": "sky", "into": sea}]
    with pytest.raises(InvalidInputError, match="'sky' was merged into 'sea'"):
        session.decide([1], [sky], 1)
    session.undo()
    assert session.overview()["merged"] == []
    check_agreement(session)
    session.change_tag(sky, "rename", "heaven")
    assert session.tag(sky).text == "heaven"
    assert store.tags.find(["sky"])[0] == sky


def test_another_process_is_seen(session):
    with Project.open(session.project.folder) as other:
        other.label([7], add=["from elsewhere"])
        other.label([8], remove=["sky"])
    wait_for(lambda: session.state.version == session.project.store.decisions.count())
    check_agreement(session)
    assert ids(session, tag=tag(session.project, "from elsewhere"), state="has") == [7]


def test_threads_decide_at_once(session):
    numbers = [session.add_tag(f"tag {number}")["id"] for number in range(4)]

    def work(number):
        for photo in range(1, 11):
            session.decide([photo], [number], 1)

    threads = [threading.Thread(target=work, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check_agreement(session)
    for number in numbers:
        assert len(ids(session, tag=number, state="has")) == 10


def test_pace(session, monkeypatch):
    clock = iter([100.0, 102.0, 1000.0, 1004.0])
    monkeypatch.setattr("tagloom.review.session.time", SimpleNamespace(monotonic=lambda: next(clock)))
    for photo in (1, 2, 3, 4):
        session.decide([photo], [session.add_tag("x")["id"]], 1)
    assert session.progress()["seconds_per_photo"] == 3.0  # 2 s and 4 s; the long pause does not count


class _Learner:
    """Learns by counting: the number of each photo is how often it was told to."""

    kind = "probability"

    def __init__(self, session_photos, number):
        self.photo_ids = session_photos
        self.tag_ids = np.array([number])
        self.thresholds = np.array([0.5])
        self.values = np.zeros((len(session_photos), 1), dtype=np.float32)
        self.n_updates, self.saved, self.closed = 0, False, False

    def update(self):
        self.n_updates += 1
        self.values = np.full_like(self.values, 1 - 0.5**self.n_updates)
        return SimpleNamespace(tag_ids=(int(self.tag_ids[0]),), seconds=0.01)

    def save(self):
        self.saved = True

    def close(self):
        self.closed = True


def test_learning_follows_decisions(project):
    number = tag(project, "sky")
    learner = _Learner(project.store.photos.table().ids, number)
    heard = []
    with ReviewSession(project, with_looks=False, make_learner=lambda: learner) as session:
        session.events.listen(lambda event: heard.append(event))
        wait_for(lambda: learner.n_updates == 1)
        session.decide([1], [number], 1)
        wait_for(lambda: learner.n_updates == 2 and any(item.name == "learned" for item in heard))
        with session.state.lock:
            np.testing.assert_allclose(session.state.values[session.state.place(number)], 0.75)
        assert session.state.kind == "probability"
    assert learner.saved
    assert learner.closed
    assert heard[-1] is None


def test_a_new_tag_is_learned_from_a_few_examples(project):
    with ReviewSession(project, with_looks=False, make_learner=lambda: ProjectLearner(project)) as session:
        number = session.add_tag("mine")["id"]
        photos = session.photos.ids.tolist()
        session.decide(photos[:5], [number], 1)
        session.decide(photos[5:10], [number], 0)

        def has_numbers():
            with session.state.lock:
                return np.isfinite(session.state.values[session.state.place(number)]).all()

        wait_for(has_numbers, 60.0)
    # … and what was learned is stored when the review ends.
    assert number in project.store.suggestions.load().tag_ids


def test_a_tag_whose_examples_are_undone_is_suggested_no_more(project):
    with ReviewSession(project, with_looks=False, make_learner=lambda: ProjectLearner(project)) as session:
        number = session.add_tag("mine")["id"]
        photos = session.photos.ids.tolist()

        def numbers():
            with session.state.lock:
                return np.isfinite(session.state.values[session.state.place(number)])

        session.decide(photos[:5], [number], 1)
        wait_for(lambda: numbers().all(), 60.0)
        session.undo()
        wait_for(lambda: not numbers().any(), 60.0)


def test_jobs(session):
    sentences = []
    session.events.listen(lambda event: event and event.name == "job" and sentences.append(event.data["state"]))
    job = session.start_job("scan")
    wait_for(lambda: job.state != "running")
    assert (job.state, sentences[0], sentences[-1]) == ("done", "running", "done")
    with pytest.raises(InvalidInputError):
        session.start_job("scan", {"path": "x"})
    with pytest.raises(InvalidInputError):
        session.start_job("export", {"format": "csv"})
    with pytest.raises(InvalidInputError):
        session.jobs.cancel(99)


def test_a_comparison_tells_what_it_found_of_each_method(session, monkeypatch):
    monkeypatch.setattr("tagloom.review.jobs.compare", partial(compare, methods=("ridge", "neighbors", "topics")))
    stages = []
    session.events.listen(lambda event: event and event.name == "job" and stages.append(event.data["label"]))
    job = session.start_job("compare")
    wait_for(lambda: job.state != "running")
    best, other, without = job.as_dict()["methods"]
    assert job.state == "done"
    assert job.message == f"{best['method']} is the best of 2 methods: {best['map']:.3f} mean average precision"
    assert {best["method"], other["method"]} == {"ridge", "neighbors"}
    assert other["behind"] == pytest.approx(best["map"] - other["map"])
    assert "needs visual words" in without["why_not"]
    assert any(stage.startswith("neighbors: ") for stage in stages)
    with pytest.raises(InvalidInputError, match="compare has no option"):
        session.start_job("compare", {"format": "csv"})


def test_a_scan_brings_new_photos(session):
    root = session.project.root
    shutil.copy(root / "scene_00012.jpg", root / "another.jpg")
    before = len(session.photos)
    job = session.start_job("scan")
    wait_for(lambda: job.state == "done")
    assert len(session.photos) == before + 1
    assert "another.jpg" in session.photos.names
    check_agreement(session)


def test_a_scan_suggests_by_names_where_nothing_is_labelled(tmp_path, monkeypatch):
    made = Made(tmp_path, tags=())
    found = SimpleNamespace(as_dict=lambda: {"new": ["00000.jpg"], "missing": []})
    monkeypatch.setattr("tagloom.review.jobs.scan", lambda *_, **__: found)
    with ReviewSession(made.project, with_looks=False) as session:
        assert made.project.store.suggestions.latest() is None
        job = session.start_job("scan")
        wait_for(lambda: job.state != "running", 60.0)
        assert job.state == "done"
        assert re.search(r"names of [1-9]\d* tags fit some of them$", job.message)
        assert made.project.store.suggestions.latest() is not None
    made.project.close()


def test_one_job_at_a_time_and_cancel(session):
    began, go_on = threading.Event(), threading.Event()

    def work(progress):
        progress.start("counting", 1000)
        began.set()
        assert go_on.wait(20)
        for _ in range(1000):
            progress.advance()
        return "all of it"

    job = session.jobs.start("train", work)
    assert began.wait(20)
    with pytest.raises(JobRunningError):
        session.start_job("scan")
    session.jobs.cancel(job.id)
    go_on.set()
    wait_for(lambda: job.state == "cancelled")
    assert job.done < 1000


def test_a_job_that_fails(session, caplog):
    job = session.jobs.start("train", lambda progress: 1 / 0)
    wait_for(lambda: job.state == "failed")
    assert "division" in caplog.text
    assert "division" not in job.message


def test_busy_elsewhere(session):
    with Project.open(session.project.folder) as other, other.store.lock():
        job = session.start_job("scan")
        wait_for(lambda: job.state == "failed")
    assert "another tagloom" in job.message


def test_cells_and_photo_tell_the_same(session):
    numbers = session.photos.ids.tolist()
    cells = session.cells(numbers)["cells"]
    for cell in cells:
        photo = session.photo(cell["id"])
        assert photo["suggested"] == cell["suggested"]
        said = {item["id"] for item in photo["tags"] if item["state"] == 1 and not item["implied"]}
        assert set(cell["yes"]) == said
        assert cell["reviewed"] == bool(cell["yes"] or cell["no"])
