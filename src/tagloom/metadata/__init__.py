"""Keywords in and out: labels files, keywords in photos and sidecars, dataset formats.

Names load when they are first asked for. Dataset formats are in `tagloom.metadata.formats`.
"""

from typing import TYPE_CHECKING

from tagloom.core.lazy import lazy_names

if TYPE_CHECKING:
    from tagloom.metadata.embedding import KeywordEmbedder
    from tagloom.metadata.file_changes import FileChanges
    from tagloom.metadata.keywords_file import KeywordRow, write_keywords
    from tagloom.metadata.labels_file import PhotoLabels, UnmatchedName, read_labels
    from tagloom.metadata.names import name_from_text, name_to_text
    from tagloom.metadata.photo_keywords import FoundKeywords, read_photo_keywords
    from tagloom.metadata.sidecar_plan import SidecarPlan, plan_sidecar
    from tagloom.metadata.sidecars import KeywordChange, SidecarWriter, WriteOutcome

_HOMES = {
    "FileChanges": "tagloom.metadata.file_changes",
    "FoundKeywords": "tagloom.metadata.photo_keywords",
    "KeywordChange": "tagloom.metadata.sidecars",
    "KeywordEmbedder": "tagloom.metadata.embedding",
    "KeywordRow": "tagloom.metadata.keywords_file",
    "PhotoLabels": "tagloom.metadata.labels_file",
    "SidecarPlan": "tagloom.metadata.sidecar_plan",
    "SidecarWriter": "tagloom.metadata.sidecars",
    "UnmatchedName": "tagloom.metadata.labels_file",
    "WriteOutcome": "tagloom.metadata.sidecars",
    "name_from_text": "tagloom.metadata.names",
    "name_to_text": "tagloom.metadata.names",
    "plan_sidecar": "tagloom.metadata.sidecar_plan",
    "read_labels": "tagloom.metadata.labels_file",
    "read_photo_keywords": "tagloom.metadata.photo_keywords",
    "write_keywords": "tagloom.metadata.keywords_file",
}

__all__ = [
    "FileChanges",
    "FoundKeywords",
    "KeywordChange",
    "KeywordEmbedder",
    "KeywordRow",
    "PhotoLabels",
    "SidecarPlan",
    "SidecarWriter",
    "UnmatchedName",
    "WriteOutcome",
    "name_from_text",
    "name_to_text",
    "plan_sidecar",
    "read_labels",
    "read_photo_keywords",
    "write_keywords",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
