import pytest

from tagloom.core.lazy import lazy_names


def test_names_come_from_their_homes():
    get, names = lazy_names("somewhere", {"sqrt": "math", "Path": "pathlib"})
    assert get("sqrt")(9.0) == 3.0
    assert names() == ["Path", "sqrt"]
    with pytest.raises(AttributeError, match="module 'somewhere' has no attribute 'cube'"):
        get("cube")
