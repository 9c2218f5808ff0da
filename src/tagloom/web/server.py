"""Serving the review page and the HTTP API: to this machine alone, or to a network where that is asked for."""

import asyncio
import contextlib
import ipaddress
import logging
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from tagloom.catalog import last_port, remember_port
from tagloom.catalog.users import UserBook
from tagloom.exceptions import InvalidInputError, WriteError
from tagloom.review import ReviewSession
from tagloom.web.app import make_app
from tagloom.web.connections import N_WAITING, LimitedProtocol, log_sparingly
from tagloom.web.entry import EntryFile, EntryTokens

__all__ = ["ENTRY_SECONDS", "HOST", "Network", "serve"]

logger = logging.getLogger(__name__)

HOST = "127.0.0.1"
ENTRY_SECONDS = 60
_PATIENCE = 3  # seconds that answers under way get at the end


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """How others than the browser of this machine reach the server.

    Parameters
    ----------
    host : str
        The address to listen on.
    certificate, key : Path, optional
        Files in PEM format, for HTTPS.
    is_plain_allowed : bool
        Whether HTTP may leave this machine: behind a proxy that speaks HTTPS, or inside a container.
    names : sequence of str
        Addresses that browsers and programs use for it, such as ``https://photos.example.org``.
    users : UserBook, optional
        Users with tokens of their own.
    """

    host: str = HOST
    certificate: Path | None = None
    key: Path | None = None
    is_plain_allowed: bool = False
    names: Iterable[str] = ()
    users: UserBook | None = None

    @property
    def scheme(self) -> str:
        """The scheme of addresses here."""
        return "http" if self.certificate is None else "https"

    def check(self) -> None:
        """Refuse to send tokens and photos over a network that anybody can listen to.

        Raises
        ------
        InvalidInputError
            If the host is no address, leaves this machine without HTTPS, or the certificate cannot be used.
        """
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            raise InvalidInputError(
                f"host must be an IP address such as 127.0.0.1, 0.0.0.0 or ::1, got {self.host[:80]!r}"
            ) from None
        if (self.certificate is None) != (self.key is None):
            raise InvalidInputError("HTTPS needs both files: --tls-cert and --tls-key")
        if self.certificate is None:
            if not address.is_loopback and not self.is_plain_allowed:
                raise InvalidInputError(
                    f"other machines reach {self.host}, and without HTTPS anybody on the way reads tokens and photos; "
                    f"give --tls-cert and --tls-key, or --plain-http behind a proxy that speaks HTTPS"
                )
            return
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key)
        except OSError as error:  # an ssl.SSLError is one
            raise InvalidInputError(
                f"HTTPS cannot be used with {str(self.certificate)!r} and {str(self.key)!r}: {error.strerror or error}"
            ) from error


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
    network: Network | None = None,
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
    network : Network, optional
        How others reach it, and who they may be; default: the browser of this machine alone.

    Raises
    ------
    WriteError
        If the port that was asked for is taken.
    """
    network = Network() if network is None else network
    network.check()
    if port is not None and not 0 <= port <= 65_535:
        raise InvalidInputError(f"port must be from 0 to 65535, got {port}")
    store = session.project.store
    with _listen(network.host, port) if port else _listen_again(network.host, last_port(store), moved) as listening:
        number = int(listening.getsockname()[1])
        remember_port(store, number)
        tokens = EntryTokens()
        app = make_app(
            session,
            tokens=tokens,
            host=network.host,
            port=number,
            scheme=network.scheme,
            names=network.names,
            users=network.users,
        )
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
            ssl_certfile=network.certificate,
            ssl_keyfile=network.key,
        )
        server = _Server(config, session.events.close)
        # An address of all interfaces is none to go to.
        is_any = ipaddress.ip_address(network.host).is_unspecified
        host = HOST if is_any else f"[{network.host}]" if ":" in network.host else network.host
        base = f"{network.scheme}://{host}:{number}"

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


def _listen_again(host: str, port: int, moved: Callable[[int], None] | None) -> socket.socket:
    """Listen where the last review did, or at a free port."""
    try:
        return _listen(host, port)
    except WriteError:
        if not port:
            raise
        if moved is not None:
            moved(port)
        return _listen(host, 0)


def _listen(host: str, port: int) -> socket.socket:
    # The protocol is named so that asyncio switches off the delay of small packets on every connection.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise WriteError(
            error.errno or 0, f"port {port} cannot be used ({error.strerror}); leave --port out for a free one"
        ) from error
    return listening
