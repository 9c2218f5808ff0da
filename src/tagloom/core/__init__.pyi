from .alignment import rows_of as rows_of, take_rows as take_rows
from .annotator import Annotator as Annotator, fit_thresholds as fit_thresholds
from .file_kinds import (
    PHOTO_EXTENSIONS as PHOTO_EXTENSIONS,
    RAW_EXTENSIONS as RAW_EXTENSIONS,
    SIDECAR_EXTENSIONS as SIDECAR_EXTENSIONS,
    VIDEOS as VIDEOS,
    VIDEO_EXTENSIONS as VIDEO_EXTENSIONS,
    is_pair_photo as is_pair_photo,
    is_raw as is_raw,
    is_video as is_video,
    pair_key as pair_key,
    skipped_kinds as skipped_kinds,
    split_raw_of_photos as split_raw_of_photos,
)
from .files import (
    TEMPORARY_MARK as TEMPORARY_MARK,
    atomic_write as atomic_write,
    before_replacing as before_replacing,
    sweep_temporary_files as sweep_temporary_files,
    write_bytes as write_bytes,
    write_error as write_error,
    write_text as write_text,
)
from .folds import LabeledKFold as LabeledKFold, label_budget as label_budget
from .groups import FeatureGroups as FeatureGroups
from .keywords import Keyword as Keyword, SidecarName as SidecarName
from .labels import (
    AbsentMeans as AbsentMeans,
    LabelMatrix as LabelMatrix,
    UNKNOWN as UNKNOWN,
    check_absent_means as check_absent_means,
    check_labels as check_labels,
    decode_labels as decode_labels,
    known_patterns as known_patterns,
    labeled_rows as labeled_rows,
)
from .mapped import in_scratch as in_scratch, scratch as scratch
from .photos import FeatureCache as FeatureCache, FileStamp as FileStamp, PhotoRecord as PhotoRecord
from .plain_json import from_plain as from_plain, to_plain as to_plain
from .progress import NO_PROGRESS as NO_PROGRESS, Progress as Progress
from .protocols import missing_attributes as missing_attributes
from .seeds import check_generator as check_generator, spawn_generators as spawn_generators
from .statements import PhotoKeywords as PhotoKeywords, Statement as Statement
from .system import cpu_count as cpu_count, descriptor_limit as descriptor_limit, lock_file as lock_file
from .tag_names import (
    fold_tag as fold_tag,
    similar_pairs as similar_pairs,
    similar_tags as similar_tags,
    split_tag as split_tag,
)
from .threads import limit_libraries as limit_libraries
from .typing import (
    Bools as Bools,
    Floats as Floats,
    Ids as Ids,
    Indices as Indices,
    Ints as Ints,
    Reals as Reals,
    Singles as Singles,
)
from .user_folders import cache_folder as cache_folder, config_folder as config_folder
from .validation import (
    COMMON as COMMON,
    COUNT as COUNT,
    FOLDS as FOLDS,
    NOT_NEGATIVE as NOT_NEGATIVE,
    NumberIn as NumberIn,
    OneOf as OneOf,
    POSITIVE as POSITIVE,
    POSITIVE_SHARE as POSITIVE_SHARE,
    SHARE as SHARE,
    check_groups as check_groups,
    check_magnitude as check_magnitude,
    check_parameters as check_parameters,
    satisfies as satisfies,
)
from .verdicts import MOTION_PHOTO as MOTION_PHOTO, PARTS as PARTS, Verdict as Verdict
from .vocabulary import TagVocabulary as TagVocabulary, normalize_tag as normalize_tag
