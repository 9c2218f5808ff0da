"""Benchmarks are no unit of the package: their tests belong to ``make test``, not to ``make test-fast``."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(HERE) and item.get_closest_marker("slow") is None:
            item.add_marker(pytest.mark.medium)
