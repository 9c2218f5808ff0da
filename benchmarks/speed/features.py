"""What each family of features takes per photo, beside Pillow's decoding of the same photo and other libraries.

Every photo is decoded once by Pillow in its fastest mode (a JPEG at reduced size) and brought to at most 256 pixels;
that is the measure for the families, which all work on the result. Where another library has the same thing, it gets
the same pixels. All run in one thread.
"""

import io
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from benchmarks.datasets import data_folder
from benchmarks.errors import DataMissingError
from benchmarks.speed.harness import Local, Worker, case, compare, missing_case, out_parser, record
from benchmarks.speed.peers import opencv
from tagloom.core.photos import PhotoRecord, Verdict
from tagloom.features import available_descriptors, get_descriptor
from tagloom.features.classic.color import lab_histogram, srgb_to_lab
from tagloom.features.classic.cooccurrence import cooccurrence_texture
from tagloom.features.classic.edges import edge_histogram
from tagloom.features.classic.gabor import gabor_texture
from tagloom.features.classic.gradients import gradient_pyramid
from tagloom.features.classic.rgb import rgb_histogram
from tagloom.features.classic.wavelet import wavelet_texture
from tagloom.features.words.blobs import BlobsDescriptor, RegionSampler, learn_blobs
from tagloom.features.words.regions import segment
from tagloom.features.words.sift import SIFT_FORMS, DenseSift
from tagloom.features.words.vocabulary import learn_vocabulary
from tagloom.features.words.words import WordsDescriptor
from tagloom.images import DecodedPhoto, Rendition
from tagloom.images.renditions import WORKING_SIDE

PHOTOS = {"full": 12, "quick": 2}
SIZES = {"192 × 128": (192, 128), "1 megapixel": (1152, 864), "12 megapixels": (4032, 3024)}
SIDE = 256
BASE = "Pillow: decode at reduced size, resize to 256 pixels"
# Not of the global families: needs an optional package.
LEFT_OUT = ("faces", "audio")
Pictures = NDArray[np.uint8]


def make_files(folder: Path, size: tuple[int, int], n: int) -> list[Path]:
    """Write n JPEG photos of one size: real ones, cut to its proportions and resized."""
    sources = sorted((data_folder("coco_free") / "images").glob("*.jpg"))[:n]
    paths = []
    for number, source in enumerate(sources):
        path = folder / f"{size[0]}-{number}.jpg"
        with Image.open(source) as image:
            ImageOps.fit(image.convert("RGB"), size, Image.Resampling.BICUBIC).save(path, quality=90)
        paths.append(path)
    return paths


def decode(data: bytes, rendition: Rendition | None = None) -> Image.Image:
    with Image.open(io.BytesIO(data)) as image:
        full = image.size
        image.draft("RGB", (WORKING_SIDE, WORKING_SIDE))
        upright = ImageOps.exif_transpose(image).convert("RGB")
    target = (rendition or Rendition("fit", "fit", SIDE)).target(*full)
    return upright.resize(target, Image.Resampling.BICUBIC)


def decode_all(files: list[bytes]) -> None:
    for data in files:
        np.asarray(decode(data))


def decode_fully(files: list[bytes]) -> None:
    for data in files:
        with Image.open(io.BytesIO(data)) as image:
            upright = ImageOps.exif_transpose(image).convert("RGB")
        np.asarray(upright.resize(Rendition("fit", "fit", SIDE).target(*upright.size), Image.Resampling.BICUBIC))


def decoded(files: list[bytes], renditions: set[Rendition]) -> list[DecodedPhoto]:
    return [
        DecodedPhoto(PhotoRecord(b"", Verdict.OK), {one.name: np.asarray(decode(data, one)) for one in renditions})
        for data in files
    ]


def enough(rows: NDArray[Any], n: int) -> NDArray[Any]:
    """Return the rows as often as needed to have n, each a little changed, so that n words can be learned."""
    many = np.concatenate([rows] * -(-n // len(rows)))
    return many + 0.01 * rows.std() * np.random.default_rng(0).standard_normal(many.shape)


def learned(photos: list[DecodedPhoto]) -> dict[str, Any]:
    """Return bags of words of every form of SIFT, and blobs: vocabularies of usual size from whatever there is."""
    pictures = [photo.pixels[f"fit-{SIDE}"] for photo in photos]
    found: dict[str, Any] = {}
    for form in SIFT_FORMS:
        local = DenseSift(form)
        rows = enough(np.concatenate([local.local_features(pixels)[1] for pixels in pictures]), 2000)
        vocabulary = learn_vocabulary(rows, 500, source=local.key, random_state=0, max_iter=1, n_init=1)
        found[f"words of {form} (500)"] = WordsDescriptor(vocabulary, local=local)
    sampler = RegionSampler()
    regions = enough(np.concatenate([sampler.local_features(pixels)[1] for pixels in pictures]), 1000)
    found["blobs (500)"] = BlobsDescriptor(learn_blobs(regions, 500, source=sampler.key, random_state=0))
    return found


def family_case(title: str, paths: list[Path], threads: int) -> dict[str, Any]:
    files = [path.read_bytes() for path in paths]
    families: dict[str, Any] = {name: get_descriptor(name) for name in available_descriptors() if name not in LEFT_OUT}
    renditions = {one for family in families.values() for one in family.renditions}
    photos = decoded(files, renditions | {Rendition(f"fit-{SIDE}", "fit", SIDE)})
    others = learned(photos)
    contenders = [
        Local(BASE, partial(decode_all, files), role="ours"),
        Local("Pillow: decode in full, resize to 256 pixels", partial(decode_fully, files), role="ours"),
        *(Local(name, partial(one.compute, photos), role="ours") for name, one in (families | others).items()),
    ]
    entries = compare(contenders, threads=threads)
    cpu = {entry["name"]: entry["cpu"] for entry in entries}
    ratios = {f"{name}: CPU of decoding and resizing": cpu[name] / cpu[BASE] for name in families | others}
    ratios["All global families together: CPU of decoding and resizing"] = sum(map(cpu.get, families)) / cpu[BASE]
    without = sum(cpu[name] for name in families if name != "deep") / cpu[BASE]
    ratios["All global families but deep together: CPU of decoding and resizing"] = without
    return case(f"Photos of {title}", {"photos": len(files)}, entries, photos=len(files), ratios=ratios)


def each(function: Callable[..., Any], pictures: Pictures) -> NDArray[Any]:
    return np.stack([function(pixels) for pixels in pictures])


def largest_difference(reference: Local, key: str = "largest difference from tagloom") -> Callable[[Any], Any]:
    def accuracy(result: Any) -> dict[str, float]:
        rows = result["rows"] if isinstance(result, dict) else result
        return {key: float(np.abs(rows - reference.result()).max())}

    return accuracy


def lab_error(pictures: Pictures) -> Callable[[Any], dict[str, float]]:
    """Return the largest error of a LAB conversion against the formula in double precision."""
    encoded = pictures / 255.0
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    matrix = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
    xyz = linear @ (matrix / matrix.sum(axis=1, keepdims=True)).T
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * (29 / 6) ** 2 / 3 + 4 / 29)
    exact = np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)

    def accuracy(result: Any) -> dict[str, float]:
        values = result["rows"] if isinstance(result, dict) else result
        return {"largest error": float(np.abs(values - exact).max())}

    return accuracy


def peer_cases(pictures: Pictures, folder: Path, threads: int) -> list[dict[str, Any]]:
    """Return one case for each thing that another library has too."""
    n = len(pictures)
    size = f"{pictures.shape[2]} × {pictures.shape[1]}"

    def other(name: str, function: str, share: int = n) -> Worker:
        worker = Worker(
            name,
            f"peers/scikit_image.py:{function}",
            {"pixels": pictures[:share]},
            folder,
            environment="scikit-image",
            threads=threads,
        )
        if share != n:
            worker.share, worker.runs = (share, n), 1
        return worker

    def run(title: str, ours: Local, peers: list[Any], accuracy: Any = None) -> dict[str, Any]:
        try:
            entries = compare([ours, *peers], accuracy=accuracy, threads=threads)
        finally:
            for peer in peers:
                if isinstance(peer, Worker):
                    peer.close()
        return case(f"{title}, {n} pictures of {size} pixels", {"pictures": n}, entries, photos=n)

    def local(name: str, function: Callable[..., Any]) -> Local:
        return Local(name, partial(each, function, pictures), role="ours")

    def cv(function: Callable[..., Any], name: str = "OpenCV") -> Local:
        return Local(name, partial(function, pictures), role="peer")

    rgb, edges = local("tagloom", rgb_histogram), local("tagloom", edge_histogram)
    texture, waves = local("tagloom", cooccurrence_texture), local("tagloom", wavelet_texture)
    histogram = local("tagloom", lambda pixels: lab_histogram(srgb_to_lab(pixels)))
    return [
        run(
            "CIE LAB",
            local("tagloom", srgb_to_lab),
            [cv(opencv.lab), other("scikit-image", "lab")],
            lab_error(pictures),
        ),
        run(
            "LAB histogram",
            histogram,
            [other("scikit-image and NumPy", "lab_histogram")],
            largest_difference(histogram),
        ),
        run(
            "RGB histogram",
            rgb,
            [cv(opencv.rgb_histogram), other("NumPy", "rgb_histogram")],
            largest_difference(rgb),
        ),
        run(
            "Edge directions",
            edges,
            [cv(opencv.edges, "OpenCV (rounded luma)"), other("scikit-image and NumPy", "edges")],
            largest_difference(edges),
        ),
        run("Co-occurrence", texture, [other("scikit-image", "cooccurrence")], largest_difference(texture)),
        run("Wavelet texture", waves, [other("PyWavelets", "wavelet")], largest_difference(waves)),
        run(
            "Gabor texture (the others: kernels cut at three deviations, zero-padded or mirrored at the border)",
            local("tagloom", gabor_texture),
            [cv(opencv.gabor), other("scikit-image", "gabor", share=1)],
        ),
        run(
            "Gradient directions (scikit-image: the finest of our four levels alone)",
            local("tagloom", gradient_pyramid),
            [other("scikit-image", "gradients")],
        ),
        run(
            "Dense SIFT",
            Local("tagloom", partial(each, lambda one: DenseSift().local_features(one)[1], pictures), role="ours"),
            [cv(opencv.dense_sift)],
        ),
        run(
            "Segmentation into some ten regions",
            local("tagloom", segment),
            [other("scikit-image, SLIC", "slic"), other("scikit-image, Felzenszwalb", "felzenszwalb")],
        ),
    ]


def main(argv: list[str] | None = None) -> None:
    parser = out_parser("features")
    parser.add_argument("--data", type=Path, help="folder of the public datasets; default: $TAGLOOM_DATA")
    arguments = parser.parse_args(argv)
    if arguments.data is not None:
        os.environ["TAGLOOM_DATA"] = str(arguments.data)
    n, threads = PHOTOS["quick" if arguments.quick else "full"], arguments.threads
    cv2.setNumThreads(threads)
    cases = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "exchange").mkdir()
        try:
            for title, size in SIZES.items():
                cases.append(family_case(title, make_files(folder, size, n), threads))
            files = [path.read_bytes() for path in make_files(folder, SIZES["1 megapixel"], n)]
            pictures = np.stack([np.asarray(decode(data)) for data in files])
            cases += peer_cases(pictures, folder / "exchange", threads)
        except DataMissingError as error:
            cases = [missing_case("Features of photos", str(error))]
    packages = ["pillow", "opencv-python-headless", "onnxruntime"]
    record("features", "Features of photos, family by family", cases, arguments.out, threads=threads, packages=packages)


if __name__ == "__main__":
    main()
