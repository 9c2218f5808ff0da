from .embedding import KeywordEmbedder as KeywordEmbedder
from .file_changes import (
    FileChanges as FileChanges,
    REMOVED as REMOVED,
    Recovered as Recovered,
    fingerprint_at as fingerprint_at,
    sweep as sweep,
)
from .keywords_file import KeywordRow as KeywordRow, write_keywords as write_keywords
from .labels_file import PhotoLabels as PhotoLabels, UnmatchedName as UnmatchedName, read_labels as read_labels
from .names import (
    PhotoMatcher as PhotoMatcher,
    name_from_text as name_from_text,
    name_to_line as name_to_line,
    name_to_text as name_to_text,
)
from .photo_keywords import (
    FileKeywords as FileKeywords,
    FoundKeywords as FoundKeywords,
    find_sidecar as find_sidecar,
    find_sidecars as find_sidecars,
    new_sidecar as new_sidecar,
    put_together as put_together,
    read_photo_keywords as read_photo_keywords,
    sidecar_places as sidecar_places,
)
from .photos_keywords import read_photos_keywords as read_photos_keywords
from .sidecar_plan import FieldChange as FieldChange, SidecarPlan as SidecarPlan, plan_sidecar as plan_sidecar
from .sidecars import (
    FileMemory as FileMemory,
    KeywordChange as KeywordChange,
    SidecarWriter as SidecarWriter,
    WriteOutcome as WriteOutcome,
    remembered as remembered,
)
from .text_file import read_text as read_text
from .write_journal import (
    JournalEntry as JournalEntry,
    State as State,
    WriteJournal as WriteJournal,
    fingerprint as fingerprint,
)
from .xmp_fields import is_programs_own as is_programs_own
from .xmp_read import FieldRecord as FieldRecord, NOTHING as NOTHING, Stated as Stated
