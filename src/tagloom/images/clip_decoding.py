"""A clip's file to key frames and sound: FFmpeg through PyAV, behind lists of what it may open. Runs in a worker.

The file is read as a stream and never by name: FFmpeg sees bytes, knows the one container that they begin with, and can
open nothing else (playlists, references to other files and addresses are not followed). Frames pass one at a time.
"""

import contextlib
import fractions
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import IO, Any

from PIL import Image

from tagloom.core import Verdict
from tagloom.images.decoding import Decoded, finished, judged
from tagloom.images.settings import (
    LARGEST_SOUND,
    MOST_KEYFRAMES,
    RESERVED_MEMORY,
    SOUND_RATE,
    DecodeSettings,
)
from tagloom.images.verdicts import Refused

__all__ = ["DecodedClip", "decode_clip"]

CONTAINERS = ("mov", "matroska", "avi", "mpegts", "mpeg", "ogg")
PICTURE_CODECS = frozenset(
    [
        "h264",
        "hevc",
        "libdav1d",
        "av1",
        "vp8",
        "vp9",
        "libvpx",
        "libvpx-vp9",
        "mpeg4",
        "mpeg1video",
        "mpeg2video",
        "h263",
        "mjpeg",
        "msmpeg4v1",
        "msmpeg4v2",
        "msmpeg4",
        "msmpeg4v3",
        "prores",
        "dvvideo",
        "theora",
        "ffv1",
        "rawvideo",
        "wmv1",
        "wmv2",
        "vc1",
        "svq1",
        "svq3",
        "cinepak",
    ]
)
SOUND_CODECS = frozenset(
    [
        "aac",
        "aac_fixed",
        "mp2",
        "mp2float",
        "mp3",
        "mp3float",
        "opus",
        "libopus",
        "vorbis",
        "flac",
        "alac",
        "ac3",
        "ac3_fixed",
        "eac3",
        "amrnb",
        "amrwb",
        "libopencore_amrnb",
        "libopencore_amrwb",
        "adpcm_ms",
        "adpcm_ima_qt",
        "adpcm_ima_wav",
        "wmav1",
        "wmav2",
        "pcm_s16le",
        "pcm_s16be",
        "pcm_s24le",
        "pcm_s24be",
        "pcm_s32le",
        "pcm_u8",
        "pcm_s8",
        "pcm_f32le",
        "pcm_mulaw",
        "pcm_alaw",
        "qdm2",
    ]
)
_FORMATS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,ogg,h264,hevc,mp3,aac"

FRAMES_PER_MINUTE, FEWEST_FRAMES = 12, 4
REGULAR_SHARE = 0.6  # of the key frames come at regular times, the others where the picture changes
SHORTEST_STEP = 0.2  # seconds between frames that are looked at
# Half the sum of differences of two histograms, 0 to 1, that is a cut. In 120 made-up clips cuts have at least 0.37,
# and frames of one shot a quarter of a second apart at most 0.08.
CUT_DISTANCE = 0.22
BINS = 8
LEAST_SHARE = 0.01  # of the pixels: a bin that a frame's variety counts
SMALL_SIDE = 64
FRAME_SIDE = 192  # longer side of a key frame's thumbnail at most
LONGEST_STREAMED = 600.0  # seconds; longer clips are looked at by jumping
# Pixels decoded of a clip whatever it is, and where too few of its frames stand by themselves; then only those are.
# The former are five seconds of 1080p at 24 frames a second; `benchmarks.speed.video` has what reading costs.
WHOLE_PIXELS, MOST_PIXELS = 250_000_000, 3_000_000_000
HELD_PICTURES = 24  # that a decoder may hold at full size
SOUND_PER_JUMP = 2.0  # seconds
PACKETS_PER_JUMP = 2_000

_MOV_ATOMS = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot")
_TURNS = {90: Image.Transpose.ROTATE_90, 180: Image.Transpose.ROTATE_180, -180: Image.Transpose.ROTATE_180}
_TURNS |= {-90: Image.Transpose.ROTATE_270, 270: Image.Transpose.ROTATE_270, -270: Image.Transpose.ROTATE_90}


@dataclass(frozen=True, slots=True)
class DecodedClip:
    """What a worker makes of one clip.

    Parameters
    ----------
    poster : Decoded
        The frame that stands for the clip.
    frames : list of (seconds, Decoded)
        The key frames in order of time.
    duration : float
        Seconds; 0 where it is not known.
    sound : list of (seconds, bytes)
        Pieces of its sound and when they begin: 16-bit samples of one channel, 16,000 a second.
    container, picture_codec, sound_codec : str
        FFmpeg's names; the last is empty where there is no sound.
    """

    poster: Decoded
    frames: list[tuple[float, Decoded]]
    duration: float
    sound: list[tuple[float, bytes]]
    container: str
    picture_codec: str
    sound_codec: str


def decode_clip(stream: IO[bytes], settings: DecodeSettings) -> DecodedClip:
    """Decode the key frames and the sound of one clip.

    Parameters
    ----------
    stream : binary file
        Its bytes; can be sought in.
    settings : DecodeSettings
        What to make of each key frame, and limits.

    Raises
    ------
    Refused
        With the verdict on a clip that cannot be decoded. Nothing else is raised.
    """
    beginning = stream.read(400)
    stream.seek(0)
    found: DecodedClip = judged(lambda: _decode(stream, _container(beginning), settings), beginning, settings, "clip")
    return found


def _container(beginning: bytes) -> str:
    """Return the one container that a file can be by its first bytes."""
    if beginning[4:8] in _MOV_ATOMS:
        return "mov"
    if beginning.startswith(b"\x1a\x45\xdf\xa3"):
        return "matroska"
    if beginning[:4] == b"RIFF" and beginning[8:12] == b"AVI ":
        return "avi"
    if beginning.startswith(b"OggS"):
        return "ogg"
    if beginning.startswith(b"\0\0\x01\xba"):
        return "mpeg"
    if (beginning[:1] == b"G" and beginning[188:189] == b"G") or (
        beginning[4:5] == b"G" and beginning[196:197] == b"G"
    ):
        return "mpegts"
    raise Refused(Verdict.NOT_AN_IMAGE, "not in a video format that is read")


def _decode(stream: IO[bytes], container_format: str, settings: DecodeSettings) -> DecodedClip:
    try:
        import av
        import av.logging
    except ImportError as error:
        raise Refused(Verdict.UNREADABLE, "a video; to read it: pip install 'tagloom[video]'") from error
    av.logging.set_level(None)
    options = {
        "codec_whitelist": ",".join(sorted(PICTURE_CODECS | SOUND_CODECS)),
        "format_whitelist": _FORMATS,
        "protocol_whitelist": "none",
        "max_streams": "32",
    }
    with av.open(stream, format=container_format, options=options, metadata_errors="replace") as container:
        reader = _Reader(container, settings)
        if reader.duration > LONGEST_STREAMED:
            reader.jump()
        else:
            reader.stream()
        return reader.finish()


@dataclass(slots=True)
class _Selection:
    """Which frames are kept: the first, some at regular times, and those on which the picture changed."""

    duration: float
    histogram: list[float] = field(default_factory=list)
    n_kept: int = 0
    kept_at: float = -1e9
    looked_at: float = -1e9

    @property
    def most(self) -> int:
        wanted = FEWEST_FRAMES + int(self.duration * FRAMES_PER_MINUTE / 60.0)
        return min(wanted, MOST_KEYFRAMES)

    @property
    def step(self) -> float:
        """Seconds between regular key frames."""
        if self.duration <= 0:
            return 60.0 / (REGULAR_SHARE * FRAMES_PER_MINUTE)
        return max(SHORTEST_STEP, self.duration / (REGULAR_SHARE * self.most))

    def looks_at(self, time: float) -> bool:
        """Tell whether a frame is worth to be looked at."""
        return self.n_kept < MOST_KEYFRAMES and (time - self.looked_at >= SHORTEST_STEP or time < self.looked_at)

    def keeps(self, time: float, small: Image.Image) -> bool:
        """Tell whether a frame is a key frame; it becomes the one that the next is compared with."""
        before, self.histogram = self.histogram, coarse_histogram(small)
        self.looked_at = time
        is_cut = bool(before) and histogram_distance(before, self.histogram) > CUT_DISTANCE
        # Cuts take no more than their share up to here, so that a lively beginning leaves some for the end.
        allowed = 2 + (self.most if self.duration <= 0 else int(self.most * min(time / self.duration, 1.0)))
        is_due = time - self.kept_at >= self.step or time < self.kept_at
        is_kept = self.n_kept == 0 or (is_due and self.n_kept < self._limit()) or (is_cut and self.n_kept < allowed)
        if is_kept:
            self.n_kept, self.kept_at = self.n_kept + 1, time
        return is_kept

    def _limit(self) -> int:
        return MOST_KEYFRAMES if self.duration <= 0 else self.most


class _Reader:
    """One pass over an open clip."""

    def __init__(self, container: Any, settings: DecodeSettings) -> None:
        self._container, self._settings = container, settings
        self._picture = _picture_stream(container)
        self._sound = next(iter(container.streams.audio), None)
        self._start = _seconds(container.start_time, 1_000_000)
        self.duration = max(_seconds(container.duration, 1_000_000), 0.0)
        context = self._picture.codec_context
        _check_size(context.width, context.height, settings)
        _check_codec(context.name, PICTURE_CODECS)
        context.thread_count = 1
        context.options = {"max_pixels": str(settings.max_pixels)}
        if self._sound is not None and self._sound.codec_context.name not in SOUND_CODECS:
            self._sound = None
        if self._sound is not None:
            self._sound.codec_context.thread_count = 1
        self._selection = _Selection(self.duration)
        self._each = replace(
            settings, thumbnail_size=settings.thumbnail_size and min(settings.thumbnail_size, FRAME_SIDE)
        )
        self._frames: list[tuple[float, Decoded]] = []
        self._poster: tuple[int, Image.Image, tuple[int, int]] | None = None
        self._pieces: list[tuple[float, bytearray]] = []
        self._n_sound = 0
        self._resampler: Any = None
        self._error = ""
        self._exif = _exif(container.metadata)

    def stream(self) -> None:
        """Read the clip from its beginning to its end."""
        n_pixels, group_at, is_whole = 0, -1e9, True
        context = self._picture.codec_context
        self._begin_sound()
        for packet in self._packets():
            if packet.stream is not self._picture:
                self._hear(packet)
                continue
            if packet.is_keyframe and packet.pts is not None:
                # In the end a group of pictures is decoded whole only if the one before it was longer than the step
                # between frames: otherwise what stands by itself is enough.
                at = float(packet.pts * packet.time_base)
                is_whole = n_pixels < WHOLE_PIXELS or at - group_at > 1.5 * self._selection.step
                group_at = at
            context.skip_frame = "DEFAULT" if is_whole and n_pixels < MOST_PIXELS else "NONKEY"
            for frame in self._decoded(packet):
                n_pixels += frame.width * frame.height
                self._see(frame)

    def jump(self) -> None:
        """Look at places of a long clip, each with a little of its sound."""
        n_places = MOST_KEYFRAMES
        context = self._picture.codec_context
        context.skip_frame = "NONKEY"
        for place in range(n_places):
            time = self.duration * (place + 0.5) / n_places
            try:
                self._container.seek(int((time + self._start) * 1_000_000), backward=True)
            except Exception as error:
                self._error = str(error)
                break
            self._begin_sound()
            n_before, n_heard = len(self._frames), self._n_sound
            wanted = int(SOUND_PER_JUMP * SOUND_RATE) * 2 if self._sound is not None else 0
            for packet in itertools.islice(self._packets(), PACKETS_PER_JUMP):
                if packet.stream is not self._picture:
                    if self._n_sound - n_heard < wanted:
                        self._hear(packet)
                elif len(self._frames) == n_before:
                    for frame in self._decoded(packet):
                        self._see(frame, at_once=True)
                        break
                if len(self._frames) > n_before and self._n_sound - n_heard >= wanted:
                    break

    def finish(self) -> DecodedClip:
        """Return what was found."""
        if self._poster is None:
            raise Refused(Verdict.DAMAGED, f"the video is damaged: {self._error or 'no frame of it can be decoded'}")
        frames = sorted(self._frames, key=lambda item: item[0])
        poster = finished(*self._poster[1:], self._exif, self._settings)
        duration = self.duration or (frames[-1][0] if len(frames) > 1 else 0.0)
        return DecodedClip(
            poster=poster,
            frames=frames,
            duration=duration,
            sound=[(time, bytes(data)) for time, data in self._pieces if data],
            container=self._container.format.name,
            picture_codec=self._picture.codec_context.name,
            sound_codec=self._sound.codec_context.name if self._sound is not None and self._n_sound else "",
        )

    def _packets(self) -> Iterator[Any]:
        """Yield packets until the end, or until the file makes no sense any more."""
        streams = [self._picture] if self._sound is None else [self._picture, self._sound]
        packets = self._container.demux(*streams)
        while True:
            try:
                packet = next(packets)
            except StopIteration:
                return
            except MemoryError:
                raise
            except Exception as error:  # what came before it is good
                self._error = str(error)
                return
            yield packet

    def _decoded(self, packet: Any) -> Iterator[Any]:
        try:
            yield from packet.decode()
        except (MemoryError, Refused):
            raise
        except Exception as error:  # the next packet may do
            self._error = str(error)

    def _see(self, frame: Any, *, at_once: bool = False) -> None:
        """Keep a frame if it is a key frame."""
        time = max(float(frame.time or 0.0) - self._start, 0.0)
        if not at_once and not self._selection.looks_at(time):
            return
        _check_size(frame.width, frame.height, self._settings)
        small = _picture_of(frame, SMALL_SIDE, fractions.Fraction(1))[0]
        if not self._selection.keeps(time, small) and not at_once:
            return
        ratio = self._picture.sample_aspect_ratio or fractions.Fraction(1)
        picture, size = _picture_of(frame, self._settings.working_side, ratio)
        turn = _TURNS.get(int(frame.rotation))
        if turn is not None:
            picture = picture.transpose(turn)
            size = size if turn is Image.Transpose.ROTATE_180 else size[::-1]
        self._frames.append((time, finished(picture, size, b"", self._each)))
        variety = sum(share > LEAST_SHARE for share in self._selection.histogram)
        if self._poster is None or variety > self._poster[0]:
            self._poster = variety, picture, size

    def _begin_sound(self) -> None:
        if self._sound is not None:
            import av

            self._resampler = av.AudioResampler(format="s16", layout="mono", rate=SOUND_RATE)
            self._pieces.append((-1.0, bytearray()))

    def _hear(self, packet: Any) -> None:
        """Add a packet's sound; sound that cannot be decoded ends it, not the clip."""
        if self._resampler is None or self._n_sound >= LARGEST_SOUND:
            return
        try:
            for frame in packet.decode():
                time, piece = self._pieces[-1]
                if time < 0:
                    self._pieces[-1] = (max(float(frame.time or 0.0) - self._start, 0.0), piece)
                for part in self._resampler.resample(frame):
                    data = bytes(part.planes[0])[: 2 * part.samples][: LARGEST_SOUND - self._n_sound]
                    piece += data
                    self._n_sound += len(data)
        except MemoryError:
            raise
        except Exception as error:
            if isinstance(error, ValueError):  # the resampler was made for another rate
                self._resampler = None
            self._error = str(error)


def coarse_histogram(small: Image.Image) -> list[float]:
    """Return the shares of pixels in a few bins of each colour."""
    fine, width = small.histogram(), 256 // BINS
    total = small.width * small.height
    return [sum(fine[start : start + width]) / total for start in range(0, 768, width)]


def histogram_distance(one: list[float], other: list[float]) -> float:
    """Return how far two histograms are from each other, 0 to 1, by the colour that changed most."""
    parts = [abs(a - b) for a, b in zip(one, other, strict=True)]
    return max(sum(parts[start : start + BINS]) / 2 for start in range(0, 3 * BINS, BINS))


def _picture_stream(container: Any) -> Any:
    """Return the video stream; the cover of an album is none."""
    for stream in container.streams.video:
        if not int(getattr(stream, "disposition", 0)) & 0x400:
            if stream.codec_context is None:
                raise Refused(Verdict.NOT_AN_IMAGE, "a video in a codec that is not read")
            return stream
    raise Refused(Verdict.NOT_AN_IMAGE, "there is no video in it")


def _check_codec(name: str, allowed: frozenset[str]) -> None:
    if name not in allowed:
        raise Refused(Verdict.NOT_AN_IMAGE, f"a video in a codec that is not read ({name})")


def _check_size(width: int, height: int, settings: DecodeSettings) -> None:
    """Refuse by its header what may be a bomb, or needs more memory than is allowed."""
    if width * height > settings.max_pixels:
        raise Refused(
            Verdict.TOO_LARGE,
            f"the video claims {width * height:,} pixels a frame, more than the {settings.max_pixels:,} allowed; raise "
            f"max_pixels if it is genuine",
        )
    need, allowed = width * height * 2 * HELD_PICTURES, settings.memory_limit - RESERVED_MEMORY
    if need > allowed:
        raise Refused(
            Verdict.TOO_LARGE,
            f"frames of {width} × {height} pixels need about {need >> 20} MiB to decode, more than the "
            f"{allowed >> 20} MiB allowed; raise memory_limit",
        )


def _picture_of(frame: Any, side: int, ratio: fractions.Fraction) -> tuple[Image.Image, tuple[int, int]]:
    """Return a frame as RGB with a shorter side of at most this, and its full size with square pixels."""
    wide = float(ratio) if 0.1 <= float(ratio) <= 10 else 1.0
    width, height = max(1, round(frame.width * wide)), frame.height
    scale = min(1.0, side / min(width, height))
    small = (max(1, round(width * scale)), max(1, round(height * scale)))
    # A strip of a picture is no reason to make a row of a million pixels.
    small = (min(small[0], 8 * side), min(small[1], 8 * side))
    return frame.to_image(width=small[0], height=small[1], interpolation="AREA"), (width, height)


def _seconds(value: int | None, base: int) -> float:
    return 0.0 if value is None else value / base


def _exif(metadata: dict[str, str]) -> bytes:
    """Return an EXIF block that holds when the clip was taken, or nothing."""
    text = metadata.get("com.apple.quicktime.creationdate") or metadata.get("creation_time") or ""
    day, clock = text[:10].replace("-", ":"), text[11:19]
    digits = (day + clock).replace(":", "")
    if len(digits) != 14 or not digits.isdigit() or not digits.isascii() or day < "1971":
        return b""
    with contextlib.suppress(Exception):
        made = Image.Exif()
        made.get_ifd(0x8769)[0x9003] = f"{day} {clock}"
        return made.tobytes().removeprefix(b"Exif\0\0")
    return b""
