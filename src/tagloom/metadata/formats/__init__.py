"""Keywords in the formats of other programs: tables, JSON, and the dataset formats of annotation tools.

``read_statements`` reads any of them, ``export_keywords`` writes them, ``read_folder_names`` takes folders for
keywords. One file per format; the registry names them. See the page "Formats".
"""

from tagloom.metadata.formats.export import export_files, export_keywords
from tagloom.metadata.formats.exporting import Exporter, ExportOptions, ExportReport
from tagloom.metadata.formats.folder_names import read_folder_names
from tagloom.metadata.formats.labels import ReadOptions
from tagloom.metadata.formats.reading import Reading, read_statements
from tagloom.metadata.formats.registry import (
    Format,
    available_exporters,
    available_readers,
    describe_formats,
    detect_export_format,
    detect_format,
    get_exporter,
)

__all__ = [
    "ExportOptions",
    "ExportReport",
    "Exporter",
    "Format",
    "ReadOptions",
    "Reading",
    "available_exporters",
    "available_readers",
    "describe_formats",
    "detect_export_format",
    "detect_format",
    "export_files",
    "export_keywords",
    "get_exporter",
    "read_folder_names",
    "read_statements",
]
