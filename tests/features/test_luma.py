import numpy as np

from tagloom.features.classic.luma import LUMA_UNIT, count_bytes, scaled_luma


def test_luma_is_exact_for_every_byte_and_every_place_of_a_row():
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (3, 257, 3), dtype=np.uint8)
    expected = pixels.astype(np.int64) @ [299, 587, 114]
    np.testing.assert_array_equal(scaled_luma(pixels), expected)
    greys = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, axis=2)
    np.testing.assert_array_equal(scaled_luma(greys)[0], LUMA_UNIT * np.arange(256))


def test_bytes_are_counted():
    rng = np.random.default_rng(1)
    for shape in ((0,), (1,), (1000,), (30, 41)):
        codes = rng.integers(0, 256, shape, dtype=np.uint8)
        np.testing.assert_array_equal(count_bytes(codes), np.bincount(codes.ravel(), minlength=256))
