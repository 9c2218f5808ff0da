from .annotate import AnnotateResult as AnnotateResult
from .demo import demo_project as demo_project
from .doctor import Section as Section, examine as examine
from .extract import ExtractResult as ExtractResult, extract_folder as extract_folder
from .encoders import (
    EncoderTrial as EncoderTrial,
    ListedEncoder as ListedEncoder,
    add_encoder as add_encoder,
    list_encoders as list_encoders,
    try_encoder as try_encoder,
)
