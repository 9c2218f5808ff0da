"""What pages have asked for, by names of their own: a page whose answer was lost finds out what came of it.

A connection may break after a decision was carried out and before the page hears of it. The page then asks again under
the same name, and nothing is done twice, also if the server was started anew meanwhile.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tagloom.store.project import ProjectStore

__all__ = ["act_once"]

_REQUESTS = "review_requests"
#: A page has one request on its way at a time, and asks again within a quarter of a minute.
N_KEPT = 200


def act_once(store: "ProjectStore", key: str, act: Callable[[], int | None]) -> int | None:
    """Act, unless that was done under the same name before; return the action, None where it changed nothing.

    Parameters
    ----------
    store : ProjectStore
        The project; what is done and that it was done are one transaction.
    key : str
        The name of the request.
    act : callable
        Returns the batch that it made, or None.
    """
    with store.transaction():
        kept = store.settings.get(_REQUESTS, [])
        known = dict(kept)
        if key in known:
            return known[key]
        batch = act()
        store.settings.set(_REQUESTS, [*kept, [key, batch]][-N_KEPT:])
        return batch
