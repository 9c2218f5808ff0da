from .arrays import load_arrays as load_arrays, save_arrays as save_arrays
from .backups import find_backups as find_backups, restore as restore
from .cache import FolderCache as FolderCache
from .contents import ContentChange as ContentChange, KnownFile as KnownFile
from .database import as_stored as as_stored, connect as connect
from .decisions import Batch as Batch, Decisions as Decisions, Origin as Origin
from .folder import ProjectFolder as ProjectFolder, is_digest as is_digest
from .integrity import Finding as Finding, refuse_odd_values as refuse_odd_values
from .layout import (
    BACKUPS as BACKUPS,
    DATABASE as DATABASE,
    SCRATCH as SCRATCH,
    USER_SETTINGS as USER_SETTINGS,
    WRITTEN as WRITTEN,
    remove_project as remove_project,
)
from .log import IMPORTED as IMPORTED, ORIGINS as ORIGINS
from .models import Model as Model, StoredSuggestions as StoredSuggestions
from .photos import PhotoCounts as PhotoCounts, Stamp as Stamp
from .project import ProjectStore as ProjectStore
from .reconcile import Changes as Changes
from .roots import Root as Root
from .runs import Run as Run
from .schema import PROJECT_FORMAT as PROJECT_FORMAT
from .session import Database as Database
from .tags import Tag as Tag
from .thumbnails import Thumbnails as Thumbnails
from .undo import find_redoable as find_redoable, find_undoable as find_undoable
from .writes import Intent as Intent, Write as Write
