import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

from tagloom.core.labels import (
    check_labels,
    decode_labels,
    encode_labels,
    has_entrywise_unknowns,
    known_patterns,
    labeled_rows,
)
from tagloom.core.vocabulary import TagVocabulary
from tagloom.exceptions import InvalidInputError, InvalidLabelsError


@given(arrays(np.int8, array_shapes(min_dims=2, max_dims=2), elements=st.sampled_from([-1, 0, 1])))
def test_valid_matrices_pass_unchanged_in_any_dtype(Y):
    for dtype in (np.int8, np.int64, np.float32, np.float64):
        checked = check_labels(Y.astype(dtype))
        assert checked.dtype == np.int8
        np.testing.assert_array_equal(checked, Y)


def test_booleans_are_labels():
    np.testing.assert_array_equal(check_labels(np.array([[True, False]])), [[1, 0]])


@pytest.mark.parametrize(
    ("Y", "words"),
    [
        (np.zeros((3, 2, 1)), r"shape \(photos, tags\)"),
        (np.zeros((2, 0)), "at least one tag"),
        (np.array([[0, 2]]), "got .*2.* at row 0, column 1"),
        (np.array([[0.5]]), "row 0, column 0"),
        (np.array([["sky"]]), r"tagloom\.core\.labels\.encode_labels"),
        (np.array([[1, 0]], dtype=object), r"dtype object\. Use Y\.astype\(np\.int8\)"),
        (np.array([[1, "sky"]], dtype=object), r"tagloom\.core\.labels\.encode_labels"),
        ([{"sky"}, {"sea"}], r"shape \(2,\)\. Use tagloom\.core\.labels\.encode_labels"),
        ([["sky", "sea"], ["sky"]], r"shape \(2,\)\. Use tagloom\.core\.labels\.encode_labels"),
        (sparse.csr_array(np.eye(2)), r"sparse.*Give Y\.toarray\(\)"),
        (np.array([[0, 200]], dtype=np.int64), "200"),
    ],
)
def test_wrong_matrices_are_refused_with_place_and_remedy(Y, words):
    with pytest.raises(InvalidLabelsError, match=words):
        check_labels(Y)


def test_nan_is_unknown_and_one_dimension_is_one_tag():
    np.testing.assert_array_equal(check_labels(np.array([[1.0, np.nan], [0.0, 1.0]])), [[1, -1], [0, 1]])
    np.testing.assert_array_equal(check_labels([True, False]), [[1], [0]])
    np.testing.assert_array_equal(check_labels(np.array([1, np.nan, 0], dtype=np.float32)), [[1], [-1], [0]])


def test_needed_shape():
    Y = np.zeros((3, 2), dtype=int)
    with pytest.raises(InvalidLabelsError, match="expected 4 rows"):
        check_labels(Y, n_rows=4)
    with pytest.raises(InvalidLabelsError, match="expected 5 tags"):
        check_labels(Y, n_tags=5)


def test_labelled_rows_and_entrywise_unknowns():
    Y = check_labels([[1, 0], [-1, -1], [-1, 1]])
    np.testing.assert_array_equal(labeled_rows(Y), [True, False, True])
    assert has_entrywise_unknowns(Y)
    assert not has_entrywise_unknowns(Y[:2])


def test_what_absence_means():
    tags = TagVocabulary(["sky", "sea"])
    said = [{"sky": True}, {"sea": False}, None, {}]
    np.testing.assert_array_equal(encode_labels(said, tags), [[1, 0], [0, 0], [-1, -1], [0, 0]])
    np.testing.assert_array_equal(
        encode_labels(said, tags, absent_means="unknown"), [[1, -1], [-1, 0], [-1, -1], [-1, -1]]
    )
    with pytest.raises(InvalidInputError, match="'maybe'"):
        encode_labels(said, tags, absent_means="maybe")
    with pytest.raises(InvalidInputError, match="no tag 'moon'"):
        encode_labels([{"moon": True}], tags)


@given(st.lists(st.sets(st.sampled_from(["sky", "sea", "é", "a b"]))))
def test_encoding_and_decoding_are_inverse(rows):
    tags = TagVocabulary(["sky", "sea", "é", "a b"])
    Y = encode_labels([dict.fromkeys(row, True) for row in rows], tags)
    assert [set(row) for row in decode_labels(Y, tags)] == rows


@given(arrays(np.int8, array_shapes(min_dims=2, max_dims=2, max_side=20), elements=st.sampled_from([-1, 0, 1])))
def test_known_patterns_are_the_distinct_columns(Y):
    patterns, pattern_of = known_patterns(Y)
    np.testing.assert_array_equal(patterns[:, pattern_of], Y != -1)
    assert len({column.tobytes() for column in patterns.T}) == patterns.shape[1]


def test_photos_labelled_as_a_whole_are_one_pattern():
    Y = np.array([[1, 0, 1], [-1, -1, -1]], dtype=np.int8)
    patterns, pattern_of = known_patterns(Y)
    assert patterns.tolist() == [[True], [False]]
    assert pattern_of.tolist() == [0, 0, 0]


def test_the_function_that_errors_name_is_there():
    module, _, name = "tagloom.core.labels.encode_labels".rpartition(".")
    assert getattr(importlib.import_module(module), name) is encode_labels
