from .audio.mfcc import MfccDescriptor as MfccDescriptor
from .classic.color import ColorDescriptor as ColorDescriptor
from .classic.context import ContextDescriptor as ContextDescriptor
from .classic.cooccurrence import CooccurrenceDescriptor as CooccurrenceDescriptor
from .classic.correlogram import CorrelogramDescriptor as CorrelogramDescriptor
from .classic.edges import EdgeBlockDescriptor as EdgeBlockDescriptor, EdgeDescriptor as EdgeDescriptor
from .classic.exif import PhotoFacts as PhotoFacts, read_exif as read_exif
from .classic.gabor import GaborDescriptor as GaborDescriptor
from .classic.gist import GistDescriptor as GistDescriptor
from .classic.gradients import GradientDescriptor as GradientDescriptor
from .classic.phash import PerceptualHashDescriptor as PerceptualHashDescriptor
from .classic.rgb import RgbDescriptor as RgbDescriptor
from .classic.wavelet import WaveletDescriptor as WaveletDescriptor
from .descriptor import (
    BaseDescriptor as BaseDescriptor,
    Descriptor as Descriptor,
    PictureDescriptor as PictureDescriptor,
    PixelDescriptor as PixelDescriptor,
)
from .engine import (
    Extraction as Extraction,
    ExtractionCounts as ExtractionCounts,
    ExtractionEngine as ExtractionEngine,
    MemoryCache as MemoryCache,
    extract as extract,
)
from .network.deep import DeepDescriptor as DeepDescriptor
from .network.encoder_file import EncoderSettings as EncoderSettings, OnnxEncoder as OnnxEncoder
from .network.faces import FacesDescriptor as FacesDescriptor
from .registry import (
    available_descriptors as available_descriptors,
    available_groups as available_groups,
    get_descriptor as get_descriptor,
    resolve_descriptors as resolve_descriptors,
)
from .relations.duplicates import (
    NearDuplicates as NearDuplicates,
    near_duplicate_pairs as near_duplicate_pairs,
    near_duplicates as near_duplicates,
)
from .relations.occasions import bursts as bursts, events as events
from .relations.similar import clusters as clusters, similar_photos as similar_photos
from .scaling import GroupScaler as GroupScaler
from .words.blobs import (
    BlobsDescriptor as BlobsDescriptor,
    RegionSampler as RegionSampler,
    RegionVocabulary as RegionVocabulary,
    learn_blobs as learn_blobs,
)
from .words.learned import learned_descriptor as learned_descriptor
from .words.sift import DenseSift as DenseSift
from .words.vocabulary import (
    VisualVocabulary as VisualVocabulary,
    collect_samples as collect_samples,
    learn_vocabulary as learn_vocabulary,
)
from .words.words import WordsDescriptor as WordsDescriptor
