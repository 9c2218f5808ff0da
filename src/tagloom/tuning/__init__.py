"""Choices made on a person's own labels: so far the weights of feature groups.

Public names load lazily: scikit-learn is imported by what needs it.
"""

from typing import TYPE_CHECKING

from tagloom.core.lazy import lazy_names

if TYPE_CHECKING:
    from tagloom.tuning.group_weights import GroupWeights, choose_group_weights

__all__ = ["GroupWeights", "choose_group_weights"]

_HOMES = dict.fromkeys(__all__, "tagloom.tuning.group_weights")

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
