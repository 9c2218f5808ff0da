"""An Immich server beside a project: its previews and tags come in, accepted tags go out.

What tagloom wrote there is journalled by asset and tag, as the server confirmed it. Only that is ever taken out again:
a tag that was there before, or that somebody added since, stays. No asset, album or tag is deleted or changed.
"""

import http.client
import ipaddress
import json
import os
import re
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tagloom.catalog import Result, online_root
from tagloom.core import NO_PROGRESS, Keyword, Progress, write_bytes
from tagloom.exceptions import DamagedStoreError, InvalidInputError, RemoteError
from tagloom.project import Project
from tagloom.store import IMPORTED

__all__ = ["ImmichResult", "ImmichServer", "sync_immich"]

N_PAGE = 500
MOST_PAGES = 10_000
N_TAGGED = 500
LONGEST_ANSWER = 64 << 20
LONGEST_PICTURE = 64 << 20
TIMEOUT_SECONDS = 60.0
FOLDER = b"immich"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_WRITTEN = "immich_written"
_SERVER = "immich_server"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImmichResult(Result):
    """What a synchronisation did.

    Parameters
    ----------
    n_assets, n_fetched, n_failed : int
        Photos on the server, previews that came now, and those that could not be had.
    n_imported : int
        Pairs of photo and tag that came from the server.
    n_written, n_taken_out : int
        Pairs that were written to the server, and those of earlier ones that were taken out, as decisions have changed.
    skipped : tuple of str
        Tags that Immich cannot hold: a level of theirs has a slash.
    """

    n_assets: int
    n_fetched: int
    n_failed: int
    n_imported: int
    n_written: int
    n_taken_out: int
    skipped: tuple[str, ...] = ()


class ImmichServer:
    """The few requests of Immich's API that this needs.

    Parameters
    ----------
    url : str
        The address, such as ``https://immich.example.org``.
    key : str
        An API key with the permissions asset.read, asset.view, tag.read, tag.create and tag.asset.
    allow_plain_http : bool, default=False
        Whether the key may travel over HTTP beyond this computer.
    """

    def __init__(self, url: str, key: str, *, allow_plain_http: bool = False) -> None:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1 or parts.query:
            raise InvalidInputError(f"expected an address such as https://immich.example.org, got {url[:200]!r}")
        if parts.scheme == "http" and not allow_plain_http and not _is_here(parts.hostname):
            raise InvalidInputError(
                f"{url[:200]} would send the key in the open; use https, or say --plain-http in a network you trust"
            )
        if not key or not key.isascii() or not key.isprintable():
            raise InvalidInputError("the API key is empty or no plain text; set TAGLOOM_IMMICH_KEY or --key-file")
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._base = parts.path.rstrip("/").removesuffix("/api") + "/api"
        self._headers = {"x-api-key": key, "Accept": "application/json"}
        self._connection: http.client.HTTPConnection = (
            http.client.HTTPSConnection(
                parts.hostname, port, timeout=TIMEOUT_SECONDS, context=ssl.create_default_context()
            )
            if parts.scheme == "https"
            else http.client.HTTPConnection(parts.hostname, port, timeout=TIMEOUT_SECONDS)
        )

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def assets(self, tag: str | None = None) -> Iterator[str]:
        """Yield the ids of all photos, or of those that have a tag."""
        page: Any = 1
        for _ in range(MOST_PAGES):
            body = {"page": int(page), "size": N_PAGE, "type": "IMAGE"} | ({} if tag is None else {"tagIds": [tag]})
            found = self._json("POST", "/search/metadata", body)
            try:
                items, page = found["assets"]["items"], found["assets"]["nextPage"]
                yield from (_identity(item["id"]) for item in items)
            except (KeyError, TypeError) as error:
                raise RemoteError(f"{self.url} answered a search in a way that tagloom does not know") from error
            if page is None:
                return
            if not str(page).isdigit():
                break
        raise RemoteError(f"{self.url} answered a search without end")

    def preview(self, asset: str) -> bytes:
        """Return the preview of a photo, as the server made it."""
        return self._request("GET", f"/assets/{asset}/thumbnail?size=preview", None, LONGEST_PICTURE)

    def tags(self) -> dict[str, str]:
        """Return the tags of the server: {id: levels joined by slashes}."""
        found = self._json("GET", "/tags")
        try:
            return {_identity(tag["id"]): str(tag["value"]) for tag in found}
        except (KeyError, TypeError) as error:
            raise RemoteError(f"{self.url} listed tags in a way that tagloom does not know") from error

    def make_tags(self, values: list[str]) -> dict[str, str]:
        """Find or make tags, and return {levels joined by slashes: id}."""
        found = self._json("PUT", "/tags", {"tags": values}) if values else []
        return {str(tag["value"]): _identity(tag["id"]) for tag in found}

    def add(self, tag: str, assets: list[str]) -> list[str]:
        """Give photos a tag; return those that did not have it before."""
        return self._changed("PUT", tag, assets)

    def take_out(self, tag: str, assets: list[str]) -> list[str]:
        """Take a tag from photos; return those that had it."""
        return self._changed("DELETE", tag, assets)

    def _changed(self, method: str, tag: str, assets: list[str]) -> list[str]:
        found = self._json(method, f"/tags/{tag}/assets", {"ids": assets})
        try:
            done = {str(item["id"]) for item in found if item["success"] is True}
        except (KeyError, TypeError) as error:
            raise RemoteError(f"{self.url} answered a change in a way that tagloom does not know") from error
        return [asset for asset in assets if asset in done]

    def _json(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        data = self._request(method, path, body, LONGEST_ANSWER)
        try:
            return json.loads(data)
        except ValueError as error:
            raise RemoteError(f"{self.url} answered {path} without JSON; is it an Immich server?") from error

    def _request(self, method: str, path: str, body: Mapping[str, Any] | None, most: int) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        headers = self._headers | ({} if data is None else {"Content-Type": "application/json"})
        try:
            self._connection.request(method, self._base + path, body=data, headers=headers)
            answer = self._connection.getresponse()
            found = answer.read(most + 1)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise RemoteError(f"{self.url} does not answer ({error}); run the same again to go on") from error
        if answer.status not in (200, 201) or len(found) > most:
            self._connection.close()
            why = "the key lacks a permission or is wrong" if answer.status in (401, 403) else "see its log"
            raise RemoteError(f"{self.url} answered {answer.status} to {method} {path.partition('?')[0]}: {why}")
        return found


def sync_immich(
    project: Project, server: ImmichServer, *, pull: bool = True, push: bool = True, progress: Progress = NO_PROGRESS
) -> ImmichResult:
    """Bring previews and tags of an Immich server into a project, and accepted tags back.

    Previews lie as ``immich/ID.jpg`` below the folder of photos. Interrupted, the same call goes on.

    Parameters
    ----------
    project : Project
        The project.
    server : ImmichServer
        The server; a project belongs to one of them.
    pull, push : bool, default=True
        Whether to bring in previews and tags, and whether to write tags.
    progress : Progress, optional
        Told about every preview and tag.
    """
    _check_server(project, server)
    n_assets, n_fetched, n_failed, n_imported = 0, 0, 0, 0
    if pull:
        assets = list(dict.fromkeys(server.assets()))
        n_assets = len(assets)
        n_fetched, n_failed = _fetch(project, server, assets, progress)
        project.scan(progress=progress)
        n_imported = _import(project, server, progress)
    n_written, n_taken_out, skipped = _write(project, server, progress) if push else (0, 0, ())
    return ImmichResult(
        n_assets=n_assets,
        n_fetched=n_fetched,
        n_failed=n_failed,
        n_imported=n_imported,
        n_written=n_written,
        n_taken_out=n_taken_out,
        skipped=skipped,
    )


def _check_server(project: Project, server: ImmichServer) -> None:
    with project.store.transaction():
        known = project.store.settings.get(_SERVER, "")
        if known and known != server.url:
            raise InvalidInputError(f"this project belongs to {known[:200]}; make another project for {server.url}")
        project.store.settings.set(_SERVER, server.url)


def _fetch(project: Project, server: ImmichServer, assets: list[str], progress: Progress) -> tuple[int, int]:
    """Bring previews that are not there yet."""
    online_root(project.store)
    folder = project.root / os.fsdecode(FOLDER)
    folder.mkdir(exist_ok=True)
    if folder.is_symlink():
        raise InvalidInputError(f"{str(folder)!r} is a link; previews are written to a folder of their own")
    missing = [asset for asset in assets if not os.path.lexists(folder / f"{asset}.jpg")]
    n_fetched, n_failed = 0, 0
    progress.start("fetching previews", len(missing))
    for asset in missing:
        try:
            picture = server.preview(asset)
        except RemoteError as error:
            # A preview that the server has not made is no reason to stop; a server that is gone is one.
            if " answered 404 " not in str(error):
                raise
            n_failed += 1
        else:
            write_bytes(folder / f"{asset}.jpg", picture)
            n_fetched += 1
        progress.advance()
    progress.finish()
    return n_fetched, n_failed


def _photos(project: Project) -> dict[str, int]:
    """Return the photos that are previews of the server: {asset: id}."""
    table = project.store.photos.table()
    found = {}
    for path, number in zip(table.paths, table.ids.tolist(), strict=True):
        folder, _, name = path.rpartition(b"/")
        asset = os.fsdecode(name).removesuffix(".jpg")
        if folder == FOLDER and _UUID.fullmatch(asset):
            found[asset] = number
    return found


def _import(project: Project, server: ImmichServer, progress: Progress) -> int:
    """Take in the tags of the server, but for those that tagloom wrote; decisions of people stay."""
    photos, own = _photos(project), _written(project)
    tags = server.tags()
    pairs: list[tuple[int, str]] = []
    there: set[tuple[str, str]] = set()
    progress.start("reading tags", len(tags))
    for tag, value in tags.items():
        text = Keyword(tuple(level for level in value.split("/") if level)).text
        found = [one for one in server.assets(tag) if one in photos]
        there.update((one, tag) for one in found)
        pairs += [(photos[one], text) for one in found if (one, tag) not in own]
        progress.advance()
    progress.finish()
    # What somebody took out over there is not written again; and if they add it again, it is theirs.
    _keep(project, {pair: is_ours and pair in there for pair, is_ours in own.items()})
    if not pairs:
        return 0
    store = project.store
    with store.transaction():
        texts = list(dict.fromkeys(text for _, text in pairs))
        numbers = dict(zip(texts, store.tags.numbers(texts, make=True), strict=True))
        batch = store.decisions.decide(
            [photo for photo, _ in pairs],
            [numbers[text] for _, text in pairs],
            [1],
            origin="imported",
            who="immich",
            label=f"import {len(texts)} tags from Immich",
            keep=("human", "suggested"),
            skip_same=True,
        )
    return 0 if batch is None else store.decisions.batch(batch).n


def _write(project: Project, server: ImmichServer, progress: Progress) -> tuple[int, int, tuple[str, ...]]:
    """Write tags that people accepted, and take out those of earlier writes that are accepted no more."""
    store = project.store
    photos = _photos(project)
    assets = {number: asset for asset, number in photos.items()}
    said = store.decisions.current()
    texts = {tag.id: tag.text for tag in store.tags.all()}
    wanted: dict[str, list[str]] = {}
    skipped: dict[str, None] = {}
    accepted: dict[str, set[str]] = {}  # whoever accepted it: what was imported is not written again, and not taken out
    for photo, tag, state, origin in zip(
        said.photo_ids.tolist(), said.tag_ids.tolist(), said.states.tolist(), said.origins.tolist(), strict=True
    ):
        if state != 1 or photo not in assets or tag not in texts:
            continue
        levels = Keyword.parse(texts[tag]).path
        if any("/" in level for level in levels):
            skipped[texts[tag]] = None
            continue
        value = "/".join(levels)
        accepted.setdefault(value, set()).add(assets[photo])
        if origin != IMPORTED:
            wanted.setdefault(value, []).append(assets[photo])
    written = _written(project)
    known = dict(server.tags().items()) if written or wanted else {}
    made = {value: tag for tag, value in known.items()}
    made |= server.make_tags([value for value in wanted if value not in made])
    n_written, n_taken_out = 0, 0
    progress.start("writing tags", len(wanted))
    for value, several in wanted.items():
        tag = made.get(value)
        if tag is None:
            raise RemoteError(f"{server.url} did not make the tag {value!r}")
        todo = [asset for asset in several if (asset, tag) not in written]
        for first in range(0, len(todo), N_TAGGED):
            done = server.add(tag, todo[first : first + N_TAGGED])
            written |= {(asset, tag): True for asset in done}
            _keep(project, written)
            n_written += len(done)
        progress.advance()
    progress.finish()
    gone: dict[str, list[str]] = {}
    for (asset, tag), is_ours in sorted(written.items()):
        if is_ours and asset in photos and tag in known and asset not in accepted.get(known[tag], ()):
            gone.setdefault(tag, []).append(asset)
    for tag, several in gone.items():
        for first in range(0, len(several), N_TAGGED):
            part = several[first : first + N_TAGGED]
            n_taken_out += len(server.take_out(tag, part))
            for asset in part:
                del written[asset, tag]
            _keep(project, written)
    return n_written, n_taken_out, tuple(skipped)


def _written(project: Project) -> dict[tuple[str, str], bool]:
    """Return what tagloom wrote to the server, pairs of asset and tag, and whether that is there still."""
    stored = project.store.settings.get(_WRITTEN, [])
    try:
        return {(_identity(asset), _identity(tag)): is_ours is True for asset, tag, is_ours in stored}
    except (RemoteError, TypeError, ValueError) as error:
        raise DamagedStoreError("what was written to Immich is not noted as tagloom does; put back a backup") from error


def _keep(project: Project, written: Mapping[tuple[str, str], bool]) -> None:
    project.store.settings.set(_WRITTEN, [[asset, tag, is_ours] for (asset, tag), is_ours in sorted(written.items())])


def _identity(value: Any) -> str:
    """Return an id of the server, which names a file here: nothing else than a UUID is one."""
    if not isinstance(value, str) or not _UUID.fullmatch(value):
        raise RemoteError(f"the server gave {str(value)[:60]!r} as an id, which is none")
    return value


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
