"""Multiple-kernel SVM: one kernel for each group of features, weighted for each tag."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from tagloom.core import COMMON, POSITIVE, Annotator, FeatureGroups, Floats, LabelMatrix
from tagloom.exceptions import InvalidInputError
from tagloom.kernels import Kernel, make_kernel
from tagloom.kernels.matrix import Gamma, KernelSpec
from tagloom.methods.baselines.svm import fit_tags, hinge_objectives
from tagloom.methods.shared import TagTask

__all__ = ["MultipleKernelSVM"]


class MultipleKernelSVM(Annotator):
    """Support vector machines on a weighted sum of kernels, with learned weights.

    Parameters
    ----------
    groups : FeatureGroups or None, default=None
        Columns of each kernel. None: every kernel sees all columns.
    kernels : str, callable, sequence of these or None, default=None
        See `tagloom.kernels.make_kernel`. With groups: one for all groups, or a sequence of one for each. None: "rbf"
        for every group; without groups "rbf" and "linear". "precomputed" with groups of n columns each: the kernels
        side by side.
    gamma : float, "scale", "dimension", "mean" or None, default=None
        See `tagloom.kernels.default_gamma`; settled for each kernel on its own columns.
    kernel_parameters : dict, optional
        Further parameters of histogram kernels.
    C : float, default=1.0
        Weight of the loss.
    weight_penalty : float, default=1.0
        λ, weight of the squared kernel weights.
    per_tag : bool, default=True
        Every tag has its own kernel weights; False: all tags share them.
    normalize : bool, default=True
        Divide every kernel by the mean of its diagonal on the labelled photos, so that weights compare.
    tol : float, default=1e-4
        Relative decrease of a tag's objective at which the alternation ends.
    max_iter : int, default=50
        Most alternations.

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (k, c)
        d, for the kernels as normalised; equal columns where they are shared, zero for tags that cannot be learnt.
    dual_coef_ : ndarray of shape (l, c)
        ``α_i y_i`` of the labelled photos.
    intercept_ : ndarray of shape (c,)
        b.
    objective_ : list of float
        The objective summed over tags, after each SVM; it never rises (but for the tolerance of the SVM).
    n_iter_ : int
        SVMs of a tag.

    Notes
    -----
    For each tag ``½ Σ_k ‖w_k‖²/d_k + C Σ_known (1 - yf)₊ + (λ/2) Σ_k d_k²`` over w, b and d ≥ 0. For fixed d an SVM
    with the kernel ``Σ d_k K_k``; for fixed w, ``d_k = (‖w_k‖²/2λ)^(1/3)``; each step lowers the objective. With shared
    weights, ‖w_k‖² is summed over tags. A tag without a known positive or without a known negative gets a constant
    score and is named in a warning.

    References
    ----------
    M. Varma, B. Babu, "More generality in efficient multiple kernel learning", ICML 2009.
    """

    _parameter_constraints = COMMON | {"weight_penalty": [POSITIVE]}

    def __init__(
        self,
        groups: FeatureGroups | None = None,
        *,
        kernels: KernelSpec | Sequence[KernelSpec] | None = None,
        gamma: Gamma = None,
        kernel_parameters: Any = None,
        C: float = 1.0,
        weight_penalty: float = 1.0,
        per_tag: bool = True,
        normalize: bool = True,
        tol: float = 1e-4,
        max_iter: int = 50,
    ) -> None:
        self.groups = groups
        self.kernels = kernels
        self.gamma = gamma
        self.kernel_parameters = kernel_parameters
        self.C = C
        self.weight_penalty = weight_penalty
        self.per_tag = per_tag
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        task = TagTask(Y, "MultipleKernelSVM")
        self._views = self._settle(X)
        grams = [kernel.gram(X[:, columns], task.rows) for columns, kernel in self._views]
        sizes = np.array([float(np.diag(gram).mean()) if len(gram) else 1.0 for gram in grams])
        self._scales: Floats = 1.0 / np.where((sizes > 0) & self.normalize, sizes, 1.0)
        stacked = np.array(grams) * self._scales[:, None, None]
        self._anchors = [kernel.select(X[:, columns], task.rows) for columns, kernel in self._views]
        weights, dual, intercept = self._alternate(stacked, task.signs)
        self.kernel_weights_, _ = task.embed(weights, intercept)
        self.dual_coef_, self.intercept_ = task.embed(dual, intercept)
        self.transduction_ = self._decision_function(X)

    def _decision_function(self, X: NDArray[Any]) -> Floats:
        scores = np.tile(self.intercept_, (len(X), 1))
        for (columns, kernel), anchors, scale, weights in zip(
            self._views, self._anchors, self._scales, self.kernel_weights_, strict=True
        ):
            scores += kernel.product(X[:, columns], anchors, scale * weights * self.dual_coef_)
        return scores

    def _settle(self, X: NDArray[Any]) -> list[tuple[slice, Kernel]]:
        """Return the columns and the kernel of each view."""
        given = self.kernels
        if given is None:
            given = ("rbf", "linear") if self.groups is None else "rbf"
        one_for_all = isinstance(given, str) or callable(given)
        names: list[KernelSpec] = [given] if isinstance(given, str) or callable(given) else list(given)
        if not names:
            raise InvalidInputError("kernels must name at least one kernel, got none")
        if self.groups is None:
            parts = [slice(0, X.shape[1])] * len(names)
        else:
            self.groups.check(X)
            ends = np.cumsum(self.groups.sizes)
            parts = [slice(int(end - size), int(end)) for end, size in zip(ends, self.groups.sizes, strict=True)]
            names = names * len(parts) if one_for_all else names
            if len(names) != len(parts):
                raise InvalidInputError(
                    f"kernels must name one kernel for each of {len(parts)} groups, got {len(names)}"
                )
        return [
            (part, make_kernel(name, X[:, part], gamma=self.gamma, parameters=self._parameters_of(name)))
            for part, name in zip(parts, names, strict=True)
        ]

    def _parameters_of(self, name: KernelSpec) -> Any:
        return self.kernel_parameters if name in ("pyramid", "intersection") else None

    def _alternate(self, grams: Floats, signs: Floats) -> tuple[Floats, Floats, Floats]:
        """Return kernel weights (k, tags), signed dual coefficients (l, tags) and intercepts."""
        n_kernels, n_tags = len(grams), signs.shape[1]
        weights = np.full((n_kernels, n_tags), 1.0 / n_kernels)
        dual, intercept, values = np.zeros(signs.shape), np.zeros(n_tags), np.full(n_tags, np.inf)
        self.objective_, self.n_iter_ = [], 0
        open_tags = np.arange(n_tags)
        tags_of_penalty = 1.0 if self.per_tag else 1.0 / max(n_tags, 1)
        while open_tags.size and self.n_iter_ < int(self.max_iter):
            before = values.copy()
            for tags in [[tag] for tag in open_tags] if self.per_tag else [list(open_tags)]:
                K = np.tensordot(weights[:, tags[0]], grams, axes=1)
                # The SVM has to be more exact than the decrease that is looked for.
                dual[:, tags], intercept[tags] = fit_tags(K, signs[:, tags], C=self.C, tol=0.01 * self.tol)
                values[tags] = hinge_objectives(K, signs[:, tags], dual[:, tags], intercept[tags], self.C)
                penalty = 0.5 * self.weight_penalty * np.square(weights[:, tags]).sum(axis=0)
                values[tags] += tags_of_penalty * penalty
            self.objective_.append(float(values.sum()))
            self.n_iter_ += 1
            decrease = before - values if self.per_tag else np.full(n_tags, before.sum() - values.sum())
            scale = values if self.per_tag else np.full(n_tags, values.sum())
            open_tags = open_tags[(decrease > self.tol * np.abs(scale))[open_tags]]
            if open_tags.size and self.n_iter_ < int(self.max_iter):
                weights[:, open_tags] = self._next_weights(grams, dual[:, open_tags], weights[:, open_tags])
        self._warn(open_tags)
        return weights, dual, intercept

    def _next_weights(self, grams: Floats, dual: Floats, weights: Floats) -> Floats:
        """Return ``d_k = (‖w_k‖²/2λ)^(1/3)`` with ``‖w_k‖² = d_k² αᵀK_kα``."""
        norms = np.square(weights) * np.maximum(np.einsum("lt,klm,mt->kt", dual, grams, dual, optimize=True), 0.0)
        if not self.per_tag:
            norms = np.repeat(norms.sum(axis=1, keepdims=True), norms.shape[1], axis=1)
        found: Floats = np.cbrt(norms / (2.0 * self.weight_penalty))
        # All zero: a machine without any coefficient, which no weights can change.
        return np.where(found.any(axis=0), found, weights)

    def _warn(self, open_tags: NDArray[np.intp]) -> None:
        if open_tags.size:
            warnings.warn(
                f"MultipleKernelSVM: {open_tags.size} tags still changed after {self.max_iter} alternations. Raise "
                f"max_iter or tol",
                ConvergenceWarning,
                stacklevel=5,
            )
