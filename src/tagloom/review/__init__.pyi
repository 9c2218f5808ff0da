from .events import EventHub as EventHub, ReviewEvent as ReviewEvent
from .jobs import JOB_KINDS as JOB_KINDS
from .learner import ProjectLearner as ProjectLearner
from .playable import Playable as Playable
from .ranking import PhotoQuery as PhotoQuery, Ranking as Ranking, Sort as Sort, TagState as TagState
from .session import (
    NothingToUndoError as NothingToUndoError,
    OthersActionError as OthersActionError,
    ReviewSession as ReviewSession,
)
from .state import UnknownTagError as UnknownTagError
