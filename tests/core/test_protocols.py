from typing import Protocol

import pytest

from tagloom.core.protocols import missing_attributes


class Wanted(Protocol):
    name: str

    @property
    def key(self) -> str: ...

    def write(self) -> None: ...


class Given:
    def __init__(self):
        self.name = "given"

    @property
    def key(self):
        raise RuntimeError("must not be asked")

    def write(self):
        raise RuntimeError("must not be called")


def test_nothing_is_evaluated():
    assert missing_attributes(Given(), Wanted) == []


@pytest.mark.parametrize("item", [{}, None, 3])
def test_all_that_is_missing_is_named_in_order(item):
    assert missing_attributes(item, Wanted) == ["name", "key", "write"]
