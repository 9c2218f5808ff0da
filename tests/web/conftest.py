"""A small trained project with names that hold markup, and a browser's way to talk to the page."""

import contextlib
import shutil
import warnings

import pytest

from tagloom.datasets import write_scenes
from tagloom.project.project import Project
from tagloom.review.session import ReviewSession
from tagloom.web.app import make_app
from tagloom.web.entry import EntryTokens

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # newer Starlettes would rather have another package than httpx, which works
    from starlette.testclient import TestClient

HOST, PORT = "127.0.0.1", 8123
BASE = f"http://{HOST}:{PORT}"
FLAGS = {"descriptors": "color", "method": "ridge", "n_workers": 1, "n_threads": 1}
MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web") / "photos"
    write_scenes(folder, 20, size=(96, 64), labeled=0.5, random_state=0)
    (folder / "scene_00019.jpg").rename(folder / f"{MARKUP}.jpg")
    with Project.init(folder, flags=FLAGS) as project:
        project.scan()
        project.import_keywords(folder / "labels.csv")
        project.label(["scene_00000.jpg"], add=[MARKUP])
        project.train()
    return folder


@pytest.fixture
def photos(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "photos")


@contextlib.contextmanager
def opened(photos, exports=None):
    """Review a project, without working out which photos look alike."""
    with (
        Project.open(photos, flags=FLAGS) as project,
        ReviewSession(project, who="tester", exports=exports, with_looks=False) as session,
    ):
        yield session


@contextlib.contextmanager
def visiting(session, *, enter=True):
    """Talk to the page of a session: as the page itself once a token has been exchanged, or as a stranger."""
    tokens = EntryTokens()
    app = make_app(session, tokens=tokens, host=HOST, port=PORT)
    with TestClient(app, base_url=BASE, follow_redirects=False) as client:
        client.tokens = tokens
        if enter:
            assert client.get(f"/?token={tokens.issue()}").status_code == 303
            client.headers.update({"Origin": BASE, "Sec-Fetch-Site": "same-origin"})
        yield client


@pytest.fixture
def session(photos, tmp_path):
    with opened(photos, tmp_path / "exports") as session:
        yield session


@pytest.fixture
def client(session):
    """Return a client that came in with the token, and sends what a page's own requests send."""
    with visiting(session) as client:
        yield client


@pytest.fixture(scope="session")
def shared_session(trained, tmp_path_factory):
    """Return a session that many tests share: for requests that change nothing, or nothing that matters."""
    with opened(shutil.copytree(trained, tmp_path_factory.mktemp("shared") / "photos")) as session:
        yield session


@pytest.fixture(scope="session")
def shared_client(shared_session):
    with visiting(shared_session) as client:
        yield client


@pytest.fixture(scope="session")
def shared_stranger(shared_session):
    """Return a client that has no cookie."""
    with visiting(shared_session, enter=False) as client:
        yield client


@pytest.fixture
def stranger(shared_stranger):
    """Return a client whose cookies are gone."""
    shared_stranger.cookies.clear()
    return shared_stranger


@pytest.fixture
def visit(browser, server):
    """Visit the server of the module with a browser."""
    from tests.web.browsing import visiting_page  # other tests do without a browser's driver

    with visiting_page(browser, server) as visit:
        yield visit


@pytest.fixture(scope="session")
def album(tmp_path_factory):
    """Return a trained project of 60 scenes, to be copied: enough for a model to tell night from day by colour."""
    folder = tmp_path_factory.mktemp("album") / "photos"
    write_scenes(folder, 60, size=(96, 64), labeled=0.4, random_state=0)
    with Project.init(folder, flags=FLAGS) as project:
        project.scan()
        project.import_keywords(folder / "labels.csv")
        project.store.tags.alias("blossom", project.store.tags.numbers(["flower"])[0])
        project.train()
    return folder
