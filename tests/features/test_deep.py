import numpy as np
import pytest
from PIL import Image

from tagloom.exceptions import InvalidInputError
from tagloom.features import DeepDescriptor, Descriptor
from tagloom.features.efficientnet import weights_path
from tagloom.features.model_cache import file_digest
from tagloom.images import Rendition

# ImageNet's numbers of classes that Caltech101 has as well; it has two for aeroplanes (airliner, warplane).
CLASSES = {"dalmatian": [251], "accordion": [401], "airplanes": [404, 895], "flamingo": [130]}


@pytest.fixture
def photos(make_photo, smooth_pictures):
    return [make_photo(square_224=picture) for picture in smooth_pictures(5, 224)]


def test_contract():
    descriptor = DeepDescriptor()
    assert isinstance(descriptor, Descriptor)
    assert descriptor.outputs == {"deep": 1280, "semantic": 1000}
    assert descriptor.renditions == (Rendition("square-224", "square", 224),)
    assert descriptor.parameters["weights"] == file_digest(weights_path())


def test_key_ignores_what_the_rows_do_not_depend_on():
    assert DeepDescriptor(batch_size=3, n_threads=2).key == DeepDescriptor().key
    assert DeepDescriptor().key.startswith("deep-v1-")


def test_rows(photos):
    rows = DeepDescriptor(n_threads=1).compute(photos)
    assert rows.shape == (5, 2280)
    assert rows.dtype == np.float32
    assert rows.min() >= 0
    np.testing.assert_allclose(rows[:, 1280:].sum(axis=1), 1, atol=1e-5)
    assert rows[:, :1280].max() <= 6


@pytest.mark.parametrize("options", [{"batch_size": 1}, {"batch_size": 2}, {"batch_size": 5, "n_threads": 2}])
def test_rows_depend_on_nothing_but_their_photo(photos, options):
    expected = DeepDescriptor(n_threads=1, batch_size=8).compute(photos)
    got = DeepDescriptor(**{"n_threads": 1, **options}).compute(photos[::-1])[::-1]
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_no_photo_no_row():
    assert DeepDescriptor().compute([]).shape == (0, 2280)


def test_the_model_is_kept_in_the_cache(photos, session_cache):
    DeepDescriptor(n_threads=1).compute(photos[:1])
    (file,) = (session_cache / "models").glob("efficientnet-lite0-*.onnx")
    assert file_digest(weights_path()) in file.name
    assert file_digest(file) in file.name


def test_batch_size_is_checked():
    with pytest.raises(InvalidInputError, match="at least 1"):
        DeepDescriptor(batch_size=0)


@pytest.mark.medium
@pytest.mark.parametrize(("name", "numbers"), CLASSES.items())
def test_real_photos_are_recognised(shared_data, make_photo, name, numbers):
    files = sorted((shared_data / "caltech101" / "images" / name).iterdir())[:16]
    photos = [make_photo(square_224=centre_square(file)) for file in files]
    probabilities = DeepDescriptor(n_threads=1).compute(photos)[:, 1280:]
    # The chance of a class is 1 in 1,000; a wrong mean, channel order, padding or epsilon costs much of this.
    assert np.isin(probabilities.argmax(axis=1), numbers).mean() > 0.5
    assert probabilities.max(axis=1).mean() > 0.4


def centre_square(path):
    with Image.open(path) as picture:
        picture = picture.convert("RGB")
    factor = 224 / min(picture.size)
    picture = picture.resize([max(224, round(side * factor)) for side in picture.size], Image.Resampling.BICUBIC)
    left, top = (picture.width - 224) // 2, (picture.height - 224) // 2
    return np.asarray(picture.crop((left, top, left + 224, top + 224)))
