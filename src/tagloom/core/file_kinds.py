"""What a file is by its name alone; nothing is opened, and a decode worker can import this cheaply."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping

__all__ = [
    "PHOTO_EXTENSIONS",
    "RAW_EXTENSIONS",
    "SIDECAR_EXTENSIONS",
    "VIDEO_EXTENSIONS",
    "is_pair_photo",
    "is_raw",
    "is_video",
    "pair_key",
    "skipped_kinds",
    "split_raw_of_photos",
]

PHOTO_EXTENSIONS = frozenset(
    b".jpg .jpeg .jpe .jfif .mpo .png .apng .webp .gif .bmp .dib .tif .tiff .ppm .pgm .pbm .pnm .jp2 .j2k .avif "
    b".heic .heif .hif".split()
)
RAW_EXTENSIONS = frozenset(
    b".3fr .ari .arw .bay .cr2 .cr3 .crw .dcr .dng .erf .fff .gpr .iiq .k25 .kdc .mef .mos .mrw .nef .nrw .orf .pef "
    b".ptx .raf .raw .rw2 .rwl .sr2 .srf .srw .x3f".split()
)
#: Videos that can be read with the extra "video"; others are counted.
VIDEO_EXTENSIONS = frozenset(b".3g2 .3gp .avi .m2ts .m4v .mkv .mov .mp4 .mpeg .mpg .mts .ogv .webm".split())
SIDECAR_EXTENSIONS = frozenset(b".xmp .pp3 .dop .cos .on1 .aae".split())
_PAIR_EXTENSIONS = frozenset(b".jpg .jpeg .jpe .heic .heif .hif".split())
_VIDEOS = frozenset(
    b"3g2 3gp avi braw dv flv insv lrv m2t m2ts m2v m4v mkv mov mp4 mpe mpeg mpg mts mxf ogv r3d vob webm wmv".split()
)
# Pictures of formats that are not read; each is called by its extension.
_PICTURES = frozenset(
    b"ai avifs bpg cin dds dpx eps exr fits flif hdp hdr heics icns ico j2c jpc jpf jpx jxl jxr kra ora pcx psb psd "
    b"qoi sgi svg svgz tga wdp xbm xcf xpm".split()
)
_LONGEST_EXTENSION = 12
VIDEOS, OTHERS, NO_EXTENSION = "videos", "other files", "no extension"


def is_raw(name: bytes) -> bool:
    """Tell by its name whether a file is a camera's RAW file."""
    return os.path.splitext(name)[1].lower() in RAW_EXTENSIONS


def is_video(name: bytes) -> bool:
    """Tell by its name whether a file is a video that can be read."""
    return os.path.splitext(name)[1].lower() in VIDEO_EXTENSIONS


def is_pair_photo(name: bytes) -> bool:
    """Tell by its name whether a file can be the photo of a RAW+JPEG pair: a JPEG or a HEIC."""
    return os.path.splitext(name)[1].lower() in _PAIR_EXTENSIONS


def pair_key(path: bytes) -> tuple[bytes, bytes]:
    """Return what the files of a RAW+JPEG pair share: the folder, and the name without its extension in small letters.

    Parameters
    ----------
    path : bytes
        Of a file.
    """
    folder, name = os.path.split(path)
    return folder, os.path.splitext(name)[0].lower()


def split_raw_of_photos(photos: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Return photos, and RAW files with a JPEG or HEIC of the same name beside them, each in the order given.

    Parameters
    ----------
    photos : iterable of bytes
        Paths of photos and RAW files.
    """
    names = list(photos)
    raws = [name for name in names if is_raw(name)]
    if not raws:
        return names, []
    keys = {pair_key(name) for name in names if is_pair_photo(name)}
    paired = {name for name in raws if pair_key(name) in keys}
    return [name for name in names if name not in paired], [name for name in raws if name in paired]


def skipped_kinds(extensions: Mapping[bytes, int]) -> dict[str, dict[str, int]]:
    """Count files that are no photos by what they are, and by extension.

    Parameters
    ----------
    extensions : mapping of bytes to int
        How many files that are neither photos nor sidecars have each extension (with its dot, in small letters).

    Returns
    -------
    dict of str to dict of str to int
        "videos" first, then picture formats by name ("JXL", "PSD"), then "other files"; the commonest extension first.
    """
    by_kind: dict[str, Counter[str]] = {}
    for extension, n_files in extensions.items():
        bare, text = extension[1:], _shown(extension)
        kind = VIDEOS if bare in _VIDEOS else text.upper() if bare in _PICTURES else OTHERS
        by_kind.setdefault(kind, Counter())[text] += n_files

    def rank(item: tuple[str, Mapping[str, int]]) -> tuple[int, int, str]:
        kind, counts = item
        return (kind == OTHERS) - (kind == VIDEOS), -sum(counts.values()), kind

    return {
        kind: dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
        for kind, counts in sorted(by_kind.items(), key=rank)
    }


def _shown(extension: bytes) -> str:
    """Return an extension that can be shown: letters and digits, not too long."""
    text = extension[1:].decode("ascii", errors="replace")
    return text if text.isascii() and text.isalnum() and len(text) <= _LONGEST_EXTENSION else NO_EXTENSION
