from .data import (
    ReportData as ReportData,
    ReportPhoto as ReportPhoto,
    UnreadablePhoto as UnreadablePhoto,
    add_thumbnails as add_thumbnails,
    make_photos as make_photos,
    suggestions_first as suggestions_first,
)
from .page import write_report as write_report
