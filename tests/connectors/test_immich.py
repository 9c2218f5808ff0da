"""Immich beside a project, against a stub that takes and gives what the documented API does and refuses all else."""

import http.server
import io
import json
import re
import threading
import uuid
from urllib.parse import parse_qs, urlsplit

import pytest
from PIL import Image

from tagloom.connectors.immich import ImmichServer, sync_immich
from tagloom.exceptions import DamagedStoreError, InvalidInputError, RemoteError
from tagloom.project.project import Project

pytestmark = pytest.mark.medium

KEY = "key of the stub"
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Immich:
    """What the server holds, and the requests that are refused as its schema does (400)."""

    def __init__(self, n=3):
        self.assets = [str(uuid.uuid4()) for _ in range(n)]
        self.tags = {}
        self.tagged = set()
        self.requests = []
        self.fail_after = None
        self.without_preview = set()
        self.page = 2

    def tag(self, value, *assets):
        number = next((one for one, text in self.tags.items() if text == value), None) or str(uuid.uuid4())
        self.tags[number] = value
        self.tagged |= {(asset, number) for asset in assets}
        return number

    def values(self, asset):
        return {self.tags[tag] for one, tag in self.tagged if one == asset}

    def answer(self, method, path, query, body, key):
        self.requests.append((method, path))
        if self.fail_after is not None and len(self.requests) > self.fail_after:
            return 502, {}
        if key != KEY:
            return 401, {"message": "Invalid API key"}
        picture = re.fullmatch(f"/api/assets/({UUID.pattern})/thumbnail", path)
        change = re.fullmatch(f"/api/tags/({UUID.pattern})/assets", path)
        if method == "GET" and picture and query == {"size": ["preview"]}:
            return (404, {}) if picture[1] in self.without_preview else (200, self.picture(picture[1]))
        if (method, path) == ("POST", "/api/search/metadata"):
            return self.search(body)
        if (method, path) == ("GET", "/api/tags"):
            return 200, [self.described(tag) for tag in self.tags]
        if (method, path) == ("PUT", "/api/tags") and set(body) == {"tags"} and body["tags"]:
            return 200, [self.described(self.tag(value)) for value in body["tags"]]
        if change and method in ("PUT", "DELETE") and set(body) == {"ids"} and change[1] in self.tags:
            assert all(UUID.fullmatch(one) for one in body["ids"])
            return 200, [self.changed(method, one, change[1]) for one in body["ids"]]
        return 400, {"message": ["not in the schema"]}

    def search(self, body):
        if not {"page", "size", "type"} <= set(body) <= {"page", "size", "type", "tagIds"} or body["type"] != "IMAGE":
            return 400, {"message": ["not in the schema"]}
        wanted = body.get("tagIds", [])
        found = [one for one in self.assets if all((one, tag) in self.tagged for tag in wanted)]
        first = (body["page"] - 1) * self.page
        after = str(body["page"] + 1) if first + self.page < len(found) else None
        items = [{"id": one, "type": "IMAGE"} for one in found[first : first + self.page]]
        return 200, {"albums": {"items": []}, "assets": {"items": items, "nextPage": after, "total": len(found)}}

    def changed(self, method, asset, tag):
        pair = (asset, tag)
        is_done = (pair not in self.tagged) == (method == "PUT")
        (self.tagged.add if method == "PUT" else self.tagged.discard)(pair)
        return {"id": asset, "success": True} if is_done else {"id": asset, "success": False, "error": "duplicate"}

    def described(self, tag):
        value = self.tags[tag]
        return {"id": tag, "name": value.rpartition("/")[2], "value": value, "createdAt": "", "updatedAt": ""}

    def picture(self, asset):
        file = io.BytesIO()
        Image.new("RGB", (64, 48), (self.assets.index(asset) * 40, 90, 120)).save(file, "JPEG")
        return file.getvalue()


@pytest.fixture
def immich():
    return Immich()


@pytest.fixture
def url(immich):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length)) if length else None
            status, found = immich.answer(
                self.command, parts.path, parse_qs(parts.query), body, self.headers.get("x-api-key")
            )
            data = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def project(tmp_path):
    (tmp_path / "photos").mkdir()
    with Project.init(tmp_path / "photos", flags={"descriptors": "color", "n_workers": 1, "n_threads": 1}) as project:
        yield project


def sync(project, url, **options):
    server = ImmichServer(url, KEY)
    try:
        return sync_immich(project, server, **options)
    finally:
        server.close()


def name(asset):
    return f"immich/{asset}.jpg"


def test_previews_and_tags_come_in_and_accepted_tags_go_out(project, immich, url):
    first, second, third = immich.assets
    immich.tag("Animals/Dog", first)
    immich.tag("theirs", first, second)
    found = sync(project, url)
    assert (found.n_assets, found.n_fetched, found.n_imported, found.n_written) == (3, 3, 3, 0)
    assert {tag.text: tag.n_yes for tag in project.tags()} == {"Animals|Dog": 1, "theirs": 2}
    project.label([name(second), name(third)], add=["Animals|Cat", "theirs"])
    project.label(name(third), add="a/b")
    found = sync(project, url)
    assert (found.n_fetched, found.n_imported, found.n_written, found.skipped) == (0, 0, 3, ("a/b",))
    assert immich.values(third) == {"Animals/Cat", "theirs"}
    assert immich.values(second) == {"Animals/Cat", "theirs"}
    assert sync(project, url).n_written == 0


def test_only_what_was_written_is_taken_out(project, immich, url):
    first, second, third = immich.assets
    immich.tag("sea", first)
    sync(project, url)
    project.label([name(first), name(second), name(third)], add="sea")
    assert sync(project, url).n_written == 2
    project.label([name(first), name(second), name(third)], remove="sea")
    found = sync(project, url)
    assert found.n_taken_out == 2
    assert immich.values(first) == {"sea"}  # it was there before
    assert immich.values(second) == immich.values(third) == set()
    assert "sea" in immich.tags.values()
    assert {method for method, path in immich.requests if path.startswith("/api/assets")} == {"GET"}
    assert not [path for method, path in immich.requests if method == "DELETE" and not path.endswith("/assets")]


def test_what_somebody_takes_out_over_there_stays_out_and_what_they_add_again_is_theirs(project, immich, url):
    first = immich.assets[0]
    sync(project, url)
    project.label(name(first), add="sea")
    assert sync(project, url).n_written == 1
    (tag,) = immich.tags
    immich.tagged.clear()
    assert sync(project, url).n_written == 0
    assert immich.values(first) == set()
    immich.tagged.add((first, tag))
    project.label(name(first), remove="sea")
    assert sync(project, url).n_taken_out == 0
    assert immich.values(first) == {"sea"}


def test_decisions_of_people_beat_tags_of_the_server(project, immich, url):
    first = immich.assets[0]
    sync(project, url)
    project.label(name(first), add="dog")
    project.label(name(first), remove="dog")
    immich.tag("dog", first)
    assert sync(project, url).n_imported == 0
    assert [(tag.n_yes, tag.n_no) for tag in project.tags()] == [(0, 1)]
    assert immich.values(first) == {"dog"}


def test_it_goes_on_after_an_interruption(project, immich, url):
    immich.fail_after = 3
    with pytest.raises(RemoteError, match="answered 502"):
        sync(project, url)
    immich.fail_after = None
    there = len(list((project.root / "immich").iterdir()))
    assert 0 < there < 3
    assert sync(project, url).n_fetched == 3 - there


def test_a_photo_without_a_preview_is_counted(project, immich, url):
    immich.without_preview = {immich.assets[1]}
    found = sync(project, url)
    assert (found.n_fetched, found.n_failed) == (2, 1)


def test_pull_and_push_alone(project, immich, url):
    sync(project, url, push=False)
    project.label(name(immich.assets[0]), add="sea")
    sync(project, url, push=False)
    assert immich.tagged == set()
    assert sync(project, url, pull=False).n_written == 1


@pytest.mark.parametrize("wrong", ["../../evil", "x", 7, None, "A" * 36])
def test_an_id_that_is_none_names_no_file(project, immich, url, wrong, tmp_path):
    immich.assets = [wrong]
    with pytest.raises(RemoteError, match="as an id"):
        sync(project, url)
    assert [path.name for path in tmp_path.rglob("*evil*")] == []


def test_what_does_not_fit_is_refused(project, immich, url, tmp_path):
    with pytest.raises(RemoteError, match="permission"):
        sync_immich(project, ImmichServer(url, "wrong"))
    for address in ("http://immich.example.org", "immich.example.org", "http://127.0.0.1:x"):
        with pytest.raises(InvalidInputError):
            ImmichServer(address, KEY)
    with pytest.raises(InvalidInputError, match="key"):
        ImmichServer(url, "a\r\nb")
    sync(project, url)
    with pytest.raises(InvalidInputError, match="belongs to"):
        sync_immich(project, ImmichServer("https://immich.example.org", KEY))
    project.store.settings.set("immich_written", [["../x", "y", True]])
    with pytest.raises(DamagedStoreError):
        sync(project, url)


def test_a_link_in_place_of_the_folder_is_not_followed(project, immich, url, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (project.root / "immich").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidInputError, match="link"):
        sync(project, url)
    assert list((tmp_path / "elsewhere").iterdir()) == []
