import json
import shutil
import time

import apsw
import numpy as np
import pytest
from PIL import Image

from tests.web.conftest import opened, visiting

pytestmark = pytest.mark.medium

MARKUP = "<img src=x onerror=alert(1)>"


def ranked(answer):
    assert answer.status_code == 200, answer.text
    data = answer.content
    n = int.from_bytes(data[:4], "little")
    header = json.loads(data[4 : 4 + n])
    assert (4 + n) % 4 == 0
    ids = np.frombuffer(data, "<i4", header["n"], 4 + n)
    values = np.frombuffer(data, "<f4", -1, 4 + n + 4 * header["n"])
    assert len(values) == (header["n"] if header["has_values"] else 0)
    return header, ids, values


def tag_id(client, text):
    return next(tag["id"] for tag in client.get("/api/project").json()["tags"] if tag["text"] == text)


def undo_next(client):
    """Undo as the page does: ask what is next, then name it."""
    return client.post("/api/undo", json={"batch": client.get("/api/history?limit=1").json()["next_undo"]["id"]})


def wait_for(check, seconds=20.0):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def test_project(client, session):
    found = client.get("/api/project").json()
    assert found["n_photos"] == 20
    assert found["version"] == session.project.store.decisions.count()
    assert found["model"]["method"] == "ridge"
    stored = {tag.text: (tag.n_yes, tag.n_no) for tag in session.project.tags()}
    assert {tag["text"]: (tag["n_yes"], tag["n_no"]) for tag in found["tags"]} == stored


def test_markup_stays_text(client):
    answer = client.get("/api/project")
    assert answer.headers["Content-Type"] == "application/json"
    assert MARKUP in [tag["text"] for tag in answer.json()["tags"]]
    _, ids, _ = ranked(client.get("/api/ranking", params={"q": "onerror"}))
    names = [cell["name"] for cell in client.get(f"/api/cells?ids={','.join(map(str, ids))}").json()["cells"]]
    assert f"{MARKUP}.jpg" in names
    assert MARKUP.encode() not in client.get("/").content


def test_ranking_and_lens(client, session):
    header, ids, _ = ranked(client.get("/api/ranking"))
    table = session.project.store.photos.table()
    by_path = [number for _, number in sorted(zip(table.paths, table.ids.tolist(), strict=True))]
    assert ids.tolist() == by_path
    assert header["sort"] == "path"
    tag = tag_id(client, "sky")
    header, ids, values = ranked(client.get(f"/api/lens/{tag}"))
    assert sorted(ids.tolist()) == sorted(by_path)
    assert (np.diff(values) <= 0).all()
    stored = session.project.store.suggestions.load()
    column = stored.tag_ids.tolist().index(tag)
    rows = [stored.photo_ids.tolist().index(number) for number in ids.tolist()]
    np.testing.assert_array_equal(values, stored.scores[rows, column].astype(np.float32))


@pytest.mark.parametrize(
    "query",
    [
        "sort=size",
        "state=maybe",
        "tag=x",
        "tag=0",
        "tag=1&tag=2",
        "nobody=1",
        "stacks=2",
        "since=tomorrow",
        "folder=no",
    ],
)
def test_ranking_refuses(client, query):
    answer = client.get(f"/api/ranking?{query}")
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_cells(client):
    ids = ranked(client.get("/api/ranking"))[1].tolist()
    cells = client.get(f"/api/cells?ids={','.join(map(str, ids))}").json()["cells"]
    assert [cell["id"] for cell in cells] == ids
    assert all(len(cell["suggested"]) <= 5 for cell in cells)
    assert client.get(f"/api/cells?ids={','.join(['1'] * 301)}").status_code == 400
    assert client.get("/api/cells?ids=999").status_code == 404
    assert client.get("/api/cells").status_code == 400


def test_pictures(client, tmp_path):
    thumb = client.get("/api/cells?ids=1").json()["cells"][0]["thumb"]
    for address in (thumb, thumb.replace("thumb", "large")):
        answer = client.get(address)
        assert answer.headers["Content-Type"] == "image/webp"
        assert "immutable" in answer.headers["Cache-Control"]
        path = tmp_path / "picture"
        path.write_bytes(answer.content)
        with Image.open(path) as image:
            assert image.format == "WEBP"
            assert max(image.size) <= 1600
    assert client.get("/thumb/1").headers["Cache-Control"] == "no-store"
    assert client.get("/thumb/1?v=0000").headers["Cache-Control"] == "no-store"


def test_picture_of_a_file_that_is_gone(client, photos):
    name = client.get("/api/photo/2").json()["path"]
    (photos / name).unlink()
    assert client.get("/thumb/2").status_code == 200
    answer = client.get("/large/2")
    assert answer.status_code == 404
    assert name in answer.json()["error"]


def test_decide_undo_redo(client, session):
    tag = client.post("/api/tags", json={"text": "new tag"}).json()
    assert tag == {"id": tag["id"], "text": "new tag", "created": True}
    assert client.post("/api/tags", json={"text": " new  tag "}).json() == tag | {"created": False}
    body = {"photos": [3, 4], "tags": [tag["id"]], "state": 1}
    done = client.post("/api/decide", json=body).json()
    assert done["n"] == 2
    assert done["version"] == session.project.store.decisions.count()

    def has():
        return ranked(client.get("/api/ranking", params={"tag": tag["id"], "state": "has"}))[1].tolist()

    assert sorted(has()) == [3, 4]
    assert client.post("/api/decide", json=body).json()["batch"] is None
    assert client.get("/api/history").json()["can_redo"] is False
    assert undo_next(client).json()["batch"] == done["batch"]
    assert has() == []
    assert client.get("/api/history").json()["can_redo"] is True
    assert client.post("/api/redo", json={}).json()["batch"] == done["batch"]
    assert sorted(has()) == [3, 4]
    assert client.post("/api/redo", json={}).status_code == 409
    latest = client.get("/api/history?limit=1").json()["batches"]
    assert [batch["kind"] for batch in latest] == ["redo"]


def states(session, tags):
    found = session.project.store.decisions.current(tag_ids=tags)
    return dict(zip(zip(found.photo_ids.tolist(), found.tag_ids.tolist(), strict=True), found.states, strict=True))


def test_several_tags_are_one_action(client, session):
    tags = [client.post("/api/tags", json={"text": text}).json()["id"] for text in ("one", "two")]
    body = {"photos": [3, 4, 5], "tags": [tags[0], tags[1], tags[0]], "state": 1, "paired": True}
    done = client.post("/api/decide", json=body).json()
    assert done["n"] == 3
    expected = {(3, tags[0]): 1, (4, tags[1]): 1, (5, tags[0]): 1}
    assert states(session, tags) == expected
    (batch,) = client.get("/api/history?limit=1").json()["batches"]
    assert (batch["id"], batch["n"], batch["label"]) == (done["batch"], 3, "label 3 photos: +one +two")
    assert client.post("/api/decide", json=body).json()["batch"] is None
    assert undo_next(client).json()["batch"] == done["batch"]
    assert states(session, tags) == {}


def test_an_undo_takes_back_what_it_names(client, session):
    tag = client.post("/api/tags", json={"text": "new tag"}).json()["id"]
    first = client.post("/api/decide", json={"photos": [3], "tags": [tag], "state": 1}).json()["batch"]
    client.post("/api/decide", json={"photos": [4], "tags": [tag], "state": 1})
    count = session.project.store.decisions.count()
    for body in ({}, {"batch": None}, {"batch": "latest"}, {"batch": 10**6}, {"key": ""}, {"batch": first, "key": "x"}):
        assert client.post("/api/undo", json=body).status_code == 400
    assert session.project.store.decisions.count() == count
    assert client.post("/api/undo", json={"batch": first}).json()["batch"] == first
    assert states(session, [tag]) == {(4, tag): 1}
    assert client.post("/api/undo", json={"batch": first}).status_code == 400  # another tab was quicker
    assert client.post("/api/redo", json={}).json()["batch"] == first
    assert states(session, [tag]) == {(3, tag): 1, (4, tag): 1}


def test_a_request_with_a_key_is_carried_out_once(client, session):
    tag = client.post("/api/tags", json={"text": "new tag"}).json()["id"]
    body = {"photos": [3], "tags": [tag], "state": 1, "key": "c0ffee"}
    first = client.post("/api/decide", json=body).json()
    assert client.post("/api/decide", json=body).json() == first
    assert client.post("/api/undo", json={"key": "c0ffee"}).json()["batch"] == first["batch"]
    assert client.post("/api/undo", json={"key": "c0ffee"}).json()["batch"] is None
    assert client.post("/api/decide", json=body).json()["batch"] == first["batch"]  # undone, and not done again
    assert states(session, [tag]) == {}
    for key in ("", 7, None, "x" * 65):
        assert client.post("/api/decide", json=body | {"key": key}).status_code == 400


def test_history_says_what_an_undo_would_take_back(client, session):
    def following():
        found = client.get("/api/history?limit=1").json()["next_undo"]
        return found["id"], found["kind"], found["n"], found["is_own"]

    before = session.project.store.decisions.undoable()
    assert following() == (before.id, "decide", before.n, False)  # made before the review began
    tag = tag_id(client, "sky")
    own = client.post("/api/decide", json={"photos": [15, 16], "tags": [tag], "state": 1}).json()["batch"]
    assert following() == (own, "decide", 2, True)
    elsewhere = session.project.label([17], add=["sky"]).batch.id
    assert following() == (elsewhere, "decide", 1, False)
    undo_next(client)
    assert following() == (own, "decide", 2, True)
    renamed = client.post(f"/api/tags/{tag}", json={"rename": "heaven"}).json()["batch"]
    assert following() == (renamed, "tags", 0, True)


@pytest.mark.parametrize(
    "change",
    [
        {"photos": []},
        {"photos": [True]},
        {"photos": ["1"] * 100_001},
        {"paired": 1},
        {"photos": [1, 2], "paired": True},
        {"photos": [1], "tags": [1] * 101},
        {"photos": "1;2"},
        {"tags": None},
        {"state": True},
        {"state": 2},
        {"state": "1"},
        {"origin": "imported"},
        {"who": "somebody"},
    ],
)
def test_decide_refuses(client, session, change):
    before = session.project.store.decisions.count()
    body = {"photos": [1], "tags": [1], "state": 1} | change
    assert client.post("/api/decide", json=body).status_code == 400
    assert session.project.store.decisions.count() == before


def test_decide_about_strangers(client):
    assert client.post("/api/decide", json={"photos": [999], "tags": [1], "state": 1}).status_code == 404
    assert client.post("/api/decide", json={"photos": [1], "tags": [999], "state": 1}).status_code == 404


def test_tags_change(client):
    sky, sea = tag_id(client, "sky"), tag_id(client, "sea")
    assert client.post(f"/api/tags/{sky}", json={"rename": "heaven"}).status_code == 200
    assert client.post(f"/api/tags/{sky}", json={"alias": "welkin"}).status_code == 200
    texts = {tag["id"]: tag for tag in client.get("/api/project").json()["tags"]}
    assert texts[sky]["text"] == "heaven"
    assert set(texts[sky]["aliases"]) == {"sky", "welkin"}
    assert client.post(f"/api/tags/{sky}", json={"merge_into": sea}).status_code == 200
    assert sky not in {tag["id"] for tag in client.get("/api/project").json()["tags"]}
    assert client.post("/api/decide", json={"photos": [1], "tags": [sky], "state": 1}).status_code == 400
    assert undo_next(client).status_code == 200
    assert sky in {tag["id"] for tag in client.get("/api/project").json()["tags"]}
    for body in ({}, {"rename": "a", "alias": "b"}, {"rename": 1}, {"parent": "x"}, {"rename": " "}, {"alias": "\x00"}):
        assert client.post(f"/api/tags/{sky}", json=body).status_code == 400
    assert client.post("/api/tags", content=b'{"text": "\\ud800"}').status_code == 415
    headers = {"Content-Type": "application/json"}
    assert client.post("/api/tags", content=b'{"text": "\\ud800"}', headers=headers).status_code == 400


def test_photo_teach_progress(client):
    tag = tag_id(client, "sky")
    client.post("/api/decide", json={"photos": [5], "tags": [tag], "state": 0})
    found = client.get("/api/photo/5").json()
    mine = next(item for item in found["tags"] if item["id"] == tag)
    assert (mine["state"], mine["origin"], mine["implied"]) == (0, "human", False)
    assert found["history"][0]["label"].endswith("-sky")
    queue = client.get(f"/api/teach?tag={tag}&n=50").json()
    assert 5 not in queue["ids"]
    assert queue["reason"]
    progress = client.get("/api/progress").json()
    assert progress["n_photos"] == 20
    assert 0 < progress["n_reviewed"] <= 20


def test_write(client, photos):
    plan = client.get("/api/write/plan").json()
    assert plan["n"] == len(plan["files"]) > 0
    assert not list(photos.glob("*.xmp"))
    job = client.post("/api/jobs", json={"kind": "write"}).json()["job"]
    wait_for(lambda: client.get("/api/jobs").json()["jobs"][0]["state"] != "running")
    done = client.get("/api/jobs").json()["jobs"][0]
    assert (done["id"], done["state"]) == (job["id"], "done")
    assert len(list(photos.glob("*.xmp"))) == plan["n"]
    assert client.get("/api/write/plan").json()["n"] == 0
    assert undo_next(client).status_code == 200
    assert not list(photos.glob("*.xmp"))


def test_a_write_is_what_is_undone_next_however_much_was_undone_since(client, photos):
    client.post("/api/jobs", json={"kind": "write"})
    wait_for(lambda: client.get("/api/jobs").json()["jobs"][0]["state"] == "done")
    n_files = len(list(photos.glob("*.xmp")))
    tag = client.post("/api/tags", json={"text": "new tag"}).json()["id"]
    for number in range(26):
        client.post("/api/decide", json={"photos": [1], "tags": [tag], "state": number % 2})
    for _ in range(26):
        assert undo_next(client).status_code == 200
    latest = client.get("/api/history?limit=50").json()
    assert {batch["kind"] for batch in latest["batches"] if not batch["undone"]} == {"undo"}
    assert (latest["next_undo"]["kind"], latest["next_undo"]["n_files"]) == ("write", n_files)


def test_export_goes_to_its_folder(client, tmp_path):
    for body in ({"kind": "export", "format": "../x"}, {"kind": "export", "target": "x"}, {"kind": "shell"}):
        assert client.post("/api/jobs", json=body).status_code == 400
    assert client.post("/api/jobs", json={"kind": "export", "format": "csv"}).status_code == 200
    wait_for(lambda: client.get("/api/jobs").json()["jobs"][0]["state"] == "done")
    (file,) = (tmp_path / "exports").iterdir()
    assert file.suffix == ".csv"


@pytest.mark.parametrize("is_trusted", [True, False])
def test_export_of_a_strangers_project_follows_no_link(client, tmp_path, monkeypatch, is_trusted):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "exports").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr("tagloom.review.jobs.is_trusted", lambda _: is_trusted)
    assert client.post("/api/jobs", json={"kind": "export", "format": "csv"}).status_code == 200
    wait_for(lambda: client.get("/api/jobs").json()["jobs"][0]["state"] != "running")
    (job,) = client.get("/api/jobs").json()["jobs"]
    assert (job["state"], len(list((tmp_path / "elsewhere").iterdir()))) == (("failed", 0), ("done", 1))[is_trusted]
    assert is_trusted or "is a link" in str(job)


def test_why_needs_a_photo_and_a_tag(client):
    assert client.get("/api/photo/999/why/1").status_code == 404
    assert client.get("/api/photo/1/why/999").status_code == 404


def _decide_under(client, key, state=0):
    """Decide much under one name, as a page does again and again until it is done."""
    body = {"photos": list(range(1, 21)), "tags": [1, 2], "state": state, "key": key}
    return client.post("/api/decide", json=body)


def test_a_full_disk_is_said_and_the_decision_can_be_sent_again(client, session):
    connection = session.project.store.database.connection
    connection.pragma("max_page_count", connection.pragma("page_count"))
    for number in range(100):  # until the pages that are free are used up
        state = number % 2
        answer = _decide_under(client, f"until-full-{number}", state)
        if answer.status_code != 200:
            break
    assert answer.status_code == 507
    assert "the disk is full" in answer.json()["error"]
    assert "Errno" not in answer.text
    n = session.project.store.decisions.count()
    assert _decide_under(client, "kept", state).status_code == 507
    assert session.project.store.decisions.count() == n
    connection.pragma("max_page_count", 1 << 20)
    answer = _decide_under(client, "kept", state)
    assert (answer.status_code, answer.json()["n"] > 0) == (200, True)
    assert _decide_under(client, "kept", state).json()["batch"] == answer.json()["batch"]


def test_a_busy_project_is_said_and_the_decision_can_be_sent_again(client, session):
    session.project.store.database.connection.set_busy_handler(None)
    other = apsw.Connection(str(session.project.folder / "tagloom.sqlite"))
    other.execute("BEGIN IMMEDIATE")
    try:
        answer = _decide_under(client, "kept")
        assert answer.status_code == 503
        assert "in use by another process" in answer.json()["error"]
    finally:
        other.execute("ROLLBACK")
        other.close()
    assert _decide_under(client, "kept").status_code == 200


def _add(client, text, **options):
    answer = client.post("/api/tags", json={"text": text, **options})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_tag_that_differs_in_capitals_or_form_is_the_same_one(client):
    first = _add(client, "Café")
    for text in ("café", "CAFE\u0301", "  Café "):
        assert _add(client, text) == {"id": first["id"], "text": "Café", "created": False}


def test_a_slip_is_asked_about(client):
    tag = _add(client, "zebra")["id"]
    assert _add(client, "zebr")["created"]  # nothing is decided of the other one: it may be a slip itself
    client.post("/api/decide", json={"photos": [1], "tags": [tag], "state": 1})
    assert _add(client, "zebraa") == {
        "id": None,
        "text": "zebraa",
        "created": False,
        "similar": {"id": tag, "text": "zebra"},
    }
    assert _add(client, "zebraa", new=True)["created"]
    assert client.post("/api/tags", json={"text": "x", "new": 1}).status_code == 400


def test_a_list_is_asked_about(client):
    assert _add(client, "airplane, plane, sky")["parts"] == ["airplane", "plane", "sky"]
    assert _add(client, "airplane, plane, sky", new=True)["text"] == "airplane, plane, sky"


def test_less_likely_tags_fill_up_to_five(client, session):
    session.set_threshold(0.6)
    cells = client.get(f"/api/cells?ids={','.join(map(str, range(1, 21)))}").json()["cells"]
    assert any(cell["unsure"] for cell in cells)
    for cell in cells:
        assert all(p > 0.6 for _, p in cell["suggested"])
        assert all(p <= 0.6 for _, p in cell["unsure"])
        tags = [tag for tag, _ in cell["suggested"] + cell["unsure"]]
        assert len(tags) == len(set(tags)) <= 5
        assert not set(tags) & set(cell["yes"] + cell["no"])
        photo = client.get(f"/api/photo/{cell['id']}").json()
        assert (photo["suggested"], photo["unsure"]) == (cell["suggested"], cell["unsure"])


def test_the_threshold_with_what_is_expected_of_it(album, tmp_path):
    with opened(shutil.copytree(album, tmp_path / "album")) as session, visiting(session) as client:
        found = client.get("/api/thresholds").json()
        assert found["threshold"] is None
        assert [step["threshold"] for step in found["steps"]][:2] == [0.05, 0.1]
        counts = [step["n"] for step in found["steps"]]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] > counts[-1]
        step = found["steps"][9]
        now = client.post("/api/threshold", json={"threshold": step["threshold"]}).json()
        assert (now["threshold"], now["n"], now["right"]) == (0.5, step["n"], pytest.approx(step["right"], abs=1e-3))
        assert session.project.threshold == 0.5
        tags = client.get("/api/project").json()["tags"]
        assert sum(tag["n_suggested"] for tag in tags) == now["n"]
        assert client.post("/api/threshold", json={"threshold": None}).json() == found
        for wrong in (True, "0.5", 2, -1, [0.5]):
            assert client.post("/api/threshold", json={"threshold": wrong}).status_code == 400
        assert client.post("/api/threshold", json={}).status_code == 400
        project = client.get("/api/project").json()
        assert (project["calibrated"], project["labels_needed"]) == (True, 0)
        assert project["progress"]["expected_missing"] > 0


def test_scores_have_no_threshold_for_all_tags(client):
    found = client.get("/api/thresholds").json()
    assert (found["steps"], found["right"]) == ([], None)
    project = client.get("/api/project").json()
    n = project["progress"]["n_reviewed"]
    assert (project["calibrated"], project["labels_needed"] >= 20 - n > 0) == (False, True)
    assert project["progress"]["expected_missing"] is None  # scores that only rank tell no count
