"""Verbs that look into a project's model: how good it is, and why it says what it says."""

from typing import TYPE_CHECKING, Any

from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.workflow.project_base import ProjectBase
from tagloom.workflow.project_names import PhotoName

if TYPE_CHECKING:
    from tagloom.workflow.project_evaluate import Evaluation
    from tagloom.workflow.project_explain import ExplainResult, ProjectExplainer

__all__ = ["InsightVerbs"]


class InsightVerbs(ProjectBase):
    """What a project can tell about its model."""

    _explainer: "ProjectExplainer | None" = None

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

    def explain(self, photo: PhotoName, tag: str, *, n: int = 8, base: Any = None) -> "ExplainResult":
        """Say why a photo has its score for a tag (see `tagloom.workflow.project_explain.ProjectExplainer`)."""
        from tagloom.workflow.project_explain import ProjectExplainer

        if self._explainer is None or not self._explainer.is_current():
            self._explainer = ProjectExplainer(self.store, self.settings)
        return self._explainer.explain(photo, tag, n=n, base=base)
