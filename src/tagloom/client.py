"""A project that `tagloom serve` serves, with the verbs of `Project`, over HTTP and the standard library alone."""

import http.client
import ipaddress
import json
import ssl
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, urlencode, urlsplit

from tagloom.exceptions import InvalidInputError, RemoteError, StoreBusyError, WriteError

if TYPE_CHECKING:
    import os

    from tagloom.review.answers import (
        ChangedTag,
        HistoryAnswer,
        JobAnswer,
        PhotoAnswer,
        PhotoLine,
        ProjectAnswer,
        TagAnswer,
        ThresholdsAnswer,
        UndoneAnswer,
    )

__all__ = ["RemoteProject", "connect"]

API = "/api/v1"
N_AT_ONCE = 300
N_LISTED = 1_000
N_DECIDED = 5_000
N_TAGS = 100
LARGEST_ANSWER = 256 << 20
PAUSE_SECONDS = 0.5

Photos = int | str | Sequence[int | str]


def connect(
    url: str,
    token: str,
    *,
    timeout: float = 60.0,
    ca_file: "str | os.PathLike[str] | None" = None,
    allow_plain_http: bool = False,
) -> "RemoteProject":
    """Connect to a project that ``tagloom serve`` serves.

    Parameters
    ----------
    url : str
        Its address, such as ``http://127.0.0.1:8765`` or ``https://photos.example.org``.
    token : str
        That of a user: ``tagloom serve user add NAME --role labeller``.
    timeout : float, default=60
        Seconds to wait for an answer.
    ca_file : path, optional
        Certificates to trust beside those of the system, PEM: for a certificate of your own.
    allow_plain_http : bool, default=False
        Whether the token may travel over HTTP beyond this computer, where anybody on the way can read it.

    Returns
    -------
    RemoteProject
        The project; use it as a context manager.

    Raises
    ------
    InvalidInputError
        If the address makes no sense, or would send the token in the open.
    RemoteError
        If the server does not answer or does not know the token.

    Examples
    --------
    >>> with connect("http://127.0.0.1:8765", "TOKEN") as project:  # doctest: +SKIP
    ...     project.label("IMG_0107.jpg", add="dog")
    """
    project = RemoteProject(url, token, timeout=timeout, ca_file=ca_file, allow_plain_http=allow_plain_http)
    try:
        project.status()
    except BaseException:
        project.close()
        raise
    return project


class RemoteProject:
    """A project on a server. Its verbs are those of `Project`; what they return is what the HTTP API answers.

    Made by `connect`. Photos are named by id or by path below the folder of photos, tags by name. One thread at a time
    may use it.

    Parameters
    ----------
    url, token, timeout, ca_file, allow_plain_http
        See `connect`.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 60.0,
        ca_file: "str | os.PathLike[str] | None" = None,
        allow_plain_http: bool = False,
    ) -> None:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1 or parts.path.strip("/"):
            raise InvalidInputError(f"expected an address such as http://127.0.0.1:8765, got {url[:200]!r}")
        if not token.isascii() or not token.isprintable() or not token:
            raise InvalidInputError("a token is plain text; copy what `tagloom serve user add` printed")
        if parts.scheme == "http" and not allow_plain_http and not _is_here(parts.hostname):
            raise InvalidInputError(
                f"{url[:200]} would send the token in the open; use https, or say allow_plain_http=True"
            )
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._headers = {"Authorization": f"Bearer {token}"}
        if parts.scheme == "https":
            context = ssl.create_default_context()
            if ca_file is not None:
                context.load_verify_locations(ca_file)
            self._connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                parts.hostname, port, timeout=timeout, context=context
            )
        else:
            self._connection = http.client.HTTPConnection(parts.hostname, port, timeout=timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    # photos and tags ---------------------------------------------------------------------------------------------

    def status(self) -> "ProjectAnswer":
        """Return the project: tags, folders, progress, what to do next, and who you are."""
        found: ProjectAnswer = self._get("/project")
        return found

    def tags(self) -> "list[TagAnswer]":
        """Return the tags in use or suggested, with their other names and counts."""
        return [tag for tag in self.status()["tags"] if tag["listed"]]

    def photos(self, query: str = "", **filters: Any) -> "Iterator[PhotoLine]":
        """Yield photos in order.

        Parameters
        ----------
        query : str
            Words; each must be in the path, in a tag, or in what the network sees.
        **filters
            ``sort``, ``tag`` (a name), ``state``, ``folder``, ``since``, ``until``, ``similar``, ``stacks``, as the
            HTTP API has them.
        """
        if isinstance(filters.get("tag"), str):
            filters["tag"] = self._tag(filters["tag"])
        first, n_known = 0, 1
        while first < n_known:
            found = self._get("/photos", q=query or None, first=first, n=N_LISTED, **filters)
            yield from found["photos"]
            first, n_known = first + N_LISTED, found["total"]

    def search(self, query: str, *, n: int = 20) -> "list[PhotoLine]":
        """Return the first photos that words find."""
        found: list[PhotoLine] = self._get("/photos", q=query, n=min(n, N_LISTED))["photos"]
        return found

    def photo(self, photo: int | str) -> "PhotoAnswer":
        """Return all that is known of a photo: its tags, suggestions and history."""
        (number,) = self._ids(photo)
        found: PhotoAnswer = self._get(f"/photo/{number}")
        return found

    def picture(self, photo: int | str, *, large: bool = False) -> bytes:
        """Return a photo as WebP: a thumbnail, or at most 1,600 pixels."""
        (number,) = self._ids(photo)
        return self._request("GET", f"/photo/{number}/{'large' if large else 'thumb'}")

    def rename_tag(self, tag: str, new: str) -> "ChangedTag":
        """Give a tag another name; the old one leads to it still."""
        return self._change_tag(tag, rename=new)

    def merge_tags(self, tag: str, into: str) -> "ChangedTag":
        """Make one tag another one."""
        return self._change_tag(tag, merge_into=self._tag(into))

    def alias_tag(self, alias: str, tag: str) -> "ChangedTag":
        """Make a text another name of a tag."""
        return self._change_tag(tag, alias=alias)

    def imply_tag(self, child: str, parent: str) -> "ChangedTag":
        """Let one tag imply another."""
        return self._change_tag(child, parent=self._tag(parent))

    # labels ------------------------------------------------------------------------------------------------------

    def label(
        self,
        photos: Photos,
        *,
        add: str | Sequence[str] = (),
        remove: str | Sequence[str] = (),
        clear: str | Sequence[str] = (),
        origin: str = "human",
    ) -> dict[str, Any]:
        """Accept, reject or clear tags of photos.

        Parameters
        ----------
        photos : int, str or sequence
            The photos.
        add, remove, clear : str or sequence of str
            Tags that the photos have, have not, or of which no decision is left. Each of the three is an action of its
            own; an unknown tag is made where it is added.
        origin : {"human", "suggested"}
            "suggested" is an answer to a suggestion.

        Returns
        -------
        dict
            ``batches``, the actions, and ``n``, how many pairs of photo and tag they decided.
        """
        ids = self._ids(photos)
        batches, n = [], 0
        for state, names in ((1, _several(add)), (0, _several(remove)), (-1, _several(clear))):
            numbers = self._tag_ids(names, make=state == 1)
            for tags in _parts(numbers, N_TAGS):
                for part in _parts(ids, N_DECIDED):
                    found = self._post("/decide", {"photos": part, "tags": tags, "state": state, "origin": origin})
                    batches += [] if found["batch"] is None else [found["batch"]]
                    n += found["n"]
        return {"batches": batches, "n": n}

    def history(self, limit: int = 50, *, everybody: bool = False) -> "HistoryAnswer":
        """Return the latest actions, newest first: what you may undo, or everybody's."""
        found: HistoryAnswer = self._get("/history", limit=limit, who="all" if everybody else None)
        return found

    def undo(self, batch: int | None = None) -> "UndoneAnswer | None":
        """Take back your latest action, or another one; None if there is nothing."""
        if batch is None:
            latest = self.history(1)["next_undo"]
            if latest is None:
                return None
            batch = latest["id"]
        found: UndoneAnswer = self._post("/undo", {"batch": batch})
        return found

    def redo(self) -> "UndoneAnswer":
        """Bring back what you undid last."""
        found: UndoneAnswer = self._post("/redo")
        return found

    # models and suggestions --------------------------------------------------------------------------------------

    def suggest(self, photos: Photos | None = None, *, n: int = 5, above_only: bool = True) -> list[dict[str, Any]]:
        """Return suggestions for photos, best first.

        Parameters
        ----------
        photos : int, str or sequence, optional
            Default: all.
        n : int, default=5
            How many for each photo; at most 5.
        above_only : bool, default=True
            Whether to leave out those below the threshold.

        Returns
        -------
        list of dict
            ``photo_id``, ``photo``, ``tag``, ``value``, ``kind`` ("probability" or "score") and ``above``.
        """
        about = self.status()
        names = {tag["id"]: tag["text"] for tag in about["tags"]}
        ids = [one["id"] for one in self.photos()] if photos is None else self._ids(photos)
        found = []
        for first in range(0, len(ids), N_AT_ONCE):
            part = ",".join(map(str, ids[first : first + N_AT_ONCE]))
            for cell in self._get("/cells", ids=part)["cells"]:
                offered = [(*pair, True) for pair in cell["suggested"]]
                offered += [] if above_only else [(*pair, False) for pair in cell["unsure"]]
                found += [
                    {
                        "photo_id": cell["id"],
                        "photo": cell["name"],
                        "tag": names.get(tag, ""),
                        "value": value,
                        "kind": about["kind"],
                        "above": above,
                    }
                    for tag, value, above in offered[:n]
                ]
        return found

    def next_photos(self, n: int = 20, *, tag: str | None = None) -> dict[str, Any]:
        """Return the ids of the photos to label next, and why these."""
        found: dict[str, Any] = self._get("/teach", n=n, tag=None if tag is None else self._tag(tag))
        return found

    def explain(self, photo: int | str, tag: str) -> dict[str, Any]:
        """Explain why a photo has its score for a tag."""
        (number,) = self._ids(photo)
        found: dict[str, Any] = self._get(f"/photo/{number}/why/{self._tag(tag)}")
        return found

    def thresholds(self) -> "ThresholdsAnswer":
        """Return what is suggested at the threshold in force, and what would be at others."""
        found: ThresholdsAnswer = self._get("/thresholds")
        return found

    def set_threshold(self, value: float | None) -> "ThresholdsAnswer":
        """Set the threshold of all tags; None: as training chose."""
        found: ThresholdsAnswer = self._post("/threshold", {"threshold": value})
        return found

    # work --------------------------------------------------------------------------------------------------------

    def scan(self, *, wait: bool = True) -> "JobAnswer":
        """Find new, changed, moved and missing photos."""
        return self._job({"kind": "scan"}, wait=wait)

    def extract(self, *, wait: bool = True) -> "JobAnswer":
        """Compute features of photos that have none yet."""
        return self._job({"kind": "extract"}, wait=wait)

    def train(self, *, wait: bool = True) -> "JobAnswer":
        """Learn from the labelled photos."""
        return self._job({"kind": "train"}, wait=wait)

    def compare(self, *, wait: bool = True) -> "JobAnswer":
        """Compare methods on the labelled photos; ``methods`` of the job has the figures."""
        return self._job({"kind": "compare"}, wait=wait)

    def write(self, photos: Photos | None = None, *, wait: bool = True) -> "JobAnswer":
        """Write keywords to sidecars, where the server has the photos."""
        return self._job({"kind": "write"} | ({} if photos is None else {"photos": self._ids(photos)}), wait=wait)

    def export(self, format: str, *, accepted_only: bool = True, wait: bool = True) -> "JobAnswer":
        """Export keywords to a file in the server's folder ``tagloom-exports``."""
        return self._job({"kind": "export", "format": format, "accepted_only": accepted_only}, wait=wait)

    def write_plan(self, n: int = 200) -> dict[str, Any]:
        """Return what a write would do to the files of the first photos."""
        found: dict[str, Any] = self._get("/write/plan", n=n)
        return found

    def jobs(self) -> "list[JobAnswer]":
        """Return the latest jobs, newest first."""
        found: list[JobAnswer] = self._get("/jobs")["jobs"]
        return found

    def cancel(self, job: int) -> "JobAnswer":
        """Ask a job to end at its next step; what is finished is kept."""
        found: JobAnswer = self._post(f"/jobs/{job}/cancel")["job"]
        return found

    def _job(self, body: Mapping[str, Any], *, wait: bool) -> "JobAnswer":
        job: JobAnswer = self._post("/jobs", body)["job"]
        while wait and job["state"] == "running":
            time.sleep(PAUSE_SECONDS)
            job = next(one for one in self.jobs() if one["id"] == job["id"])
        if job["state"] == "failed":
            raise RemoteError(f"{job['kind']} failed: {job['message']}")
        return job

    # requests ----------------------------------------------------------------------------------------------------

    def _ids(self, photos: Photos) -> list[int]:
        wanted = [photos] if isinstance(photos, int | str) else list(photos)
        names = [one for one in wanted if isinstance(one, str)]
        found: dict[str, int | None] = {}
        for first in range(0, len(names), N_LISTED):
            part = names[first : first + N_LISTED]
            found |= zip(part, self._post("/photos/find", {"paths": part})["ids"], strict=True)
        missing = [name for name, number in found.items() if number is None]
        if missing:
            raise InvalidInputError(f"the project has no photo {missing[0]!r}; scan again if it is new")
        return [one if isinstance(one, int) else found[one] or 0 for one in wanted]

    def _tag(self, text: str) -> int:
        return self._tag_ids([text])[0]

    def _tag_ids(self, texts: Sequence[str], *, make: bool = False) -> list[int]:
        if not texts:
            return []
        known: dict[str, int] = {}
        for tag in self.status()["tags"]:
            for name in (tag["text"], *tag["aliases"]):
                known.setdefault(_folded(name), tag["id"])
        found = []
        for text in texts:
            number = known.get(_folded(text))
            if number is None and not make:
                raise InvalidInputError(f"the project has no tag {text!r}")
            found.append(self._post("/tags", {"text": text, "new": True})["id"] if number is None else number)
        return found

    def _change_tag(self, tag: str, **change: Any) -> "ChangedTag":
        found: ChangedTag = self._post(f"/tags/{self._tag(tag)}", change)
        return found

    def _get(self, path: str, **query: Any) -> Any:
        given = {name: value for name, value in query.items() if value is not None}
        return json.loads(self._request("GET", f"{path}?{urlencode(given, quote_via=quote)}" if given else path))

    def _post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return json.loads(self._request("POST", path, json.dumps(body or {}).encode("ascii")))

    def _request(self, method: str, path: str, body: bytes | None = None) -> bytes:
        headers = self._headers | ({} if body is None else {"Content-Type": "application/json"})
        # The server closes connections that rest. What only reads is asked for again; what changes something is sent
        # once, over a connection of its own.
        if method != "GET":
            self._connection.close()
        for is_last in (method != "GET", True):
            try:
                self._connection.request(method, API + path, body=body, headers=headers)
                answer = self._connection.getresponse()
                data = answer.read(LARGEST_ANSWER)
                break
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                if is_last or not isinstance(error, ConnectionError | http.client.BadStatusLine):
                    raise RemoteError(f"{self.url} does not answer: {error}") from error
        if answer.status == http.client.OK:
            return data
        raise _error(answer.status, data)


def _error(status: int, data: bytes) -> Exception:
    try:
        message = str(json.loads(data)["error"])
    except (ValueError, KeyError, TypeError):
        message = f"the server answered {status}"
    if status in (400, 404):
        return InvalidInputError(message)
    if status == 503:
        return StoreBusyError(message)
    if status == 507:
        return WriteError(0, message)
    return RemoteError(message, status)


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _several(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _parts(values: list[int], size: int) -> Iterator[list[int]]:
    return (values[first : first + size] for first in range(0, len(values), size))


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
