from .annotate import AnnotateResult as AnnotateResult
from .demo import demo_project as demo_project
from .doctor import Section as Section, examine as examine
from .extract import ExtractResult as ExtractResult, extract_folder as extract_folder
