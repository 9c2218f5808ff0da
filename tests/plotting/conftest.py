"""Figures are drawn where their package is installed."""

import importlib

import pytest


@pytest.fixture(autouse=True)
def _drawing(matplotlib):
    for part in ("_pylab_helpers", "colors", "figure"):
        importlib.import_module(f"matplotlib.{part}")
