"""Which formats there are, how they are told apart, and exporters of other packages."""

import fnmatch
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from tagloom.core import missing_attributes
from tagloom.exceptions import InvalidInputError, LabelsFileError
from tagloom.metadata.formats.exporting import Exporter
from tagloom.metadata.formats.json_text import iter_entries, read_json_text
from tagloom.metadata.formats.labels import Notes, ReadOptions, Said
from tagloom.metadata.text_file import read_head, shown_name

__all__ = [
    "ENTRY_POINT_GROUP",
    "Format",
    "Reader",
    "available_exporters",
    "available_readers",
    "describe_formats",
    "detect_export_format",
    "detect_format",
    "get_exporter",
    "get_reader",
]

ENTRY_POINT_GROUP = "tagloom.exporters"
Reader = Callable[[Path, ReadOptions, Notes], Iterator[Said]]
_HOME = "tagloom.metadata.formats"
_SINGLE_LABEL = (
    "holds one label per photo (the folder it lies in), and photos have several keywords: all but one would be lost. "
    "Use huggingface, webdataset or csv, which hold them all"
)


@dataclass(frozen=True, slots=True)
class Format:
    """A format that tagloom reads or writes.

    Parameters
    ----------
    name : str
        What it is called in commands.
    description : str
        One line.
    patterns : tuple of str
        Names of files that are of this format unless something else is asked for.
    reader, exporter : str
        ``module:attribute``, empty where tagloom does not read or write it.
    """

    name: str
    description: str
    patterns: tuple[str, ...] = ()
    reader: str = ""
    exporter: str = ""


def _built_in(
    name: str, description: str, patterns: tuple[str, ...], module: str, *, reads: str, writes: str
) -> Format:
    home = f"{_HOME}.{module}"
    return Format(name, description, patterns, f"{home}:{reads}" if reads else "", f"{home}:{writes}" if writes else "")


# Where two patterns fit, the first decides.
_BUILT_IN = {
    form.name: form
    for form in (
        _built_in(
            "huggingface",
            "Hugging Face imagefolder: metadata.jsonl beside the photos (reads metadata.csv and metadata.parquet too)",
            ("metadata.jsonl", "metadata.csv", "metadata.parquet"),
            "huggingface",
            reads="read_huggingface",
            writes="HuggingFaceExporter",
        ),
        _built_in(
            "csv",
            "table with one keyword per row; tagloom's labels file",
            ("*.csv",),
            "csv_table",
            reads="read_csv",
            writes="CsvExporter",
        ),
        _built_in(
            "tsv",
            "the same table, separated by tabs",
            ("*.tsv", "*.tab"),
            "csv_table",
            reads="read_csv",
            writes="TsvExporter",
        ),
        _built_in(
            "jsonl",
            "JSON lines, one photo per line",
            ("*.jsonl", "*.ndjson"),
            "json_lines",
            reads="read_json_lines",
            writes="JsonLinesExporter",
        ),
        _built_in(
            "parquet",
            "Parquet table, one photo per row (needs the extra parquet)",
            ("*.parquet",),
            "parquet",
            reads="read_parquet",
            writes="ParquetExporter",
        ),
        _built_in(
            "one-hot",
            "table with a column for each keyword, 1 or 0 in each cell",
            (),
            "one_hot",
            reads="read_one_hot",
            writes="",
        ),
        _built_in(
            "open-images",
            "Open Images table: ImageID, LabelName, Confidence; names in class-descriptions.csv beside it",
            (),
            "open_images",
            reads="read_open_images",
            writes="",
        ),
        _built_in(
            "cvat",
            "CVAT for images 1.1, keywords as <tag>",
            ("annotations.xml", "*.xml"),
            "cvat",
            reads="read_cvat",
            writes="CvatExporter",
        ),
        _built_in(
            "coco",
            "COCO JSON, keywords as annotations of the whole image",
            ("instances_*.json", "labels_*.json", "*coco*.json"),
            "coco",
            reads="read_coco",
            writes="CocoExporter",
        ),
        _built_in(
            "label-studio",
            "Label Studio tasks: accepted keywords as annotations, suggested ones as predictions",
            (),
            "label_studio",
            reads="read_label_studio",
            writes="LabelStudioExporter",
        ),
        _built_in(
            "fiftyone",
            "FiftyOne image classification dataset: a folder with labels.json and data.json",
            (),
            "fiftyone",
            reads="read_fiftyone",
            writes="FiftyOneExporter",
        ),
        _built_in(
            "datumaro",
            "Datumaro JSON: labels of items",
            (),
            "datumaro",
            reads="read_datumaro",
            writes="",
        ),
        _built_in(
            "voc",
            "Pascal VOC: a folder of XML files, or one of them",
            (),
            "voc",
            reads="read_voc",
            writes="",
        ),
        _built_in(
            "yolo-cls",
            "YOLO classification: folders such as train/cat",
            (),
            "yolo_folders",
            reads="read_yolo_folders",
            writes="",
        ),
        _built_in(
            "webdataset",
            "WebDataset shard with a .json for each photo (reads .cls and .txt too)",
            ("*.tar",),
            "webdataset",
            reads="read_webdataset",
            writes="WebDatasetExporter",
        ),
    )
}
_REFUSED = {"imagefolder": "ImageFolder", "image-folder": "ImageFolder", "yolo-cls": "YOLO-cls", "yolo": "YOLO-cls"}
_SPREADSHEETS = (".xlsx", ".xls", ".ods", ".numbers")
_JSON_SECTIONS = {
    "images": "coco",
    "annotations": "coco",
    "categories": "coco",
    "licenses": "coco",
    "labels": "fiftyone",
    "classes": "fiftyone",
    "samples": "fiftyone",
    "dm_format_version": "datumaro",
    "items": "datumaro",
}


def available_readers() -> tuple[str, ...]:
    """Return the names of the formats that tagloom reads."""
    return tuple(form.name for form in _BUILT_IN.values() if form.reader)


def available_exporters() -> tuple[str, ...]:
    """Return the names of the formats that can be written: built in, then installed ones in alphabetical order."""
    built_in = tuple(form.name for form in _BUILT_IN.values() if form.exporter)
    return (*built_in, *sorted(set(_entry_points()) - set(_BUILT_IN) - set(_REFUSED)))


def describe_formats() -> tuple[Format, ...]:
    """Return all formats with their descriptions, those of other packages last."""
    installed = [name for name in available_exporters() if name not in _BUILT_IN]
    points = _entry_points()
    return (
        *_BUILT_IN.values(),
        *(Format(name, f"offered by {points[name].value}", exporter=points[name].value) for name in installed),
    )


def get_reader(name: str) -> Reader:
    """Return the reader of a format.

    Raises
    ------
    InvalidInputError
        If there is none of this name; lists what there is.
    """
    form = _BUILT_IN.get(name)
    if form is None or not form.reader:
        raise InvalidInputError(f"tagloom reads no format {name!r}; choose one of {', '.join(available_readers())}")
    reader: Reader = _load(form.reader)
    return reader


def get_exporter(name: str) -> Exporter:
    """Return the exporter of a format.

    Raises
    ------
    InvalidInputError
        If there is none of this name, it cannot be loaded, or the format cannot hold several keywords per photo.
    """
    if name.casefold() in _REFUSED:
        raise InvalidInputError(f"{_REFUSED[name.casefold()]} {_SINGLE_LABEL}")
    form = _BUILT_IN.get(name)
    if form is not None and form.exporter:
        exporter: Exporter = _load(form.exporter)()
        return exporter
    return _installed_exporter(name)


def detect_format(path: Path) -> str:
    """Tell a file's format from its name and, where several formats share it, from its content.

    Parameters
    ----------
    path : Path
        The file, or the folder of a format that is one.

    Raises
    ------
    LabelsFileError
        If nothing fits; says how to name the format.
    """
    if path.is_dir():
        return _detect_folder(path)
    name = path.name.casefold()
    found = next(
        (each.name for each in _BUILT_IN.values() if any(fnmatch.fnmatchcase(name, one) for one in each.patterns)), ""
    )
    if found in ("csv", "tsv"):
        return _detect_table(path) or found
    if name.endswith(".xml"):
        return "voc" if _load(f"{_HOME}.xml_text:root_name")(path) == "annotation" else found
    if name.endswith(".json"):
        found = _detect_json(path) or found
    if found:
        return found
    if name.endswith(_SPREADSHEETS):
        raise LabelsFileError(f'{shown_name(path)} is a spreadsheet, not a table as text. Save it as "CSV UTF-8"')
    raise LabelsFileError(
        f"cannot tell the format of {shown_name(path)}; name it with --format, one of {', '.join(available_readers())}"
    )


def detect_export_format(path: Path) -> str:
    """Tell from a file's name which format to write.

    Parameters
    ----------
    path : Path
        The file to write; that it exists changes nothing.

    Raises
    ------
    InvalidInputError
        If nothing fits; says how to name the format.
    """
    name = path.name.casefold()
    for form in _BUILT_IN.values():
        # Of the names that the Hugging Face reader looks for, one is written; the others are ordinary tables.
        patterns = ("metadata.jsonl",) if form.name == "huggingface" else form.patterns
        if form.exporter and any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            return form.name
    raise InvalidInputError(
        f"cannot tell from the name {shown_name(path)!r} which format to write; name it with --format, one of "
        f"{', '.join(available_exporters())}"
    )


def _detect_folder(path: Path) -> str:
    if any((path / name).is_file() for name in _BUILT_IN["huggingface"].patterns):
        return "huggingface"
    if any((path / name).is_file() for name in ("labels.json", "samples.json")):
        return "fiftyone"
    for name, test in (("voc", "voc:is_voc_folder"), ("yolo-cls", "yolo_folders:is_yolo_folder")):
        if _load(f"{_HOME}.{test}")(path):
            return name
    raise LabelsFileError(
        f"{shown_name(path)} is a folder without metadata.jsonl (Hugging Face), labels.json (FiftyOne), XML files "
        f"(Pascal VOC) and folders such as train/cat (YOLO); name the file to read"
    )


def _detect_table(path: Path) -> str:
    head = read_head(path)
    for name, test in (("open-images", "open_images:is_open_images"), ("one-hot", "one_hot:is_one_hot")):
        if _load(f"{_HOME}.{test}")(head):
            return name
    return ""


def _detect_json(path: Path) -> str:
    # The walk is lazy: it stops at the first section that tells.
    for entry in iter_entries(read_json_text(path, may_be_empty=True), lambda _place, _text: None):
        if not entry.section:
            return (
                "label-studio" if isinstance(entry.value, dict) and entry.value.keys() & {"data", "file_upload"} else ""
            )
        if entry.section == "categories" and entry.key:
            return "datumaro"
        if entry.section in _JSON_SECTIONS:
            return _JSON_SECTIONS[entry.section]
    return ""


def _installed_exporter(name: str) -> Exporter:
    points = _entry_points()
    if name not in points:
        raise InvalidInputError(f"no format {name!r} to write; choose one of {', '.join(available_exporters())}")
    try:
        exporter = points[name].load()()
    except Exception as error:  # whatever another package does when it is imported
        raise InvalidInputError(
            f"exporter {name!r} ({points[name].value}) cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    missing = missing_attributes(exporter, Exporter)
    if missing:
        raise InvalidInputError(
            f"the entry point {name!r} of {ENTRY_POINT_GROUP} gives a {type(exporter).__name__}, which lacks "
            f"{', '.join(missing)} of tagloom.metadata.formats.Exporter"
        )
    made: Exporter = exporter
    return made


def _load(home: str) -> Any:
    module, _, attribute = home.partition(":")
    return getattr(import_module(module), attribute)


@functools.cache
def _entry_points() -> Mapping[str, metadata.EntryPoint]:
    return {point.name: point for point in metadata.entry_points(group=ENTRY_POINT_GROUP)}
