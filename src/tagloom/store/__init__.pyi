from .arrays import load_arrays as load_arrays, save_arrays as save_arrays
from .cache import FolderCache as FolderCache
from .layout import remove_project as remove_project
from .project import ProjectStore as ProjectStore
