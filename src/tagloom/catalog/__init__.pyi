from .extraction import (
    ExtractSummary as ExtractSummary,
    FeatureRows as FeatureRows,
    THUMBNAIL_SIZE as THUMBNAIL_SIZE,
    check_descriptors as check_descriptors,
    extract as extract,
    list_photos as list_photos,
    load_frames as load_frames,
    load_rows as load_rows,
    make_folder as make_folder,
    open_engine as open_engine,
    wants_group as wants_group,
)
from .identity import last_port as last_port, project_identity as project_identity, remember_port as remember_port
from .logs import configure_logging as configure_logging, recorded as recorded, stop_logging as stop_logging
from .lookup import PhotoName as PhotoName, find_photo_ids as find_photo_ids, find_tag_ids as find_tag_ids
from .output_guard import (
    MadeFiles as MadeFiles,
    check_report_target as check_report_target,
    check_results as check_results,
    refuse_foreign_target as refuse_foreign_target,
    refuse_way_out as refuse_way_out,
)
from .photo_index import PhotoIndex as PhotoIndex, UnknownPhotoError as UnknownPhotoError, load_photos as load_photos
from .places import (
    FOLDER_NAME as FOLDER_NAME,
    check_output_folder as check_output_folder,
    claim_folder as claim_folder,
    find_damaged_project as find_damaged_project,
    find_project as find_project,
    new_project_folder as new_project_folder,
    online_root as online_root,
    own_root as own_root,
    project_root as project_root,
)
from .reader import DecisionChanges as DecisionChanges, ProjectReader as ProjectReader
from .results import Result as Result, plain as plain, restored as restored
from .trust import (
    distrust as distrust,
    is_trusted as is_trusted,
    project_settings as project_settings,
    raised_settings as raised_settings,
)
from .vectors import (
    CHUNK as CHUNK,
    deep_vectors as deep_vectors,
    descriptor_key as descriptor_key,
    seen_classes_of as seen_classes_of,
    stored_rows as stored_rows,
)
