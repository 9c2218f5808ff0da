"""News for the open pages as server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tagloom.review.events import EventHub, ReviewEvent
from tagloom.web.requests import check_project, parameters, session_of

__all__ = ["ALIVE_SECONDS", "ROUTES"]

ALIVE_SECONDS = 15.0
_LONGEST_ID = 64


async def events(request: Request) -> Response:
    """Send events until the page or the server goes away."""
    # A browser sends no headers of ours with this request: the project is a parameter.
    check_project(request, parameters(request, ("project",)).get("project"))
    last = request.headers.get("last-event-id")
    stream = _stream(session_of(request).events, last[:_LONGEST_ID] if last else None)
    return StreamingResponse(stream, media_type="text/event-stream")


async def _stream(hub: EventHub, last_id: str | None) -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[ReviewEvent | None] = asyncio.Queue()

    def arrive(event: ReviewEvent | None) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, event)

    stop, missed = hub.listen(arrive, last_id)
    try:
        yield "retry: 1000\n\n"
        if missed is None:
            yield _line(ReviewEvent(hub.last_id(), "reset", {}))
        for event in missed or ():
            yield _line(event)
        # Up to here a page must have heard of everything (see `project` for where it begins).
        yield _line(ReviewEvent(hub.last_id(), "alive", {}))
        async for event in _arrivals(queue, hub.last_id):
            yield _line(event)
    finally:
        stop()


async def _arrivals(
    queue: "asyncio.Queue[ReviewEvent | None]", last_id: Callable[[], str]
) -> AsyncIterator[ReviewEvent]:
    """Yield events as they come, and a sign of life in between."""
    while True:
        try:
            event = await asyncio.wait_for(queue.get(), ALIVE_SECONDS)
        except TimeoutError:
            yield ReviewEvent(last_id(), "alive", {})
            continue
        if event is None:
            return
        yield event


def _line(event: ReviewEvent) -> str:
    return f"id: {event.id}\nevent: {event.name}\ndata: {json.dumps(event.data, allow_nan=False)}\n\n"


ROUTES = [Route("/api/events", events)]
