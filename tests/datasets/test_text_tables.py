import numpy as np
import pytest

from tagloom.datasets._tables import read_names, read_numbers, read_states
from tagloom.exceptions import InvalidInputError


@pytest.fixture
def write(tmp_path):
    def put(text):
        path = tmp_path / "table.txt"
        path.write_text(text, encoding="utf-8")
        return path

    return put


@pytest.mark.parametrize("text", ["1 2.5 \n-3e-1 0 \n", "1,2.5\n-0.3,0\n", "  1.00   2.50\n\n -0.30   0.00\n"])
def test_blanks_or_commas_and_empty_lines(write, text):
    found = read_numbers(write(text), 2, 2)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [[1, 2.5], [-0.3, 0]], rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n3\n", "columns changed|number of columns"),
        ("1 2\n3 x\n", "could not convert"),
        ("1 2 3\n", "found 1 lines of 3"),
        ("1 2\n", "2 lines of 2 numbers.*found 1 lines of 2"),
        ("", "found 0 lines"),
        ("1 2\nnan 1\n", "line 2"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(write, text, message):
    with pytest.raises(InvalidInputError, match=message):
        read_numbers(write(text), 2, 2)


def test_any_number_of_lines_where_none_is_given(write):
    assert read_numbers(write("1\n2\n3\n"), 1).shape == (3, 1)


def test_a_file_that_is_no_text(tmp_path):
    path = tmp_path / "table.txt"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(InvalidInputError, match=r"table\.txt"):
        read_numbers(path, 1)
    with pytest.raises(InvalidInputError, match="no text"):
        read_names(path)


def test_states(write):
    assert read_states(write("1 0\n-1 1\n"), 2).tolist() == [[1, 0], [-1, 1]]
    with pytest.raises(InvalidInputError, match="line 2 has 2"):
        read_states(write("1\n2\n"))


def test_names_with_and_without_numbers(write):
    assert read_names(write("     1\tgiant+panda\n\n2 killer whale\n")) == ["giant+panda", "killer whale"]
    assert read_names(write("sky\nlive music\n747\n"), 3) == ["sky", "live music", "747"]
    with pytest.raises(InvalidInputError, match=r"4 names.*found 1"):
        read_names(write("sky\n"), 4)
    with pytest.raises(InvalidInputError, match="found 0"):
        read_names(write("\n"))
