"""Faces: the arithmetic against loops and OpenCV, the detector against OpenCV's own way of running it."""

import cv2
import numpy as np
import pytest
from PIL import Image

from tagloom.exceptions import InvalidInputError, ModelError
from tagloom.features import Descriptor
from tagloom.features.network import faces
from tagloom.features.network.faces import FACE_COLUMNS, FacesDescriptor, detector_path, face_row
from tagloom.images import Rendition


@pytest.fixture(scope="module")
def detector(face_detector):
    """Return a descriptor that can detect."""
    return FacesDescriptor(n_threads=1)


class FakeRunner:
    """Stands for a network that is sure of some places: {(stride, row, column): (score, four box outputs)}."""

    def __init__(self, found):
        self.found = found

    def run(self, name, batch, outputs):
        assert name == "input"
        height, width = batch.shape[2:]
        assert batch.dtype == np.float32
        assert height % 32 == width % 32 == 0
        self.seen = batch
        values = {}
        for stride in (8, 16, 32):
            n_places = height * width // stride**2
            for kind, n in (("cls", 1), ("obj", 1), ("bbox", 4)):
                values[f"{kind}_{stride}"] = np.zeros((1, n_places, n), dtype=np.float32)
        for (stride, row, column), (score, box) in self.found.items():
            place = row * (width // stride) + column
            values[f"cls_{stride}"][0, place] = score
            values[f"obj_{stride}"][0, place] = 1.0
            values[f"bbox_{stride}"][0, place] = box
        return [values[name] for name in outputs]


def with_runner(found, **parameters):
    descriptor = FacesDescriptor(**parameters)
    descriptor.__dict__["_runner"] = FakeRunner(found)
    return descriptor


def test_row_of_some_faces():
    boxes = np.array([[10.0, 20, 30, 40], [50, 0, 90, 40], [-10, 40, 10, 60]])
    row = dict(zip(FACE_COLUMNS, face_row(boxes, 100, 50), strict=True))
    assert row["count"] == 3
    assert row["share"] == pytest.approx((20 * 20 + 40 * 40 + 10 * 10) / 5000)
    assert row["largest_share"] == pytest.approx(1600 / 5000)
    assert (row["largest_x"], row["largest_y"]) == (0.7, 0.4)
    assert row["mean_x"] == pytest.approx((0.2 + 0.7 + 0.05) / 3)
    assert row["mean_y"] == pytest.approx((0.6 + 0.4 + 0.9) / 3)


def test_no_face_is_zero():
    np.testing.assert_array_equal(face_row(np.empty((0, 4)), 10, 10), np.zeros(7))
    assert len(FACE_COLUMNS) == 7


def test_boxes_that_cover_everything_cover_no_more():
    row = face_row(np.array([[-5.0, -5, 200, 200]] * 3), 100, 50)
    np.testing.assert_allclose(row, [3, 1, 1, 0.5, 0.5, 0.5, 0.5])


def test_row_does_not_depend_on_the_order_of_the_faces():
    generator = np.random.default_rng(0)
    corners = generator.uniform(0, 80, (6, 2))
    boxes = np.concatenate([corners, corners + generator.uniform(1, 20, (6, 2))], axis=1)
    np.testing.assert_allclose(face_row(boxes[::-1], 100, 90), face_row(boxes, 100, 90))


def test_places_become_boxes():
    box = [0.5, 0.25, np.log(3.0), np.log(4.0)]
    descriptor = with_runner({(16, 2, 5): (0.81, box), (8, 0, 0): (0.4, box)})
    boxes, scores = descriptor.detect(np.zeros((70, 200, 3), dtype=np.uint8))
    np.testing.assert_allclose(boxes, [[5.5 * 16 - 24, 2.25 * 16 - 32, 5.5 * 16 + 24, 2.25 * 16 + 32]], rtol=1e-6)
    np.testing.assert_allclose(scores, [0.9], rtol=1e-6)
    assert len(with_runner(descriptor._runner.found, min_score=0.6).detect(np.zeros((70, 200, 3), np.uint8))[0]) == 2
    assert len(with_runner(descriptor._runner.found, min_score=0.95).detect(np.zeros((70, 200, 3), np.uint8))[0]) == 0


def test_the_network_sees_bgr_and_zeros_beyond_the_border():
    pixels = np.random.default_rng(0).integers(0, 256, (40, 33, 3), dtype=np.uint8)
    descriptor = with_runner({})
    np.testing.assert_array_equal(descriptor.describe(pixels), np.zeros(7))
    seen = descriptor._runner.seen
    assert seen.shape == (1, 3, 64, 64)
    np.testing.assert_array_equal(seen[0, :, :40, :33], pixels[:, :, [2, 1, 0]].transpose(2, 0, 1))
    assert not seen[0, :, 40:].any()
    assert not seen[0, :, :, 33:].any()


def test_absurd_boxes_give_finite_rows():
    descriptor = with_runner({(8, 0, 0): (1.0, [1e9, -1e9, 1e9, 1e9]), (32, 1, 1): (1.0, [0, 0, -1e9, -1e9])})
    row = descriptor.describe(np.zeros((64, 64, 3), dtype=np.uint8))
    assert np.isfinite(row).all()
    assert (row >= 0).all()


def test_overlaps_against_opencv():
    for seed in range(20):
        generator = np.random.default_rng(seed)
        corners = generator.uniform(0, 60, (40, 2))
        sides = generator.uniform(10, 40, (40, 2))
        scores = generator.uniform(0.7, 1, 40)
        expected = cv2.dnn.NMSBoxes(np.hstack([corners, sides]).tolist(), scores.tolist(), 0.0, 0.3)
        kept = faces._without_overlaps(np.hstack([corners, corners + sides]), scores)
        assert kept == np.ravel(expected).tolist()


def test_a_missing_detector_names_the_extra(monkeypatch, make_photo):
    monkeypatch.setattr(faces, "DETECTOR_PACKAGE", "no_such_package_of_faces")
    descriptor = FacesDescriptor()
    assert descriptor.outputs == {"faces": 7}
    assert descriptor.renditions == (Rendition("fit-448", "fit", 448),)
    with pytest.raises(ModelError, match=r"tagloom\[faces\]"):
        _ = descriptor.key
    with pytest.raises(ModelError, match=r"tagloom\[faces\]"):
        descriptor.compute([make_photo(fit_448=np.zeros((8, 8, 3), dtype=np.uint8))])


@pytest.mark.parametrize("content", [b"", b"no model", bytes(range(256))])
def test_a_damaged_detector(monkeypatch, tmp_path, content):
    file = tmp_path / "face_detection_yunet_2023mar.onnx"
    file.write_bytes(content)
    monkeypatch.setattr(faces, "detector_path", lambda: file)
    with pytest.raises(ModelError, match="face detector"):
        FacesDescriptor().detect(np.zeros((8, 8, 3), dtype=np.uint8))


@pytest.mark.parametrize("min_score", [0, 1, -1, float("nan")])
def test_what_is_refused(min_score):
    with pytest.raises(InvalidInputError):
        FacesDescriptor(min_score=min_score)


def test_key(detector):
    assert isinstance(detector, Descriptor)
    assert detector.key == FacesDescriptor(n_threads=2).key
    assert len({detector.key, FacesDescriptor(size=256).key, FacesDescriptor(min_score=0.8).key}) == 3


@pytest.mark.parametrize("shape", [(1, 1), (1, 448), (448, 1), (448, 14), (31, 33), (448, 448)])
@pytest.mark.parametrize("kind", ["constant", "noise"])
def test_pictures_without_faces(detector, shape, kind):
    noise = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    row = detector.describe(noise if kind == "noise" else np.full((*shape, 3), 130, dtype=np.uint8))
    assert row.shape == (7,)
    np.testing.assert_array_equal(row, 0)


def test_against_opencv(detector, shared_data):
    oracle = cv2.FaceDetectorYN.create(str(detector_path()), "", (320, 320), score_threshold=0.7, nms_threshold=0.3)
    n_faces = 0
    for path in sorted((shared_data / "coco_free" / "images").glob("*.jpg"))[4:40:4]:
        pixels = np.asarray(Image.open(path).convert("RGB"))
        oracle.setInputSize((pixels.shape[1], pixels.shape[0]))
        _, expected = oracle.detect(np.ascontiguousarray(pixels[:, :, ::-1]))
        boxes, scores = detector.detect(pixels)
        n_faces += len(boxes)
        expected = np.empty((0, 15)) if expected is None else expected
        np.testing.assert_allclose(np.hstack([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]]), expected[:, :4], atol=0.01)
        np.testing.assert_allclose(scores, expected[:, 14], atol=1e-4)
    assert n_faces > 3


def test_a_mirrored_photo_has_its_faces_mirrored(detector, shared_data):
    photo = np.asarray(Image.open(shared_data / "coco_free" / "images" / "000000000294.jpg").convert("RGB"))
    row, mirrored = detector.describe(photo), detector.describe(np.ascontiguousarray(photo[:, ::-1]))
    assert row[0] == 1
    expected = [*row[:3], 1 - row[3], row[4], 1 - row[5], row[6]]
    np.testing.assert_allclose(mirrored, expected, atol=0.01)


@pytest.mark.medium
def test_faces_of_photos_whose_faces_are_marked(detector, shared_data):
    folder = shared_data / "msrc_v2"
    with np.load(folder / "msrc_v2.npz") as known:
        column = known["fraction_columns"].tolist().index("face")
        names, shares = known["image"], known["pixel_fraction"][:, column]
        body = known["Y"][:, known["words"].tolist().index("body")] == 1
    n_found = n_large = n_false = n_none = 0
    for name, share, has_body in zip(names, shares, body, strict=True):
        if share > 0.01:
            n_large += 1
            mask = np.asarray(Image.open(folder / "groundtruth" / f"{name}.png")) == column
            boxes, _ = detector.detect(np.asarray(Image.open(folder / "images" / f"{name}.jpg").convert("RGB")))
            centres = ((boxes[:, :2] + boxes[:, 2:]) / 2).astype(int)
            n_found += any(mask[min(y, mask.shape[0] - 1), min(x, mask.shape[1] - 1)] for x, y in centres)
        elif share == 0 and not has_body and n_none < 150:
            n_none += 1
            pixels = np.asarray(Image.open(folder / "images" / f"{name}.jpg").convert("RGB"))
            n_false += detector.describe(pixels)[0] > 0
    assert n_large == 40
    assert n_found >= 38
    assert n_false <= 0.04 * n_none
