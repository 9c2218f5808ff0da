"""Keywords in and out: labels files that people write, keyword tables that tagloom writes."""

from tagloom.metadata.keywords_file import KeywordRow, write_keywords
from tagloom.metadata.labels_file import PhotoLabels, UnmatchedName, read_labels
from tagloom.metadata.names import name_from_text, name_to_text

__all__ = [
    "KeywordRow",
    "PhotoLabels",
    "UnmatchedName",
    "name_from_text",
    "name_to_text",
    "read_labels",
    "write_keywords",
]
