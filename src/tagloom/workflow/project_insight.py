"""Verbs that look into a project's model: how good it is, why it says what it says, and what to label next."""

import os
from typing import TYPE_CHECKING, Any

from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.workflow.project_base import ProjectBase
from tagloom.workflow.project_names import PhotoName
from tagloom.workflow.verb_log import recorded

if TYPE_CHECKING:
    from tagloom.workflow.project_duplicates import DuplicatesResult
    from tagloom.workflow.project_evaluate import Evaluation
    from tagloom.workflow.project_explain import ExplainResult, ProjectExplainer
    from tagloom.workflow.project_next import NextPhotos
    from tagloom.workflow.project_report import ReportResult
    from tagloom.workflow.stored_evaluation import LastEvaluation

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
        """Measure a method on what was said (see `tagloom.workflow.project_evaluate.evaluate`)."""
        from tagloom.workflow.project_evaluate import evaluate

        return evaluate(
            self.store, self.settings, method, folds=folds, n_more=n_more, curve=curve, groups=groups, progress=progress
        )

    def last_evaluation(self) -> "LastEvaluation | None":
        """Return what was measured last, and whether anything was decided since; None if nothing ever was."""
        from tagloom.workflow.stored_evaluation import last_evaluation

        return last_evaluation(self.store)

    @recorded("report")
    def report(self, path: str | os.PathLike[str]) -> "ReportResult":
        """Write a page of all photos and the last evaluation (see `tagloom.workflow.project_report.report`)."""
        from tagloom.workflow.project_report import report

        return report(self.store, self.settings, path)

    def next_photos(self, n: int = 20, strategy: str | None = None) -> "NextPhotos":
        """Return the photos to label next (see `tagloom.workflow.project_next.next_photos`)."""
        from tagloom.workflow.project_next import next_photos

        return next_photos(self.store, self.settings, n, strategy=strategy)

    def duplicates(self, threshold: int | None = None, *, progress: Progress = NO_PROGRESS) -> "DuplicatesResult":
        """Return groups of photos that show the same picture (see `tagloom.workflow.project_duplicates.duplicates`)."""
        from tagloom.workflow.project_duplicates import DEFAULT_THRESHOLD, duplicates

        bits = DEFAULT_THRESHOLD if threshold is None else threshold
        return duplicates(self.store, self.settings, threshold=bits, progress=progress)

    def explain(self, photo: PhotoName, tag: str, *, n: int = 8, base: Any = None) -> "ExplainResult":
        """Say why a photo has its score for a tag (see `tagloom.workflow.project_explain.ProjectExplainer`)."""
        from tagloom.workflow.project_explain import ProjectExplainer

        if self._explainer is None or not self._explainer.is_current():
            self._explainer = ProjectExplainer(self.store, self.settings, before=self._explainer)
        return self._explainer.explain(photo, tag, n=n, base=base)
