from .duplicates import DuplicatePhoto as DuplicatePhoto, DuplicatesResult as DuplicatesResult
from .export import ExportResult as ExportResult
from .imports import ImportResult as ImportResult, import_keywords as import_keywords
from .label import LabelResult as LabelResult, label_pairs as label_pairs
from .project import Project as Project
from .report import ReportResult as ReportResult, read_topics as read_topics, report_data as report_data
from .scan import ScanResult as ScanResult
from .undo import UndoResult as UndoResult
from .unwritten import suggestions_written as suggestions_written, unwritten_photos as unwritten_photos
from .write import FileWrite as FileWrite, WriteResult as WriteResult
