"""Serving the review page to this machine alone."""

import asyncio
import contextlib
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator

import uvicorn

from tagloom.catalog import last_port, remember_port
from tagloom.exceptions import InvalidInputError, WriteError
from tagloom.review import ReviewSession
from tagloom.web.app import make_app
from tagloom.web.connections import N_WAITING, LimitedProtocol, log_sparingly
from tagloom.web.entry import EntryFile, EntryTokens

__all__ = ["ENTRY_SECONDS", "HOST", "serve"]

logger = logging.getLogger(__name__)

HOST = "127.0.0.1"
ENTRY_SECONDS = 60
_PATIENCE = 3  # seconds that answers under way get at the end


class _Server(uvicorn.Server):
    """A server that ends in good order on Ctrl-C and on SIGTERM, and leaves it to the caller what comes after."""

    def __init__(self, config: uvicorn.Config, before_end: Callable[[], None]) -> None:
        super().__init__(config)
        self._before_end = before_end

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take over the signals that end a process; uvicorn's own would kill it before anything is saved."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        kinds = [signal.SIGINT, signal.SIGTERM]
        before = {kind: signal.signal(kind, self.handle_exit) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams of events first: they would be waited for."""
        self._before_end()
        await super().shutdown(sockets)


def serve(
    session: ReviewSession,
    *,
    port: int | None = None,
    ready: Callable[[str], None] | None = None,
    open_browser: Callable[[str], object] | None = None,
    moved: Callable[[int], None] | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Serve the page until the process is told to end.

    Parameters
    ----------
    session : ReviewSession
        What the page is about; it stays the caller's to close.
    port : int, optional
        The port. Default, and 0: that of the project's last review, where tabs may hold decisions that were not sent,
        or any free one if it is taken.
    ready : callable, optional
        Gets the address of the page, with a token that works once, when the server listens.
    open_browser : callable, optional
        Gets, after ``ready`` and in a thread of its own, the address of a private file that takes a browser to the page
        once. The file holds another token than the address, and goes when it was used or after a minute.
    moved : callable, optional
        Gets the port of the last review where that is taken, before ``ready``.
    stop : Event, optional
        Ends the server when it is set, for callers in another thread than the main one.

    Raises
    ------
    WriteError
        If the port that was asked for is taken.
    """
    if port is not None and not 0 <= port <= 65_535:
        raise InvalidInputError(f"port must be from 0 to 65535, got {port}")
    store = session.project.store
    with _listen(port) if port else _listen_again(last_port(store), moved) as listening:
        number = int(listening.getsockname()[1])
        remember_port(store, number)
        tokens = EntryTokens()
        app = make_app(session, tokens=tokens, host=HOST, port=number)
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http=LimitedProtocol,
            backlog=N_WAITING,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",  # what strangers send is no news
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_PATIENCE,
        )
        server = _Server(config, session.events.close)
        base = f"http://{HOST}:{number}"

        def announce() -> EntryFile | None:
            if ready is not None:
                ready(f"{base}/?token={tokens.issue()}")
            return None if open_browser is None else _offer(tokens, base, open_browser)

        asyncio.run(_run(server, listening, announce, stop))


async def _run(
    server: _Server,
    listening: socket.socket,
    announce: Callable[[], EntryFile | None],
    stop: threading.Event | None,
) -> None:
    asyncio.get_running_loop().set_exception_handler(log_sparingly())
    task = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not task.done():
        await asyncio.sleep(0.01)
    entry = None if task.done() else announce()
    if entry is not None:
        asyncio.get_running_loop().call_later(ENTRY_SECONDS, entry.remove)
    try:
        while stop is not None and not task.done():
            if stop.is_set():
                server.should_exit = True
                break
            await asyncio.sleep(0.05)
        await task
    finally:
        if entry is not None:
            entry.remove()


def _offer(tokens: EntryTokens, base: str, open_browser: Callable[[str], object]) -> EntryFile | None:
    """Let a browser be opened; where that cannot be, the address that was printed is the way in."""
    try:
        entry = EntryFile(tokens, base)
    except OSError as error:
        logger.warning("no browser is opened: %s", error)
        return None
    # Some browsers are programs of the terminal, and end when their user does.
    threading.Thread(target=open_browser, args=(entry.address,), name="tagloom-browser", daemon=True).start()
    return entry


def _listen_again(port: int, moved: Callable[[int], None] | None) -> socket.socket:
    """Listen where the last review did, or at a free port."""
    try:
        return _listen(port)
    except WriteError:
        if not port:
            raise
        if moved is not None:
            moved(port)
        return _listen(0)


def _listen(port: int) -> socket.socket:
    # The protocol is named so that asyncio switches off the delay of small packets on every connection.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise WriteError(
            error.errno or 0, f"port {port} cannot be used ({error.strerror}); leave --port out for a free one"
        ) from error
    return listening
