"""What the package promises to everybody: its names, its examples, its light import."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import tagloom
from tests.pages import PAGES, draws, run_examples

PUBLIC = [
    "Annotator",
    "AutoAnnotator",
    "BoostedAnnotator",
    "CurdsAndWhey",
    "FSNM",
    "FeatureGroups",
    "FisherScore",
    "GLLR",
    "HarmonicPropagation",
    "JEC",
    "KernelSVM",
    "Keyword",
    "LPP",
    "LPPSVM",
    "LPSSVM",
    "LabeledKFold",
    "LapRLS",
    "LapSVM",
    "LaplacianTopicModel",
    "LocalGlobalConsistency",
    "M3L",
    "MultipleKernelSVM",
    "NOVA",
    "NeighborTransfer",
    "PLSAWords",
    "Project",
    "RegularizedLeastSquares",
    "RemoteProject",
    "SBMLR",
    "SFSS",
    "TKML",
    "TagProp",
    "TagVocabulary",
    "TopicMixture",
    "TransductiveSVM",
    "__version__",
    "connect",
    "label_budget",
]
#: Pages whose examples take several seconds: `make test-slow` runs them.
LONG_PAGES = {
    "docs/gallery/index.md",
    "docs/how-to/compare-methods.md",
    "docs/how-to/draw-figures.md",
    "docs/how-to/evaluate.md",
    "docs/reference/datasets.md",
}
MODULES = sorted(module.name for module in pkgutil.walk_packages(tagloom.__path__, "tagloom."))


def test_public_names_are_these():
    assert sorted(tagloom.__all__) == PUBLIC == sorted([*dir(tagloom), "__version__"])
    for name in PUBLIC:
        assert getattr(tagloom, name) is not None
    with pytest.raises(AttributeError, match="magic"):
        _ = tagloom.magic


def test_import_is_light():
    script = (
        "import sys, tagloom\n"
        "libraries = 'numpy scipy sklearn PIL faiss onnx onnxruntime typer matplotlib'.split()\n"
        "heavy = set(libraries) & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_every_package_lists_names_that_exist():
    for name in MODULES:
        module = importlib.import_module(name)
        missing = [item for item in getattr(module, "__all__", []) if not hasattr(module, item)]
        assert not missing, f"{name}: {missing}"


def _run_docstrings(modules):
    n_run = 0
    for name in modules:
        result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
        assert result.failed == 0, name
        n_run += result.attempted
    return n_run


@pytest.mark.medium
def test_examples_in_docstrings_run():
    assert _run_docstrings(name for name in MODULES if not name.startswith("tagloom.plotting")) > 10


@pytest.mark.medium
def test_examples_in_docstrings_of_figures_run(matplotlib):
    assert _run_docstrings(name for name in MODULES if name.startswith("tagloom.plotting")) > 1


def _marked(page):
    return pytest.param(page, marks=pytest.mark.slow) if page in LONG_PAGES else page


@pytest.mark.medium
@pytest.mark.parametrize("page", [_marked(page) for page in PAGES if not draws(page)])
def test_examples_in_the_docs_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_examples(page)


@pytest.mark.medium
@pytest.mark.parametrize("page", [_marked(page) for page in PAGES if draws(page)])
def test_examples_in_the_docs_that_draw_run(page, tmp_path, monkeypatch, matplotlib):
    monkeypatch.chdir(tmp_path)
    assert run_examples(page)


def test_the_readme_example_imports():
    assert run_examples("README.md") == 1
