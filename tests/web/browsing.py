"""A browser in front of a real server: what the tests of the page share."""

import contextlib
import os
import re
import select
import subprocess
import sys
import time
from urllib.parse import urlsplit

from playwright.sync_api import expect

COMMAND = "import typer; from tagloom.cli.review import review; typer.run(review)"
#: Machines that run tests are busy: every condition gets this long, and none waits longer than it must.
PATIENCE = 60.0
expect.set_options(timeout=1000 * PATIENCE)

GRID = "[data-testid=grid]"
CELL = "[data-testid=cell]"
#: The button that writes, when what would change is known and there is anything.
CAN_WRITE = "[data-testid=write][aria-disabled=false]"
_REPORT_POLICY = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
"""
#: Messages go by themselves after five or ten seconds, which may be too soon for a busy machine: they stay.
_LASTING_TOASTS = """
const real = window.setTimeout;
window.setTimeout = (work, ms, ...rest) => real(work, ms === 5000 || ms === 10000 ? 1e9 : ms, ...rest);
"""
_SHOWN = """(grid) => {
  const frame = grid.getBoundingClientRect();
  return [...grid.querySelectorAll("[data-testid=cell]:not([hidden])")]
    .map((node) => [node, node.getBoundingClientRect()])
    .filter(([, box]) => box.height && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1)
    .sort(([, a], [, b]) => a.top - b.top || a.left - b.left)
    .map(([node]) => Number(node.dataset.photo));
}"""


class Server:
    """``tagloom review`` as a process of its own."""

    def __init__(self, photos, *, port=0, flags=None):
        where = [] if port is None else ["--port", str(port)]
        variables = {f"TAGLOOM_{name.upper()}": str(value) for name, value in (flags or {}).items()}
        self._process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, str(photos), "--no-browser", *where],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | variables | {"OMP_NUM_THREADS": "1"},
            text=True,
        )
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        self.address = self._process.stdout.readline().strip() if ready else ""
        if not self.address:
            self.kill()
            raise AssertionError("the server did not start")
        self.base = self.address.partition("/?")[0]
        self.port = urlsplit(self.address).port
        #: Those of the browser that used the address, which works once: further ones are let in by them.
        self.cookies = []

    def kill(self):
        """End the process as a power cut does."""
        self._process.kill()
        self._process.wait(PATIENCE)
        self._process.stdout.close()


@contextlib.contextmanager
def serving(photos, **options):
    server = Server(photos, **options)
    try:
        yield server
    finally:
        server.kill()


class Visit:
    """A browser context of its own, and everything in it that must not happen."""

    def __init__(self, browser, server, **options):
        self.server = server
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        self.context.set_default_timeout(1000 * PATIENCE)
        self.context.add_init_script(_REPORT_POLICY)
        self.context.add_init_script(_LASTING_TOASTS)
        self.errors = []
        self.foreign = []
        self.context.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        self.context.on("weberror", lambda error: self.errors.append(str(error.error)))
        self.context.on("request", self._requested)

    def _requested(self, request):
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob") and f"{address.scheme}://{address.netloc}" != self.server.base:
            self.foreign.append(request.url)

    def open(self, path="/"):
        """Open a tab; the first one that the server sees brings the token."""
        page = self.context.new_page()
        if not any(cookie["name"].startswith("tagloom") for cookie in self.context.cookies()):
            self.context.add_cookies(self.server.cookies)
            page.goto(self.server.base if self.server.cookies else self.server.address)
            ready(page)
            self.server.cookies = self.context.cookies()
        if path != "/" or page.url == "about:blank":
            load(page, self.server.base + path)
        return page

    def close(self):
        self.context.close()


@contextlib.contextmanager
def visiting_page(browser, server, **options):
    """Visit, and see afterwards that nothing went wrong unseen: no error, no forbidden and no foreign request."""
    visit = Visit(browser, server, **options)
    try:
        yield visit
        assert visit.errors == []
        assert visit.foreign == []
    finally:
        visit.close()


def holds(page, script, argument=None):
    """Wait until a script of the page gives something true; return what it gave.

    Asked from here again and again: the page's policy forbids the browser's own waiting for a script.
    """
    return until(page, lambda: page.evaluate(script, argument), script)


def ready(page):
    """Wait until the page shows its photos."""
    holds(page, "window.tagloomReady === true")


def load(page, address):
    """Load an address anew, even one that differs only after its #, and wait until the page shows its photos."""
    is_here = "#" in address and page.url.partition("#")[0] == address.partition("#")[0]
    page.goto(address)
    if is_here:
        page.reload()
    ready(page)


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def tab_to(page, testid):
    """Go to an element with the Tab key alone."""
    for _ in range(120):
        if page.evaluate("document.activeElement?.dataset?.testid ?? ''") == testid:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {testid}")


def until(page, condition, what):
    """Wait until a condition of this side holds, and let the browser go on meanwhile; return what it gave."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        page.wait_for_timeout(30)
    raise AssertionError(f"did not happen: {what}")


def shown(page):
    """Return the photos in the visible part of the grid, row by row."""
    return page.locator(GRID).first.evaluate(_SHOWN)


def active(page):
    """Return the photo that has the focus, once the photos on the screen are those that were asked for."""
    return int(holds(page, "!document.querySelector('[aria-busy=true]') && document.activeElement?.dataset?.photo"))


def cursor_on(page, photo):
    """Wait until a photo has the focus."""
    until(page, lambda: active(page) == photo, f"the cursor is on photo {photo}")


def at(page, path):
    """Wait until the address has a path."""
    page.wait_for_url(re.compile(rf"^[^/]+//[^/]+{path}(#.*)?$"))
