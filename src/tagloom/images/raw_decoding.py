"""A camera's RAW file to renditions: its JPEG preview, or with rawpy the RAW picture. Runs in a decode worker."""

import io

from PIL import Image

from tagloom.core import Verdict
from tagloom.images.colour import reduction, shrink_to_rgb
from tagloom.images.decoding import BEGINNINGS, Decoded, decode_bytes, decode_preview, finished, judged
from tagloom.images.raw_preview import RawContent, read_raw
from tagloom.images.settings import RESERVED_MEMORY, DecodeSettings
from tagloom.images.verdicts import Refused

__all__ = ["decode_raw"]

SMALLEST_PREVIEW = 320  # pixels of the longer side: less than that is a thumbnail
N_PREVIEWS = 3
BYTES_PER_PIXEL = 24  # of the sensor, to develop it: sensor values, four colours of 16 bits, the picture, copies


def decode_raw(data: bytes, settings: DecodeSettings) -> Decoded:
    """Decode a RAW file by its largest preview; one without a preview that will do is developed if rawpy is installed.

    Parameters
    ----------
    data : bytes
        The file's content. Where it is no RAW file but a photo, it is decoded as such.
    settings : DecodeSettings
        What to make of it, and limits.

    Raises
    ------
    Refused
        With the verdict on a photo that cannot be decoded. Nothing else is raised.
    """
    raw = read_raw(data, smallest=SMALLEST_PREVIEW)
    previews = [item for item in raw.previews if max(item.width, item.height) >= SMALLEST_PREVIEW]
    if not raw.is_raw and (data.startswith(BEGINNINGS) or not previews):
        return decode_bytes(data, settings)
    refusal: Refused | None = None
    for item in previews[:N_PREVIEWS]:
        try:
            return decode_preview(
                data[item.start : item.stop],
                settings,
                orientation=raw.orientation,
                exif=raw.exif,
                n_held=len(data),
            )
        except Refused as refused:
            refusal = refusal or refused
    if refusal is not None:
        raise refusal
    return judged(lambda: _develop(data, raw, settings), data, settings)


def _develop(data: bytes, raw: RawContent, settings: DecodeSettings) -> Decoded:
    try:
        import rawpy  # optional: the extra "raw"
    except ImportError as error:
        raise Refused(
            Verdict.UNREADABLE,
            f"a RAW file without a preview of at least {SMALLEST_PREVIEW} pixels; to read it: "
            f"pip install 'tagloom[raw]'",
        ) from error
    with rawpy.imread(io.BytesIO(data)) as picture:
        sizes = picture.sizes
        n_pixels = sizes.raw_width * sizes.raw_height
        _check(n_pixels, len(data), settings)
        is_large = reduction(sizes.width, sizes.height, settings.working_side) > 1
        pixels = picture.postprocess(half_size=is_large, use_camera_wb=True, output_bps=8)
    height, width = pixels.shape[:2]
    image = Image.frombytes("RGB", (width, height), pixels.tobytes())
    factor = 2 if is_large else 1
    return finished(shrink_to_rgb(image, settings.working_side), (factor * width, factor * height), raw.exif, settings)


def _check(n_pixels: int, n_file: int, settings: DecodeSettings) -> None:
    """Refuse by its header what may be a bomb, or needs more memory than is allowed."""
    if n_pixels > settings.max_pixels:
        raise Refused(
            Verdict.TOO_LARGE,
            f"the header claims {n_pixels:,} pixels, more than the {settings.max_pixels:,} allowed; raise max_pixels "
            f"if the photo is genuine",
        )
    need, allowed = n_pixels * BYTES_PER_PIXEL, settings.memory_limit - RESERVED_MEMORY - n_file
    if need > allowed:
        raise Refused(
            Verdict.TOO_LARGE,
            f"the RAW picture needs about {need >> 20} MiB to develop, more than the {allowed >> 20} MiB allowed; "
            f"raise memory_limit",
        )
