"""Routes about photos: rankings, cells, pictures, details."""

import json
from typing import Any

from anyio import CapacityLimiter
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tagloom.exceptions import PhotosError
from tagloom.review.ranking import PhotoQuery, Ranking
from tagloom.web.answers import RequestError, error_answer, json_answer, picture_answer
from tagloom.web.requests import choice, get, id_list, parameters, session_of, text, whole_number

__all__ = ["ROUTES", "ranking_body"]

N_CELLS = 300
N_WORDS = 20
N_DECODED = 8
_QUERY = ("sort", "tag", "state", "folder", "since", "until", "q", "similar", "stacks")


def ranking_body(ranking: Ranking, sort: str) -> bytes:
    """Return a ranking as the page reads it, little-endian.

    The length of the header (uint32), the header (JSON, filled up with blanks so that what follows is aligned), the
    ids (int32), and the numbers (float32) if the header says that there are any.
    """
    has_values = ranking.values is not None
    header = {"n": len(ranking.ids), "sort": sort, "version": ranking.version, "has_values": has_values}
    head = json.dumps(header).encode("ascii")
    head += b" " * (-len(head) % 4)
    parts = [len(head).to_bytes(4, "little"), head, ranking.ids.astype("<i4").tobytes()]
    if ranking.values is not None:
        parts.append(ranking.values.astype("<f4").tobytes())
    return b"".join(parts)


@get
def ranking(request: Request) -> Response:
    """Return the ids of photos in order."""
    return _ranked(request, _query(parameters(request, _QUERY)))


@get
def lens(request: Request) -> Response:
    """Return the photos of a tag, the likeliest first."""
    given = parameters(request, [name for name in _QUERY if name not in ("tag", "sort")])
    return _ranked(request, _query(given | {"tag": str(request.path_params["tag"]), "sort": "score"}))


@get
def cells(request: Request) -> Response:
    """Return what the grid shows of some photos."""
    ids = id_list(parameters(request, ("ids",)).get("ids"), "ids", most=N_CELLS)
    return json_answer(session_of(request).cells(ids))


@get
def thumb(request: Request) -> Response:
    """Return a thumbnail."""
    return _picture(request, session_of(request).thumbnail)


def large(request: Request) -> Response:
    """Return a large picture."""
    return _picture(request, session_of(request).large)


@get
def photo(request: Request) -> Response:
    """Return all that is known of a photo."""
    parameters(request, ())
    return json_answer(session_of(request).photo(_id(request, "id")))


@get
def why(request: Request) -> Response:
    """Return what speaks for a tag on a photo."""
    parameters(request, ())
    return json_answer(session_of(request).why(_id(request, "id"), _id(request, "tag")))


@get
def teach(request: Request) -> Response:
    """Return photos to label next."""
    given = parameters(request, ("tag", "n"))
    tag = whole_number(given["tag"], "tag") if "tag" in given else None
    return json_answer(session_of(request).teach(tag, whole_number(given.get("n", "50"), "n", most=1_000)))


def _ranked(request: Request, query: PhotoQuery) -> Response:
    found = session_of(request).ranking(query)
    return Response(ranking_body(found, query.sort), media_type="application/octet-stream")


def _query(given: dict[str, str]) -> PhotoQuery:
    words = tuple(text(given["q"]).split()) if "q" in given else ()
    if len(words) > N_WORDS:
        raise RequestError(f"expected at most {N_WORDS} words to search for")
    options: dict[str, Any] = {name: whole_number(given[name], name) for name in ("tag", "similar") if name in given}
    options |= {name: given[name] for name in ("sort", "state", "folder", "since", "until") if name in given}
    return PhotoQuery(words=words, stacks=choice(given.get("stacks", "0"), "stacks", ("0", "1")) == "1", **options)


def _picture(request: Request, make: Any) -> Response:
    version = parameters(request, ("v",)).get("v")
    photos, number = session_of(request).photos, _id(request, "id")
    try:
        picture = make(number)
    except PhotosError as error:
        return error_answer(str(error), 404)
    # Only an address that names this very content may be kept for good.
    return picture_answer(picture, keep=bool(version) and photos.hashes[photos.row(number)].startswith(version or "-"))


def _id(request: Request, name: str) -> int:
    try:
        return whole_number(request.path_params[name], name)
    except RequestError:
        raise RequestError(f"there is no such {'tag' if name == 'tag' else 'photo'}", 404) from None


ROUTES = [
    Route("/api/ranking", ranking),
    Route("/api/lens/{tag:int}", lens),
    Route("/api/cells", cells),
    Route("/api/photo/{id:int}", photo),
    Route("/api/photo/{id:int}/why/{tag:int}", why),
    Route("/api/teach", teach),
    Route("/thumb/{id:int}", thumb),
    Route("/large/{id:int}", get(large, limiter=CapacityLimiter(N_DECODED))),
]
