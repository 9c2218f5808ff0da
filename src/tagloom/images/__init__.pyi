from .finder import FoundPhotos as FoundPhotos, find_photos as find_photos
from .frames import photo_from_pixels as photo_from_pixels
from .photos import Clip as Clip, DecodedPhoto as DecodedPhoto
from .pool import DecodePool as DecodePool
from .renditions import Rendition as Rendition
