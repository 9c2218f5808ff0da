"""Features of photos: descriptors, their registry, the extraction engine and the scaling of feature groups.

Public names load lazily: scikit-learn and onnxruntime are imported by what needs them.
"""

from typing import TYPE_CHECKING

from tagloom.core.lazy import lazy_names

if TYPE_CHECKING:
    from tagloom.features.color import ColorDescriptor
    from tagloom.features.deep import DeepDescriptor
    from tagloom.features.descriptor import BaseDescriptor, Descriptor, PixelDescriptor
    from tagloom.features.edges import EdgeDescriptor
    from tagloom.features.encoder_file import OnnxEncoder
    from tagloom.features.encoder_settings import EncoderSettings
    from tagloom.features.engine import Extraction, ExtractionCounts, ExtractionEngine, extract
    from tagloom.features.memory import MemoryCache
    from tagloom.features.registry import (
        available_descriptors,
        available_groups,
        get_descriptor,
        resolve_descriptors,
    )
    from tagloom.features.scaling import GroupScaler

__all__ = [
    "BaseDescriptor",
    "ColorDescriptor",
    "DeepDescriptor",
    "Descriptor",
    "EdgeDescriptor",
    "EncoderSettings",
    "Extraction",
    "ExtractionCounts",
    "ExtractionEngine",
    "GroupScaler",
    "MemoryCache",
    "OnnxEncoder",
    "PixelDescriptor",
    "available_descriptors",
    "available_groups",
    "extract",
    "get_descriptor",
    "resolve_descriptors",
]

_HOMES = {
    "BaseDescriptor": "tagloom.features.descriptor",
    "ColorDescriptor": "tagloom.features.color",
    "DeepDescriptor": "tagloom.features.deep",
    "Descriptor": "tagloom.features.descriptor",
    "EdgeDescriptor": "tagloom.features.edges",
    "EncoderSettings": "tagloom.features.encoder_settings",
    "Extraction": "tagloom.features.engine",
    "ExtractionCounts": "tagloom.features.engine",
    "ExtractionEngine": "tagloom.features.engine",
    "GroupScaler": "tagloom.features.scaling",
    "MemoryCache": "tagloom.features.memory",
    "OnnxEncoder": "tagloom.features.encoder_file",
    "PixelDescriptor": "tagloom.features.descriptor",
    "available_descriptors": "tagloom.features.registry",
    "available_groups": "tagloom.features.registry",
    "extract": "tagloom.features.engine",
    "get_descriptor": "tagloom.features.registry",
    "resolve_descriptors": "tagloom.features.registry",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
