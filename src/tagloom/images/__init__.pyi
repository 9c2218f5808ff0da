from .finder import FoundPhotos as FoundPhotos, find_photos as find_photos, reads_videos as reads_videos
from .frames import photo_from_pixels as photo_from_pixels
from .limited import (
    CallFailure as CallFailure,
    CallLimits as CallLimits,
    LimitedCalls as LimitedCalls,
    call_each as call_each,
)
from .live_photos import (
    InnerClip as InnerClip,
    clip_seconds as clip_seconds,
    inner_clip as inner_clip,
    is_clip_of as is_clip_of,
    read_inner_clip as read_inner_clip,
    split_clips as split_clips,
)
from .photos import Clip as Clip, DecodedPhoto as DecodedPhoto
from .pool import DecodePool as DecodePool
from .renditions import Rendition as Rendition
from .settings import DEFAULT_MAX_PIXELS as DEFAULT_MAX_PIXELS, MOST_KEYFRAMES as MOST_KEYFRAMES
from .source import KINDS_OF_FILE as KINDS_OF_FILE, fingerprint_file as fingerprint_file, read_file as read_file
from .verdicts import Refused as Refused, one_line as one_line
