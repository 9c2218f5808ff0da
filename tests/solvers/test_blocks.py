import threading

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from tagloom.solvers.cg.products import multiply_rows, one_thread_each, run_blocks, run_rows


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.parametrize("n_threads", [1, 3])
def test_every_block_is_worked_on_once(n_threads):
    done = []
    run_blocks(done.append, list(range(20)), n_threads)
    assert sorted(done) == list(range(20))


def test_threads_are_used_and_the_libraries_keep_to_one_meanwhile():
    seen, barrier = [], threading.Barrier(2, timeout=10)

    def work(_):
        barrier.wait()  # passes only if two blocks are worked on at the same time
        seen.append((threading.get_ident(), frozenset(blas_threads())))

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        run_blocks(work, [0, 1], 2)
        assert blas_threads() == before
    assert len({thread for thread, _ in seen}) == 2
    assert {threads for _, threads in seen} == {frozenset({1})}


def test_what_a_block_raises_is_raised():
    def work(block):
        if block == 3:
            raise ValueError("block 3")

    for n_threads in (1, 2):
        with pytest.raises(ValueError, match="block 3"):
            run_blocks(work, list(range(5)), n_threads)


def test_one_thread_each_is_undone():
    with threadpool_limits(2, user_api="blas"):
        with one_thread_each():
            assert blas_threads() == {1}
        assert blas_threads() != {1}


@pytest.mark.parametrize("n_threads", [1, 2, 3, None])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_by_rows_are_scipys(n_threads, dtype):
    rng = np.random.default_rng(0)
    A = sparse.random_array((1001, 700), density=0.02, format="csr", dtype=np.float64, rng=rng).astype(dtype)
    block = rng.standard_normal((700, 81)).astype(dtype)
    found = multiply_rows(A, block, n_threads)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, A @ block)
    np.testing.assert_array_equal(multiply_rows(A, np.asfortranarray(block), n_threads), found)


def test_a_product_of_two_precisions_has_the_better_one():
    A = sparse.eye_array(3, format="csr", dtype=np.float32)
    assert multiply_rows(A, np.ones((3, 2)), 2).dtype == np.float64


def test_ranges_of_rows_cover_each_row_once():
    seen = np.zeros(60_000, dtype=int)

    def work(rows):
        seen[rows] += 1

    run_rows(work, len(seen), 1, 7)
    assert (seen == 1).all()
