"""The verbs behind ``tagloom train`` and ``tagloom suggest``: models, and what they say of photos."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tagloom.catalog.lookup import PhotoName
from tagloom.catalog.verb_log import recorded
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.project.project_base import ProjectBase
from tagloom.project.status import LEARNT

if TYPE_CHECKING:
    from tagloom.learning.score import ScoreResult
    from tagloom.learning.suggest import Suggestion
    from tagloom.learning.train import TrainResult
    from tagloom.learning.update import UpdateResult

__all__ = ["ModelVerbs"]


class ModelVerbs(ProjectBase):
    """What a project learns and suggests."""

    @recorded("train")
    def train(self, method: str | None = None, *, progress: Progress = NO_PROGRESS) -> "TrainResult":
        """Learn from what was said (see `tagloom.learning.train.train`)."""
        from tagloom.learning.train import train

        return train(self.store, self.settings, method, progress=progress)

    @recorded("update")
    def update(self) -> "UpdateResult":
        """Learn from a few more decisions (see `tagloom.learning.update.update`)."""
        from tagloom.learning.update import update

        n_decisions = self.store.decisions.count()
        result = update(self.store, self.settings)
        model = self.store.models.active()
        # Models that cannot be solved tag by tag stay, and with them the count of what they were trained on.
        if model is not None and (result.model == model.id or not result.tag_ids):
            self.store.settings.set(LEARNT, {"model": model.id, "n_decisions": n_decisions})
        return result

    def score_new(self) -> "ScoreResult":
        """Give suggestions to photos that came after training (see `tagloom.learning.score.score_new`)."""
        from tagloom.learning.score import score_new

        return score_new(self.store, self.settings)

    def suggest(
        self,
        photos: PhotoName | Sequence[PhotoName] | None = None,
        *,
        n: int = 5,
        threshold: float | None = None,
        above_only: bool = False,
        base: Any = None,
    ) -> "list[Suggestion]":
        """Return suggestions for photos, best first (see `tagloom.learning.suggest.suggest_each`)."""
        from tagloom.learning.suggest import suggest_each

        return list(suggest_each(self.store, photos, n=n, threshold=threshold, above_only=above_only, base=base))
