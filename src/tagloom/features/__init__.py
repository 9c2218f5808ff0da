"""Features of photos: descriptors, their registry, the extraction engine and the scaling of feature groups.

Public names load lazily: scikit-learn, OpenCV and onnxruntime are imported by what needs them.
"""

from typing import TYPE_CHECKING

from tagloom.core.lazy import lazy_names

if TYPE_CHECKING:
    from tagloom.features.classic.color import ColorDescriptor
    from tagloom.features.classic.context import ContextDescriptor
    from tagloom.features.classic.cooccurrence import CooccurrenceDescriptor
    from tagloom.features.classic.correlogram import CorrelogramDescriptor
    from tagloom.features.classic.edges import EdgeBlockDescriptor, EdgeDescriptor
    from tagloom.features.classic.exif import PhotoFacts, read_exif
    from tagloom.features.classic.gabor import GaborDescriptor
    from tagloom.features.classic.gist import GistDescriptor
    from tagloom.features.classic.gradients import GradientDescriptor
    from tagloom.features.classic.phash import PerceptualHashDescriptor
    from tagloom.features.classic.rgb import RgbDescriptor
    from tagloom.features.classic.wavelet import WaveletDescriptor
    from tagloom.features.descriptor import BaseDescriptor, Descriptor, PictureDescriptor, PixelDescriptor
    from tagloom.features.engine import Extraction, ExtractionCounts, ExtractionEngine, MemoryCache, extract
    from tagloom.features.network.deep import DeepDescriptor
    from tagloom.features.network.encoder_file import EncoderSettings, OnnxEncoder
    from tagloom.features.network.faces import FacesDescriptor
    from tagloom.features.registry import available_descriptors, available_groups, get_descriptor, resolve_descriptors
    from tagloom.features.relations.duplicates import NearDuplicates, near_duplicate_pairs, near_duplicates
    from tagloom.features.relations.occasions import bursts, events
    from tagloom.features.relations.similar import clusters, similar_photos
    from tagloom.features.scaling import GroupScaler
    from tagloom.features.words.blobs import BlobsDescriptor, RegionSampler, RegionVocabulary, learn_blobs
    from tagloom.features.words.learned import learned_descriptor
    from tagloom.features.words.sift import DenseSift
    from tagloom.features.words.vocabulary import VisualVocabulary, collect_samples, learn_vocabulary
    from tagloom.features.words.words import WordsDescriptor

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
    "BlobsDescriptor": "tagloom.features.words.blobs",
    "ColorDescriptor": "tagloom.features.classic.color",
    "ContextDescriptor": "tagloom.features.classic.context",
    "CooccurrenceDescriptor": "tagloom.features.classic.cooccurrence",
    "CorrelogramDescriptor": "tagloom.features.classic.correlogram",
    "DeepDescriptor": "tagloom.features.network.deep",
    "DenseSift": "tagloom.features.words.sift",
    "Descriptor": "tagloom.features.descriptor",
    "EdgeBlockDescriptor": "tagloom.features.classic.edges",
    "EdgeDescriptor": "tagloom.features.classic.edges",
    "EncoderSettings": "tagloom.features.network.encoder_file",
    "Extraction": "tagloom.features.engine",
    "ExtractionCounts": "tagloom.features.engine",
    "ExtractionEngine": "tagloom.features.engine",
    "FacesDescriptor": "tagloom.features.network.faces",
    "GaborDescriptor": "tagloom.features.classic.gabor",
    "GistDescriptor": "tagloom.features.classic.gist",
    "GradientDescriptor": "tagloom.features.classic.gradients",
    "GroupScaler": "tagloom.features.scaling",
    "MemoryCache": "tagloom.features.engine",
    "NearDuplicates": "tagloom.features.relations.duplicates",
    "OnnxEncoder": "tagloom.features.network.encoder_file",
    "PerceptualHashDescriptor": "tagloom.features.classic.phash",
    "PhotoFacts": "tagloom.features.classic.exif",
    "PictureDescriptor": "tagloom.features.descriptor",
    "PixelDescriptor": "tagloom.features.descriptor",
    "RegionSampler": "tagloom.features.words.blobs",
    "RegionVocabulary": "tagloom.features.words.blobs",
    "RgbDescriptor": "tagloom.features.classic.rgb",
    "VisualVocabulary": "tagloom.features.words.vocabulary",
    "WaveletDescriptor": "tagloom.features.classic.wavelet",
    "WordsDescriptor": "tagloom.features.words.words",
    "available_descriptors": "tagloom.features.registry",
    "available_groups": "tagloom.features.registry",
    "bursts": "tagloom.features.relations.occasions",
    "clusters": "tagloom.features.relations.similar",
    "collect_samples": "tagloom.features.words.vocabulary",
    "events": "tagloom.features.relations.occasions",
    "extract": "tagloom.features.engine",
    "get_descriptor": "tagloom.features.registry",
    "learn_blobs": "tagloom.features.words.blobs",
    "learn_vocabulary": "tagloom.features.words.vocabulary",
    "learned_descriptor": "tagloom.features.words.learned",
    "near_duplicate_pairs": "tagloom.features.relations.duplicates",
    "near_duplicates": "tagloom.features.relations.duplicates",
    "read_exif": "tagloom.features.classic.exif",
    "resolve_descriptors": "tagloom.features.registry",
    "similar_photos": "tagloom.features.relations.similar",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
