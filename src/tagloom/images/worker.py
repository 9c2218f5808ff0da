"""The decode worker: a process that can be limited, killed and replaced. Started by `tagloom.images.pool`.

It imports Pillow and the standard library, no numerical library, so that it starts fast and its memory is the
photo's. The first frame on standard input holds the settings; then each frame asks for one file; the end of the input
ends the process. Run as ``python -m tagloom.images.worker``.
"""

import faulthandler
import os
import sys
from typing import IO, Any

from tagloom.core import MOTION_PHOTO, Verdict, is_pair_photo, is_raw, is_video, system
from tagloom.images import clip_decoding, decoding, raw, source, wire
from tagloom.images.live_photos import inner_clip
from tagloom.images.settings import DecodeSettings
from tagloom.images.verdicts import Refused

__all__ = ["answer", "main", "serve"]

LONGEST_PATH = 1 << 20

Answer = tuple[dict[str, Any], list[bytes]]


def answer(task: str, path: bytes, settings: DecodeSettings) -> Answer:
    """Do one task on one file.

    Parameters
    ----------
    task : {"decode", "fingerprint", "report"}
        "report" tells about this process instead of a file.
    path : bytes
        The file.
    settings : DecodeSettings
        Of the pool.

    Returns
    -------
    dict
        Header of the reply.
    list of bytes
        Its body: renditions, thumbnail, EXIF; of a clip, key frames and sound after that.
    """
    if task == "report":
        return {"modules": sorted(sys.modules), "pid": os.getpid()}, []
    header: dict[str, Any] = {"verdict": Verdict.OK}
    try:
        if task == "fingerprint":
            header |= _identity(source.fingerprint_file(path))
            return header, []
        if is_video(path):
            read, clip = source.read_stream(path, lambda stream: clip_decoding.decode_clip(stream, settings))
            return _decoded_clip(header | _identity(read), clip)
        content = source.read_file(path, longest=settings.longest_file)
        header |= _identity(content)
        if is_raw(path):
            return _decoded(header, raw.decode_raw(content.data, settings))
        photo = decoding.decode_bytes(content.data, settings)
        if is_pair_photo(path) and (inside := inner_clip(content.data)) is not None:
            header["detail"] = f"{MOTION_PHOTO}: {inside.seconds:.1f} s of video are inside the file"
        return _decoded(header, photo)
    except Refused as refused:
        header |= {"verdict": refused.verdict, "detail": refused.detail, "again": refused.out_of_memory}
    except MemoryError:
        header |= {"verdict": Verdict.TOO_LARGE, "detail": "not enough memory to read the file", "again": True}
    return header, []


def serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer requests until there are no more.

    Parameters
    ----------
    requests, replies : binary files
        The pipes from and to the parent.
    """
    first = wire.read_frame(requests, longest_body=0)
    if first is None:
        return
    settings = DecodeSettings.from_json(first[0])
    decoding.prepare(settings)
    limited = system.limit_memory(settings.memory_limit)
    wire.write_frame(replies, {"ready": True, "memory_limited": limited})
    while (frame := wire.read_frame(requests, longest_body=LONGEST_PATH)) is not None:
        # The parent keeps the deadline; this one is for a parent that died while a decoder hangs.
        patience = wire.orphan_patience(float(frame[0].get("seconds", settings.deadline)))
        faulthandler.dump_traceback_later(patience, exit=True)
        header, parts = answer(frame[0]["task"], bytes(frame[1]), settings)
        faulthandler.cancel_dump_traceback_later()
        wire.write_frame(replies, header, parts)


def main() -> None:
    """Run a worker on standard input and output."""
    wire.run_worker(serve)


def _identity(content: source.Source) -> dict[str, Any]:
    stamp = [content.size, content.mtime_ns, content.inode, content.ctime_ns]
    return {"hash": content.content_hash, "stamp": stamp}


def _decoded(header: dict[str, Any], photo: decoding.Decoded) -> Answer:
    header |= {
        "width": photo.width,
        "height": photo.height,
        "pictures": [(width, height) for width, height, _ in photo.pictures],
        "thumbnail": len(photo.thumbnail),
        "exif": len(photo.exif),
    }
    return header, [*(pixels for _, _, pixels in photo.pictures), photo.thumbnail, photo.exif]


def _decoded_clip(header: dict[str, Any], clip: clip_decoding.DecodedClip) -> Answer:
    """Answer with the poster as of a photo, then the key frames one by one, then the sound."""
    header, parts = _decoded(header, clip.poster)
    frames = [(time, *_decoded({}, frame)) for time, frame in clip.frames]
    header["clip"] = {
        "duration": clip.duration,
        "container": clip.container,
        "picture_codec": clip.picture_codec,
        "sound_codec": clip.sound_codec,
        "frames": [{"time": time, **each} for time, each, _ in frames],
        "sound": [(time, len(data)) for time, data in clip.sound],
    }
    return header, [*parts, *(part for *_, each in frames for part in each), *(data for _, data in clip.sound)]


if __name__ == "__main__":
    main()
