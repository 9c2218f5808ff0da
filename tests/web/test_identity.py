"""Tabs outlive the server: a page that belongs to another project is refused, whatever it asks for."""

import shutil

import pytest

from tagloom.web.operations import PROJECT_HEADER
from tests.web.conftest import opened, visiting

pytestmark = pytest.mark.medium

CHANGES = [
    ("/api/decide", {"photos": [3], "tags": [1], "state": 0}),
    ("/api/tags", {"text": "from elsewhere"}),
    ("/api/tags/1", {"rename": "from elsewhere"}),
    ("/api/undo", {"batch": 1}),
    ("/api/redo", {}),
    ("/api/jobs", {"kind": "write"}),
]
READS = ["/api/project", "/api/progress", "/api/ranking", "/api/cells?ids=1", "/api/photo/1", "/api/history"]


def _all_stored(session):
    store = session.project.store
    return store.decisions.count(), [(tag.id, tag.text) for tag in store.tags.all()], session.jobs.all()


@pytest.mark.parametrize(("address", "body"), CHANGES)
def test_no_change_comes_from_a_page_of_another_project(client, session, photos, tmp_path, address, body):
    with opened(shutil.copytree(photos, tmp_path / "copy")) as other, visiting(other) as elsewhere:
        foreign = elsewhere.get("/api/project").json()["id"]
    before = _all_stored(session)
    refused = client.post(address, json=body, headers={PROJECT_HEADER: foreign})
    assert refused.status_code == 412
    assert "another project" in refused.json()["error"]
    assert photos.name in refused.json()["error"]
    assert _all_stored(session) == before


@pytest.mark.parametrize("address", READS)
def test_nothing_is_read_by_a_page_of_another_project(client, address):
    own = client.get("/api/project").json()["id"]
    assert client.get(address, headers={PROJECT_HEADER: own}).status_code == 200
    assert client.get(address, headers={PROJECT_HEADER: "0" * 32}).status_code == 412


def test_no_news_for_a_page_of_another_project(client):
    assert client.get("/api/events?project=0").status_code == 412


def test_decisions_of_the_own_project_are_taken_after_a_restart(photos):
    with opened(photos) as session, visiting(session) as client:
        own = client.get("/api/project").json()["id"]
    with opened(photos) as session, visiting(session) as client:
        body = {"photos": [3], "tags": [1], "state": 0}
        done = client.post("/api/decide", json=body, headers={PROJECT_HEADER: own})
        assert done.status_code == 200
        assert session.project.history(1)[0].id == done.json()["batch"]
