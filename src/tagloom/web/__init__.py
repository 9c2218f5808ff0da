"""The review page: a thin layer of HTTP over `tagloom.review.session`, and static ES modules without a build step."""

from tagloom.core.lazy import lazy_names

__all__ = ["make_app", "serve"]

_HOMES = {"make_app": "tagloom.web.app", "serve": "tagloom.web.server"}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
