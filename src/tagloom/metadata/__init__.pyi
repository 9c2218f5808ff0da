from .embedding import KeywordEmbedder as KeywordEmbedder
from .file_changes import FileChanges as FileChanges
from .keywords_file import KeywordRow as KeywordRow, write_keywords as write_keywords
from .labels_file import PhotoLabels as PhotoLabels, UnmatchedName as UnmatchedName, read_labels as read_labels
from .names import name_from_text as name_from_text, name_to_text as name_to_text
from .photo_keywords import FoundKeywords as FoundKeywords, read_photo_keywords as read_photo_keywords
from .sidecar_plan import SidecarPlan as SidecarPlan, plan_sidecar as plan_sidecar
from .sidecars import KeywordChange as KeywordChange, SidecarWriter as SidecarWriter, WriteOutcome as WriteOutcome
