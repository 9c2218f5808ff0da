"""Features of photos: descriptors, their registry, the extraction engine and the scaling of feature groups.

Public names load lazily: scikit-learn, OpenCV and onnxruntime are imported by what needs them.
"""

from typing import TYPE_CHECKING

from tagloom.core.lazy import lazy_names

if TYPE_CHECKING:
    from tagloom.features.blobs import BlobsDescriptor, RegionSampler, RegionVocabulary, learn_blobs
    from tagloom.features.color import ColorDescriptor
    from tagloom.features.color_sift import DenseSift
    from tagloom.features.context import ContextDescriptor
    from tagloom.features.cooccurrence import CooccurrenceDescriptor
    from tagloom.features.correlogram import CorrelogramDescriptor
    from tagloom.features.deep import DeepDescriptor
    from tagloom.features.descriptor import BaseDescriptor, Descriptor, PictureDescriptor, PixelDescriptor
    from tagloom.features.duplicates import NearDuplicates, near_duplicate_pairs, near_duplicates
    from tagloom.features.edge_blocks import EdgeBlockDescriptor
    from tagloom.features.edges import EdgeDescriptor
    from tagloom.features.encoder_file import OnnxEncoder
    from tagloom.features.encoder_settings import EncoderSettings
    from tagloom.features.engine import Extraction, ExtractionCounts, ExtractionEngine, extract
    from tagloom.features.exif import PhotoFacts, read_exif
    from tagloom.features.faces import FacesDescriptor
    from tagloom.features.gabor import GaborDescriptor
    from tagloom.features.gist import GistDescriptor
    from tagloom.features.gradients import GradientDescriptor
    from tagloom.features.learned import learned_descriptor
    from tagloom.features.memory import MemoryCache
    from tagloom.features.occasions import bursts, events
    from tagloom.features.phash import PerceptualHashDescriptor
    from tagloom.features.registry import available_descriptors, available_groups, get_descriptor, resolve_descriptors
    from tagloom.features.rgb import RgbDescriptor
    from tagloom.features.scaling import GroupScaler
    from tagloom.features.similar import clusters, similar_photos
    from tagloom.features.vocabulary import VisualVocabulary, collect_samples, learn_vocabulary
    from tagloom.features.wavelet import WaveletDescriptor
    from tagloom.features.words import WordsDescriptor

__all__ = [
    "BaseDescriptor",
    "BlobsDescriptor",
    "ColorDescriptor",
    "ContextDescriptor",
    "CooccurrenceDescriptor",
    "CorrelogramDescriptor",
    "DeepDescriptor",
    "DenseSift",
    "Descriptor",
    "EdgeBlockDescriptor",
    "EdgeDescriptor",
    "EncoderSettings",
    "Extraction",
    "ExtractionCounts",
    "ExtractionEngine",
    "FacesDescriptor",
    "GaborDescriptor",
    "GistDescriptor",
    "GradientDescriptor",
    "GroupScaler",
    "MemoryCache",
    "NearDuplicates",
    "OnnxEncoder",
    "PerceptualHashDescriptor",
    "PhotoFacts",
    "PictureDescriptor",
    "PixelDescriptor",
    "RegionSampler",
    "RegionVocabulary",
    "RgbDescriptor",
    "VisualVocabulary",
    "WaveletDescriptor",
    "WordsDescriptor",
    "available_descriptors",
    "available_groups",
    "bursts",
    "clusters",
    "collect_samples",
    "events",
    "extract",
    "get_descriptor",
    "learn_blobs",
    "learn_vocabulary",
    "learned_descriptor",
    "near_duplicate_pairs",
    "near_duplicates",
    "read_exif",
    "resolve_descriptors",
    "similar_photos",
]

_HOMES = {
    "BaseDescriptor": "tagloom.features.descriptor",
    "BlobsDescriptor": "tagloom.features.blobs",
    "ColorDescriptor": "tagloom.features.color",
    "ContextDescriptor": "tagloom.features.context",
    "CooccurrenceDescriptor": "tagloom.features.cooccurrence",
    "CorrelogramDescriptor": "tagloom.features.correlogram",
    "DeepDescriptor": "tagloom.features.deep",
    "DenseSift": "tagloom.features.color_sift",
    "Descriptor": "tagloom.features.descriptor",
    "EdgeBlockDescriptor": "tagloom.features.edge_blocks",
    "EdgeDescriptor": "tagloom.features.edges",
    "EncoderSettings": "tagloom.features.encoder_settings",
    "Extraction": "tagloom.features.engine",
    "ExtractionCounts": "tagloom.features.engine",
    "ExtractionEngine": "tagloom.features.engine",
    "FacesDescriptor": "tagloom.features.faces",
    "GaborDescriptor": "tagloom.features.gabor",
    "GistDescriptor": "tagloom.features.gist",
    "GradientDescriptor": "tagloom.features.gradients",
    "GroupScaler": "tagloom.features.scaling",
    "MemoryCache": "tagloom.features.memory",
    "NearDuplicates": "tagloom.features.duplicates",
    "OnnxEncoder": "tagloom.features.encoder_file",
    "PerceptualHashDescriptor": "tagloom.features.phash",
    "PhotoFacts": "tagloom.features.exif",
    "PictureDescriptor": "tagloom.features.descriptor",
    "PixelDescriptor": "tagloom.features.descriptor",
    "RegionSampler": "tagloom.features.blobs",
    "RegionVocabulary": "tagloom.features.blobs",
    "RgbDescriptor": "tagloom.features.rgb",
    "VisualVocabulary": "tagloom.features.vocabulary",
    "WaveletDescriptor": "tagloom.features.wavelet",
    "WordsDescriptor": "tagloom.features.words",
    "available_descriptors": "tagloom.features.registry",
    "available_groups": "tagloom.features.registry",
    "bursts": "tagloom.features.occasions",
    "clusters": "tagloom.features.similar",
    "collect_samples": "tagloom.features.vocabulary",
    "events": "tagloom.features.occasions",
    "extract": "tagloom.features.engine",
    "get_descriptor": "tagloom.features.registry",
    "learn_blobs": "tagloom.features.blobs",
    "learn_vocabulary": "tagloom.features.vocabulary",
    "learned_descriptor": "tagloom.features.learned",
    "near_duplicate_pairs": "tagloom.features.duplicates",
    "near_duplicates": "tagloom.features.duplicates",
    "read_exif": "tagloom.features.exif",
    "resolve_descriptors": "tagloom.features.registry",
    "similar_photos": "tagloom.features.similar",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
