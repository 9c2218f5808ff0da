"""How requests are answered: JSON, pictures, and refusals with their status."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from tagloom.catalog import UnknownPhotoError
from tagloom.exceptions import StoreBusyError, StoreError, TagloomError, WriteError
from tagloom.review import NothingToUndoError, OthersActionError, UnknownTagError
from tagloom.web.fields import RequestError

__all__ = ["LONGEST_BODY", "error_answer", "json_answer", "picture_answer", "refused"]

LONGEST_BODY = 1 << 20
#: The same request may succeed later: the page keeps a decision that is answered so, and sends it again.
BUSY, NO_ROOM = 503, 507
FORBIDDEN = 403
KEPT_FOR_GOOD = "private, max-age=31536000, immutable"


def json_answer(value: Mapping[str, Any], status: int = 200) -> Response:
    """Return JSON as plain ASCII, so that no text from a photo or a tag can be anything but text."""
    body = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Response(body, status, media_type="application/json")


def error_answer(message: str, status: int) -> Response:
    """Return a sentence that says what is wrong."""
    return json_answer({"error": message}, status)


def picture_answer(picture: bytes, *, keep: bool) -> Response:
    """Return a picture; it is WebP made here, and said to be nothing else."""
    headers = {"Cache-Control": KEPT_FOR_GOOD} if keep else {}
    return Response(picture, media_type="image/webp", headers=headers)


def refused(error: TagloomError) -> Response:
    """Return the answer to a request that a verb refused."""
    if isinstance(error, RequestError):
        status = error.status
    elif isinstance(error, UnknownPhotoError | UnknownTagError):
        status = 404
    elif isinstance(error, OthersActionError):
        status = FORBIDDEN
    elif isinstance(error, StoreBusyError):
        status = BUSY
    elif isinstance(error, WriteError):
        status = NO_ROOM
    elif isinstance(error, NothingToUndoError | StoreError):
        status = 409
    else:
        status = 400
    message = getattr(error, "strerror", None) or str(error)
    # A person who was let in may not do this: the page must not take it for a session that is over.
    return json_answer({"error": message} | ({"denied": True} if status == FORBIDDEN else {}), status)
