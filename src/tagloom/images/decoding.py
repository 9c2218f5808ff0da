"""A file's bytes to renditions, thumbnail and EXIF: Pillow behind a format allow-list. Runs in a decode worker."""

import contextlib
import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import pi_heif
from PIL import (
    AvifImagePlugin,
    BmpImagePlugin,
    GifImagePlugin,
    Image,
    ImageFile,
    Jpeg2KImagePlugin,
    JpegImagePlugin,
    MpoImagePlugin,
    PngImagePlugin,
    PpmImagePlugin,
    TiffImagePlugin,
    UnidentifiedImageError,
    WebPImagePlugin,
)

from tagloom.core import Verdict
from tagloom.images.colour import shrink_to_rgb
from tagloom.images.renditions import Rendition, fitting
from tagloom.images.settings import LARGEST_EXIF, RESERVED_MEMORY, DecodeSettings
from tagloom.images.verdicts import Refused

__all__ = ["BEGINNINGS", "Decoded", "decode_bytes", "decode_preview", "finished", "judged", "prepare", "render"]

PLUGINS = (
    AvifImagePlugin,
    BmpImagePlugin,
    GifImagePlugin,
    Jpeg2KImagePlugin,
    JpegImagePlugin,
    MpoImagePlugin,
    PngImagePlugin,
    PpmImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "MPO", "PPM", "JPEG2000", "AVIF", "HEIF")

# What a photo in these formats begins with: such a file is damaged rather than something else.
BEGINNINGS = (b"\xff\xd8\xff", b"\x89PNG\r\n", b"GIF8", b"II*\0", b"MM\0*", b"\0\0\0\x0cjP  ")
HEIC_BRANDS = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"hevx", b"hevm", b"hevs", b"mif1", b"msf1")

ORIENTATION = 0x0112
TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
THUMBNAIL_QUALITY = 80
# Of the seven efforts of WebP: half the time of the default for a fortieth more bytes (measured on photos).
THUMBNAIL_EFFORT = 2

BYTES_PER_PIXEL = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16B": 2, "I;16L": 2, "I;16N": 2}
# What decoders hold per pixel beside Pillow's own image.
WORKSPACE_PER_PIXEL = {"WEBP": 12, "AVIF": 12, "HEIF": 12, "JPEG2000": 20, "GIF": 2}
ROWS_PER_STRIP, TILE_WIDTH, TILE_LENGTH, BITS_PER_SAMPLE = 278, 322, 323, 258

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a worker makes of one photo.

    Parameters
    ----------
    width, height : int
        Pixels after orientation.
    pictures : list of (width, height, bytes)
        One per rendition, in order: rows of RGB.
    thumbnail : bytes
        WebP, or empty.
    exif : bytes
        The EXIF block from its TIFF header on, or empty.
    """

    width: int
    height: int
    pictures: list[tuple[int, int, bytes]]
    thumbnail: bytes
    exif: bytes


def prepare(settings: DecodeSettings) -> None:
    """Set Pillow up in this process: limits, silence, HEIC.

    Parameters
    ----------
    settings : DecodeSettings
        Of the pool.
    """
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    Image.MAX_IMAGE_PIXELS = settings.max_pixels
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    AvifImagePlugin.DEFAULT_MAX_THREADS = 1
    pi_heif.register_heif_opener(decode_threads=1, thumbnails=False, depth_images=False, aux_images=False)


def decode_bytes(data: bytes, settings: DecodeSettings) -> Decoded:
    """Decode one photo.

    Parameters
    ----------
    data : bytes
        The file's content.
    settings : DecodeSettings
        What to make of it, and limits.

    Raises
    ------
    Refused
        With the verdict on a photo that cannot be decoded. Nothing else is raised.
    """
    return judged(lambda: _decode(data, settings), data, settings)


def decode_preview(
    data: bytes, settings: DecodeSettings, *, orientation: int = 0, exif: bytes = b"", n_held: int = 0
) -> Decoded:
    """Decode the JPEG preview of a RAW file.

    Parameters
    ----------
    data : bytes
        The preview.
    settings : DecodeSettings
        What to make of it, and limits.
    orientation : int
        Of the RAW file; 0: the preview's own.
    exif : bytes
        Of the RAW file; empty: the preview's own.
    n_held : int
        Bytes that are in memory beside the preview.

    Raises
    ------
    Refused
        With the verdict on a preview that cannot be decoded. Nothing else is raised.
    """
    return judged(
        lambda: _decode(data, settings, ("JPEG",), orientation=orientation, exif=exif, n_held=n_held), data, settings
    )


def judged(make: Callable[[], T], data: bytes, settings: DecodeSettings, what: str = "photo") -> T:
    """Return what a decoder makes, or raise the verdict on its file.

    Parameters
    ----------
    make : callable
        Decodes a file; may raise anything.
    data : bytes
        The file's content.
    settings : DecodeSettings
        Limits.
    what : str, default="photo"
        What to call it in the verdict.

    Raises
    ------
    Refused
        With the verdict.
    """
    try:
        return make()
    except Refused:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _bomb(error, settings) from error
    except MemoryError as error:
        raise _out_of_memory(settings) from error
    except UnidentifiedImageError as error:
        raise _unidentified(data) from error
    except Exception as error:
        # Decoders raise OSError, SyntaxError, RuntimeError, EOFError, struct.error, ValueError, KeyError … on
        # malformed files: whatever it is, it is this file's verdict and nobody else's.
        if "out of memory" in str(error).lower():
            raise _out_of_memory(settings) from error
        raise Refused(Verdict.DAMAGED, f"the {what} is damaged: {error or type(error).__name__}") from error


def _decode(
    data: bytes,
    settings: DecodeSettings,
    formats: tuple[str, ...] = FORMATS,
    *,
    orientation: int = 0,
    exif: bytes = b"",
    n_held: int = 0,
) -> Decoded:
    with Image.open(io.BytesIO(data), formats=[name for name in formats if name in Image.OPEN]) as image:
        width, height = image.size
        # JPEG alone can decode at 1/2, 1/4 or 1/8 of its size; for other formats this does nothing.
        image.draft(image.mode, (settings.working_side, settings.working_side))
        _check_memory(image, (width, height), len(data) + n_held, settings)
        image.load()
        if image.format == "HEIF":
            width, height = image.size  # what is decoded counts, not what the header claims
        turn = TURNS.get(orientation or _orientation(image))
        exif = exif or _exif(image)
        upright = shrink_to_rgb(image, settings.working_side)
    if turn is not None:
        upright = upright.transpose(turn)
        if turn in (TURNS[5], TURNS[6], TURNS[7], TURNS[8]):
            width, height = height, width
    return finished(upright, (width, height), exif, settings)


def finished(upright: Image.Image, size: tuple[int, int], exif: bytes, settings: DecodeSettings) -> Decoded:
    """Return what is made of an upright picture.

    Parameters
    ----------
    upright : PIL image
        RGB, possibly shrunk while it was decoded.
    size : (int, int)
        The photo's full width and height.
    exif : bytes
        The EXIF block.
    settings : DecodeSettings
        Renditions and thumbnail.
    """
    pictures = [render(upright, rendition, *size) for rendition in settings.renditions]
    return Decoded(
        width=size[0],
        height=size[1],
        pictures=[(picture.width, picture.height, picture.tobytes()) for picture in pictures],
        thumbnail=_thumbnail(upright, settings.thumbnail_size, *size),
        exif=exif if len(exif) <= LARGEST_EXIF else b"",
    )


def _check_memory(image: Image.Image, full_size: tuple[int, int], n_file: int, settings: DecodeSettings) -> None:
    """Refuse by its header what cannot be decoded within the memory limit, rather than try."""
    full = full_size[0] * full_size[1]
    need = image.width * image.height * BYTES_PER_PIXEL.get(image.mode, 4)
    need += full * WORKSPACE_PER_PIXEL.get(image.format or "", 0)
    if image.info.get("progressive"):
        # A progressive JPEG keeps all coefficients, two bytes each, whatever size it is decoded at.
        need += full * 2 * len(image.getbands())
    if isinstance(image, TiffImagePlugin.TiffImageFile):
        need += _tiff_block(image)
    allowed = settings.memory_limit - RESERVED_MEMORY - n_file
    if need > allowed:
        raise Refused(
            Verdict.TOO_LARGE,
            f"{full_size[0]} × {full_size[1]} pixels as {image.format} need about {need >> 20} MiB to decode, more "
            f"than the {allowed >> 20} MiB allowed; raise memory_limit, or save the photo as a baseline JPEG",
        )


def _tiff_block(image: TiffImagePlugin.TiffImageFile) -> int:
    """Return the bytes of one strip or tile, which libtiff decodes in one piece."""
    tags: Any = image.tag_v2
    bits = int(sum(tags.get(BITS_PER_SAMPLE, (1,))))
    if TILE_WIDTH in tags:
        return int(tags[TILE_WIDTH]) * int(tags[TILE_LENGTH]) * bits // 8
    # Pillow has turned the size already where the orientation says so, but strips lie along the stored rows.
    rows = int(tags.get(ROWS_PER_STRIP, max(image.size)))
    return min(image.width * image.height, rows * max(image.size)) * bits // 8


def _orientation(image: Image.Image) -> int:
    """Return the EXIF orientation, 1 where it is missing or cannot be understood, or was applied by the decoder."""
    if image.format == "HEIF":
        return 1
    with contextlib.suppress(Exception):
        return int(image.getexif().get(ORIENTATION, 1))
    return 1


def _exif(image: Image.Image) -> bytes:
    """Return the EXIF block as it is in the file (rebuilt for TIFF, which has none), from its TIFF header on."""
    raw = image.info.get("exif", b"")
    if isinstance(image, TiffImagePlugin.TiffImageFile):
        with contextlib.suppress(Exception):
            raw = image.getexif().tobytes()
    if not isinstance(raw, bytes):
        return b""
    return raw.removeprefix(b"Exif\0\0")


def render(upright: Image.Image, rendition: Rendition, width: int, height: int) -> Image.Image:
    """Return one rendition of an upright picture.

    Parameters
    ----------
    upright : PIL image
        RGB, possibly shrunk while it was decoded.
    rendition : Rendition
        What to make.
    width, height : int
        The photo's full size.
    """
    target = rendition.target(width, height)
    resample = Image.Resampling[rendition.filter.upper()]
    if rendition.kind == "fit":
        return upright.resize(target, resample)
    longest, shortest = rendition.bounds
    reach = min(upright.size) * longest / shortest
    across, down = min(upright.width, reach), min(upright.height, reach)
    left, top = (upright.width - across) / 2, (upright.height - down) / 2
    # A box of the source instead of a crop afterwards: the pixels that would be cut off are never computed.
    return upright.resize(target, resample, box=(left, top, left + across, top + down))


def _thumbnail(upright: Image.Image, size: int | None, width: int, height: int) -> bytes:
    if size is None:
        return b""
    small = upright.resize(fitting(width, height, size), Image.Resampling.BICUBIC)
    buffer = io.BytesIO()
    small.save(buffer, "WEBP", quality=THUMBNAIL_QUALITY, method=THUMBNAIL_EFFORT)
    return buffer.getvalue()


def _bomb(error: Exception, settings: DecodeSettings) -> Refused:
    found = re.search(r"\((\d+) pixels\)", str(error))
    claimed = f"{int(found.group(1)):,}" if found else "too many"
    return Refused(
        Verdict.TOO_LARGE,
        f"the header claims {claimed} pixels, more than the {settings.max_pixels:,} allowed: not decoded, as it may "
        f"be a decompression bomb; raise max_pixels if the photo is genuine",
    )


def _out_of_memory(settings: DecodeSettings) -> Refused:
    return Refused(
        Verdict.TOO_LARGE,
        f"decoding needs more than the {settings.memory_limit >> 20} MiB allowed; raise memory_limit",
        out_of_memory=True,
    )


def _unidentified(data: bytes) -> Refused:
    is_heic = data[4:8] == b"ftyp" and data[8:12] in HEIC_BRANDS
    if is_heic or data.startswith(BEGINNINGS) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP"):
        return Refused(Verdict.DAMAGED, "the photo is damaged: its header cannot be read")
    return Refused(Verdict.NOT_AN_IMAGE, "not in a format that is read")
