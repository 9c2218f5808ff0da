"""Verbs that look into a project's model: how good it is, why it says what it says, and what to label next."""

import os
from typing import TYPE_CHECKING, Any

from tagloom.catalog.lookup import PhotoName
from tagloom.catalog.verb_log import recorded
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.project.project_base import ProjectBase

if TYPE_CHECKING:
    from tagloom.learning.evaluate import Evaluation
    from tagloom.learning.explain import ExplainResult, ProjectExplainer
    from tagloom.learning.next_photos import NextPhotos
    from tagloom.learning.stored_evaluation import LastEvaluation
    from tagloom.project.duplicates import DuplicatesResult
    from tagloom.project.report import ReportResult

__all__ = ["InsightVerbs"]


class InsightVerbs(ProjectBase):
    """What a project can tell about its model, and what would make it better."""

    _explainer: "ProjectExplainer | None" = None

    @recorded("evaluate")
    def evaluate(
        self,
        method: str | None = None,
        *,
        folds: int = 5,
        n_more: int = 100,
        curve: bool = True,
        groups: bool = True,
        progress: Progress = NO_PROGRESS,
    ) -> "Evaluation":
        """Measure a method on what was said (see `tagloom.learning.evaluate.evaluate`)."""
        from tagloom.learning.evaluate import evaluate

        return evaluate(
            self.store, self.settings, method, folds=folds, n_more=n_more, curve=curve, groups=groups, progress=progress
        )

    def last_evaluation(self) -> "LastEvaluation | None":
        """Return what was measured last, and whether anything was decided since; None if nothing ever was."""
        from tagloom.learning.stored_evaluation import last_evaluation

        return last_evaluation(self.store)

    @recorded("report")
    def report(self, path: str | os.PathLike[str]) -> "ReportResult":
        """Write a page of all photos and the last evaluation (see `tagloom.project.report.report`)."""
        from tagloom.project.report import report

        return report(self.store, self.settings, path)

    def next_photos(self, n: int = 20, strategy: str | None = None) -> "NextPhotos":
        """Return the photos to label next (see `tagloom.learning.next_photos.next_photos`)."""
        from tagloom.learning.next_photos import next_photos

        return next_photos(self.store, self.settings, n, strategy=strategy)

    def duplicates(self, threshold: int | None = None, *, progress: Progress = NO_PROGRESS) -> "DuplicatesResult":
        """Return groups of photos that show the same picture (see `tagloom.project.duplicates.duplicates`)."""
        from tagloom.project.duplicates import DEFAULT_THRESHOLD, duplicates

        bits = DEFAULT_THRESHOLD if threshold is None else threshold
        return duplicates(self.store, self.settings, threshold=bits, progress=progress)

    def explain(self, photo: PhotoName, tag: str, *, n: int = 8, base: Any = None) -> "ExplainResult":
        """Say why a photo has its score for a tag (see `tagloom.learning.explain.ProjectExplainer`)."""
        from tagloom.learning.explain import ProjectExplainer

        if self._explainer is None or not self._explainer.is_current():
            self._explainer = ProjectExplainer(self.store, self.settings, before=self._explainer)
        return self._explainer.explain(photo, tag, n=n, base=base)
