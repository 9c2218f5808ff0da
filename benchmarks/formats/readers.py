"""``PYTHON readers.py FOLDER ROOT``: what the readers installed beside PYTHON make of the exports in FOLDER.

Runs in the environments of other programs, so that at the top it imports the standard library alone. Each reader
returns the keywords of each photo; `check.py` has written next to the exports what they have to be.
"""

import importlib.metadata
import importlib.util
import json
import os
import sys
import tempfile
import traceback
from pathlib import Path

Found = dict[str, list[str]]


def read_pycocotools(folder: Path) -> Found:
    from pycocotools.coco import COCO

    coco = COCO(folder / "coco/annotations/labels_all.json")
    return {
        image["file_name"]: [coco.cats[a["category_id"]]["name"] for a in coco.imgToAnns[image["id"]]]
        for image in coco.loadImgs(coco.getImgIds())
    }


def _table_rows(rows: object) -> Found:
    found: Found = {}
    for row in rows:
        kept = found.setdefault(row["file"], [])
        if row["source"] != "rejected":
            kept.append(row["tag"].removeprefix("!") if row["tag"].startswith("!!") else row["tag"])
    return found


def read_datasets_csv(folder: Path) -> Found:
    from datasets import Features, Value, load_dataset

    features = Features({name: Value("string") for name in ("file", "tag", "source", "score")})
    return _table_rows(load_dataset("csv", data_files=str(folder / "keywords.csv"), features=features, split="train"))


def read_pandas_csv(folder: Path) -> Found:
    import pandas

    table = pandas.read_csv(folder / "keywords.csv", dtype=str, keep_default_na=False)
    return _table_rows(table.to_dict("records"))


def read_datasets_jsonl(folder: Path) -> Found:
    from datasets import load_dataset

    rows = load_dataset("json", data_files=str(folder / "keywords.jsonl"), split="train")
    return {row["file"]: row["tags"] or [] for row in rows}


def read_datasets_parquet(folder: Path) -> Found:
    # Only this environment has pyarrow, so that the table is written here too.
    from benchmarks.formats.check import example_photos
    from datasets import load_dataset
    from tagloom.metadata.formats import export_keywords

    export_keywords(example_photos(), folder / "keywords.parquet", format="parquet")
    rows = load_dataset("parquet", data_files=str(folder / "keywords.parquet"), split="train")
    return {row["file"]: row["tags"] or [] for row in rows}


def read_datasets_imagefolder(folder: Path) -> Found:
    from datasets import Image, load_dataset

    root = folder / "photos"
    rows = load_dataset("imagefolder", data_dir=str(root), split="train")
    rows[0]["image"].load()
    rows = rows.cast_column("image", Image(decode=False))
    return {os.path.relpath(row["image"]["path"], root).replace(os.sep, "/"): row["tags"] or [] for row in rows}


def read_datasets_webdataset(folder: Path) -> Found:
    from datasets import Features, List, Value, load_dataset

    # Otherwise the types are guessed from the first five photos, and a list that is empty in all of them has none.
    record = {
        "file": Value("string"),
        "width": Value("int32"),
        "height": Value("int32"),
        "tags": List(Value("string")),
        "not_tags": List(Value("string")),
        "suggested": List({"tag": Value("string"), "score": Value("float64")}),
    }
    features = Features({"__key__": Value("string"), "__url__": Value("string"), "json": record})
    rows = load_dataset("webdataset", data_files=str(folder / "keywords.tar"), features=features, split="train")
    return {row["json"]["file"]: row["json"]["tags"] or [] for row in rows}


def read_webdataset(folder: Path) -> Found:
    import webdataset

    samples = webdataset.WebDataset(str(folder / "keywords.tar"), shardshuffle=False).decode()
    return {sample["json"]["file"]: sample["json"]["tags"] or [] for sample in samples}


def _datumaro(path: Path, form: str) -> Found:
    from datumaro import Dataset
    from datumaro.components.annotation import AnnotationType

    dataset = Dataset.import_from(str(path), form)
    names = dataset.categories()[AnnotationType.label]
    return {
        os.path.relpath(item.media.path, path / "images").replace(os.sep, "/"): [
            names[annotation.label].name for annotation in item.annotations if annotation.type == AnnotationType.label
        ]
        for item in dataset
    }


def read_datumaro_coco(folder: Path) -> Found:
    return _datumaro(folder / "coco", "coco_labels")


def read_datumaro_cvat(folder: Path) -> Found:
    return _datumaro(folder / "cvat", "cvat")


def read_label_studio_sdk(folder: Path) -> Found:
    from label_studio_sdk.label_interface import LabelInterface

    interface = LabelInterface((folder / "tasks.config.xml").read_text(encoding="utf-8"))
    interface.validate()
    found: Found = {}
    for task in json.loads((folder / "tasks.json").read_text(encoding="utf-8")):
        # Of a task with annotations this method calls another one without its argument, so it gets the data alone.
        if not interface.validate_task({"data": task["data"]}):
            raise ValueError(f"the interface does not accept the task {task['data']['file']!r}")
        paths = []
        for kind, accepts in (
            ("annotations", interface.validate_annotation),
            ("predictions", interface.validate_prediction),
        ):
            for entry in task.get(kind, []):
                if not accepts(entry):
                    raise ValueError(f"the interface does not accept the {kind} of {task['data']['file']!r}")
                paths += [path for result in entry["result"] for path in result["value"]["taxonomy"]]
        found[task["data"]["file"]] = ["|".join(_escaped(level) for level in path) for path in paths]
    return found


def _escaped(level: str) -> str:
    return level.replace("\\", "\\\\").replace("|", "\\|")


def read_fiftyone(folder: Path) -> Found:
    os.environ.setdefault("FIFTYONE_DATABASE_DIR", str(folder / "fiftyone-database"))
    os.environ.setdefault("FIFTYONE_DO_NOT_TRACK", "1")
    from fiftyone.utils.data.importers import FiftyOneImageClassificationDatasetImporter

    root = folder / "photos"
    found: Found = {}
    with FiftyOneImageClassificationDatasetImporter(str(folder / "fiftyone"), data_path="data.json") as importer:
        for path, _, label in importer:
            name = os.path.relpath(path, root).replace(os.sep, "/")
            found[name] = [] if label is None else [c.label for c in label.classifications]
    return found


READERS = {
    "datasets csv": ("datasets", read_datasets_csv),
    "datasets json": ("datasets", read_datasets_jsonl),
    "datasets parquet": ("datasets", read_datasets_parquet),
    "datasets imagefolder": ("datasets", read_datasets_imagefolder),
    "datasets webdataset": ("datasets", read_datasets_webdataset),
    "pandas csv": ("pandas", read_pandas_csv),
    "pycocotools coco": ("pycocotools", read_pycocotools),
    "webdataset": ("webdataset", read_webdataset),
    "datumaro coco_labels": ("datumaro", read_datumaro_coco),
    "datumaro cvat": ("datumaro", read_datumaro_cvat),
    "label-studio-sdk": ("label_studio_sdk", read_label_studio_sdk),
    "fiftyone": ("fiftyone", read_fiftyone),
}
# To these two photos whose names differ in the extension alone are one, which they refuse.
WITHOUT_TWINS = {"datumaro coco_labels", "datumaro cvat"}
PACKAGES = {"label_studio_sdk": "label-studio-sdk"}


def run(module: str, reader: object, folder: Path) -> dict[str, object]:
    version = importlib.metadata.version(PACKAGES.get(module, module))
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    try:
        found = reader(folder)
    except Exception as error:
        cause = error.__cause__ or error
        line = traceback.extract_tb(cause.__traceback__)[-1]
        return {"version": version, "same": False, "error": f"{type(cause).__name__}: {cause} ({line.name})"[:500]}
    wrong = {
        name: {"expected": tags, "found": sorted(found.get(name, []))}
        for name, tags in expected.items()
        if sorted(found.get(name, [])) != tags
    }
    extra = sorted(set(found) - set(expected))
    answer = {"version": version, "same": not wrong and not extra, "photos": len(found)}
    return answer if answer["same"] else answer | {"wrong": wrong, "extra": extra}


def main(folder: Path, root: Path) -> None:
    sys.path[:0] = [str(root), str(root / "src")]
    with tempfile.TemporaryDirectory() as cache:
        os.environ.update(HF_HOME=cache, HF_DATASETS_OFFLINE="1", HF_HUB_OFFLINE="1")
        answers = {
            name: run(module, reader, folder / "no-twins" if name in WITHOUT_TWINS else folder)
            for name, (module, reader) in READERS.items()
            if importlib.util.find_spec(module) is not None
        }
    print(json.dumps(answers, ensure_ascii=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
