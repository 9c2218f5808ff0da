"""Locality preserving semi-supervised SVM: for each tag a feature subspace and an SVM in it, learnt together."""

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cholesky, eigh
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tagloom.core import (
    COMMON,
    NOT_NEGATIVE,
    POSITIVE_SHARE,
    Floats,
    Indices,
    LabeledKFold,
    LabelMatrix,
    OneOf,
)
from tagloom.exceptions import InvalidInputError, NothingToScoreError
from tagloom.kernels import KernelFeatures
from tagloom.kernels.matrix import Gamma, KernelSpec
from tagloom.methods.baselines.lpp import locality_directions, n_directions
from tagloom.methods.baselines.svm import fit_coordinates, fit_tags
from tagloom.methods.shared import EdgeWeights, KernelAnnotator, TagTask
from tagloom.methods.shared.kernel_task import kernel_graph
from tagloom.metrics import mean_average_precision
from tagloom.solvers import RankOneSpectra, rank_one_spectra

__all__ = ["LPSSVM", "SHARES", "Coupling"]


# What all tags of LPSSVM share: the problem without an SVM, solved once, and each tag's change of rank one.

#: Entries of the tables of eigenvectors that are computed at a time.
_ENTRIES = 1_000_000
#: Smallest squared pivot of the scaled TᵀDT (diagonal 1) down to which its Cholesky factor serves.
_PIVOT = 1e-5


@dataclass(frozen=True)
class Base:
    """Eigenpairs of ``TᵀLT a = λ TᵀDT a``.

    Parameters
    ----------
    values : ndarray of shape (q,)
        λ, ascending.
    directions : ndarray of shape (p, q)
        a, with ``aᵀTᵀDTa = 1``; the largest entry of Ta is positive.
    weight : float
        ρ: minus or plus half the weight of the SVM.
    share : float
        Of ``Σ min(max(1 - x, 0), 1)`` that a tag's directions keep.
    total_degree : float
        ΣD.
    is_scaled : bool
        Whether projections are multiplied by s before the SVM, see `Subspaces`.
    """

    values: Floats
    directions: Floats
    weight: float
    share: float
    total_degree: float
    is_scaled: bool = True

    def subspaces(self, pulls: Floats) -> "Subspaces":
        """Solve ``(Λ + ρ zzᵀ)v = xv`` for every column z of ``pulls`` (q, c), as far as directions are kept."""
        # One root more than there are λ < 1 may fall below 1, and no direction beyond that is ever kept.
        useful = min(len(self.values), int((self.values < 1.0).sum()) + 1)
        spectra = rank_one_spectra(self.values, pulls, self.weight, n_lowest=useful)
        # A gain counts at most 1, as without an SVM: one far below zero would leave a subspace of one dimension.
        bounded = np.maximum(spectra.eigenvalues, 0.0)
        counts = np.array([n_directions(found, self.share) for found in bounded], dtype=np.intp)
        scales = np.sqrt(self.total_degree / np.maximum(counts, 1)) if self.is_scaled else np.ones(len(counts))
        return Subspaces(spectra, counts, scales)


@dataclass(frozen=True)
class Subspaces:
    """Directions of several tags in the eigenvectors of the base problem.

    Parameters
    ----------
    spectra : RankOneSpectra
        Eigenvalues and eigenvectors.
    counts : ndarray of int, shape (c,)
        Directions of each tag, m.
    scales : ndarray of shape (c,)
        ``s = √(ΣD / m)``, or 1.
    """

    spectra: RankOneSpectra
    counts: Indices
    scales: Floats

    def directions(self, tags: Indices | None = None) -> Iterator[tuple[int, Floats]]:
        """Yield tags and their directions (q, m), computed for several tags at a time."""
        order = np.arange(len(self.counts)) if tags is None else tags
        size = self.spectra.n_poles * max(1, int(self.counts.max(initial=0)))
        step = max(1, _ENTRIES // max(1, size))
        for start in range(0, len(order), step):
            part = order[start : start + step]
            vectors = self.spectra.vectors(part, int(self.counts[part].max()))
            for place, tag in enumerate(part):
                yield int(tag), vectors[place, :, : self.counts[tag]]


def solve_base(
    T: Floats, L: Any, degrees: Floats, *, weight: float, share: float, is_scaled: bool = True
) -> tuple[Base, Floats]:
    """Solve the problem without an SVM; also return the projections of all photos, ``U = TV`` (n, q).

    Parameters
    ----------
    T : array of shape (n, p)
        Coordinates.
    L : sparse array of shape (n, n)
        Laplacian.
    degrees : array of shape (n,)
        D; all zero: the identity.
    weight, share, is_scaled
        See `Base`.
    """
    values, directions = _well_conditioned(T, L, degrees) or locality_directions(T, L, degrees)
    projected = T @ directions
    largest = np.abs(projected).argmax(axis=0) if len(projected) else np.zeros(0, dtype=np.intp)
    signs = np.where(projected[largest, np.arange(len(values))] < 0, -1.0, 1.0)
    projected *= signs
    total = float(degrees.sum()) if degrees.any() else float(len(degrees))
    return Base(values, directions * signs, weight, share, total, is_scaled), projected


def _well_conditioned(T: Floats, L: Any, degrees: Floats) -> tuple[Floats, Floats] | None:
    """Solve as `locality_directions` does, by one eigendecomposition instead of two; None where that is not safe.

    Principal coordinates of unit length are nearly orthogonal, also when weighted by the degrees, unless these differ
    by orders of magnitude.
    """
    D = degrees if degrees.any() else np.ones_like(degrees)
    lengths = np.sqrt(D @ np.square(T))
    if not (lengths > 0).all() or T.shape[1] == 0:
        return None
    unit = T / lengths
    spread = unit.T @ (D[:, None] * unit)
    try:
        pivots = np.diag(cholesky(spread, check_finite=False))
    except LinAlgError:
        return None
    if float(np.square(pivots).min()) < _PIVOT:
        return None
    smooth = unit.T @ (L @ unit)
    smooth += smooth.T.copy()
    smooth *= 0.5
    values, vectors = eigh(smooth, spread, overwrite_a=True, overwrite_b=True, check_finite=False)
    return np.asarray(values), np.asarray(vectors / lengths[:, None])


# LPSSVM's two steps by turns, for all tags: the subspaces for given SVMs, the SVMs in given subspaces.


@dataclass
class Solution:
    """Where the alternation ended, for k tags.

    Parameters
    ----------
    pulls : ndarray of shape (q, k)
        ``z = U_LᵀF`` of the SVMs that the subspaces were found for.
    dual : ndarray of shape (l, k)
        F of the SVMs in these subspaces.
    coef : ndarray of shape (q, k)
        Coefficients of U: ``s² v vᵀ U_Lᵀ F``.
    intercept : ndarray of shape (k,)
        b.
    counts : ndarray of int, shape (k,)
        Dimensions of the subspaces.
    scales : ndarray of shape (k,)
        s.
    objective : list of float
        Eq. (5) summed over tags after each iteration.
    n_iter : ndarray of int, shape (k,)
        Iterations of each tag.
    """

    pulls: Floats
    dual: Floats
    coef: Floats
    intercept: Floats
    counts: NDArray[np.intp]
    scales: Floats
    objective: list[float]
    n_iter: NDArray[np.intp]


def alternate(
    base: Base, labelled: Floats, signs: Floats, start: Floats, *, C: float, svm_tol: float, tol: float, max_iter: int
) -> Solution:
    """Run the alternation of Fig. 1 for all tags; a tag leaves it when its F stays.

    Parameters
    ----------
    base : Base
        The problem without an SVM.
    labelled : array of shape (l, q)
        U_L, rows of labelled photos.
    signs : array of shape (l, k)
        1, -1, or 0 where a photo says nothing of a tag.
    start : array of shape (l, k)
        F of the first SVMs.
    C, svm_tol : float
        Of the SVMs.
    tol : float
        Change of F, relative to F, at which a tag stops.
    max_iter : int
        Most iterations.
    """
    n_tags = signs.shape[1]
    found = Solution(
        labelled.T @ start,
        start.copy(),
        np.zeros((labelled.shape[1], n_tags)),
        np.zeros(n_tags),
        np.zeros(n_tags, dtype=np.intp),
        np.ones(n_tags),
        [],
        np.zeros(n_tags, dtype=np.intp),
    )
    values = np.zeros(n_tags)
    open_tags = np.arange(n_tags)
    for _ in range(max_iter):
        found.pulls[:, open_tags] = labelled.T @ found.dual[:, open_tags]
        subspaces = base.subspaces(found.pulls[:, open_tags])
        found.counts[open_tags], found.scales[open_tags] = subspaces.counts, subspaces.scales
        before = found.dual[:, open_tags]
        values[open_tags] = _fit_svms(base, subspaces, labelled, signs, found, open_tags, C=C, tol=svm_tol)
        found.n_iter[open_tags] += 1
        found.objective.append(float(values.sum()))
        change = np.linalg.norm(found.dual[:, open_tags] - before, axis=0)
        # Without a weight the subspaces do not depend on the SVMs.
        moving = (change > tol * np.linalg.norm(before, axis=0)) & (base.weight != 0)
        open_tags = open_tags[moving]
        if not open_tags.size:
            break
    return found


def _fit_svms(
    base: Base,
    subspaces: Subspaces,
    labelled: Floats,
    signs: Floats,
    found: Solution,
    tags: NDArray[np.intp],
    *,
    C: float,
    tol: float,
) -> Floats:
    """Fit the SVMs of some tags in their subspaces, and return Eq. (5) of each."""
    values = np.zeros(len(tags))
    for place, v in subspaces.directions():
        tag, scale = tags[place], float(subspaces.scales[place])
        rows = np.flatnonzero(signs[:, tag])
        coordinates = scale * ((labelled if len(rows) == len(labelled) else labelled[rows]) @ v)
        dual, intercept, cost = fit_in_coordinates(coordinates, signs[rows, tag : tag + 1], C=C, tol=tol)
        found.dual[:, tag] = 0.0
        found.dual[rows, tag] = dual[:, 0]
        found.intercept[tag] = intercept[0]
        found.coef[:, tag] = scale * (v @ (coordinates.T @ dual[:, 0]))
        # tr(vᵀΛv), from the eigenvalues of Λ + ρzzᵀ.
        rough = float(subspaces.spectra.eigenvalues[place, : v.shape[1]].sum())
        rough -= base.weight * float(np.square(found.pulls[:, tag] @ v).sum())
        # Coordinates are s times as long as in Eq. (5), so that its γ is γ/s² here.
        values[place] = rough + 2.0 * abs(base.weight) / scale**2 * float(cost[0])
    return values


def fit_in_coordinates(coordinates: Floats, signs: Floats, *, C: float, tol: float) -> tuple[Floats, Floats, Floats]:
    """Fit linear SVMs; return F (l, k), b (k,) and ``½‖w‖² + CΣξ`` (k,).

    Parameters
    ----------
    coordinates : array of shape (l, m)
        Of labelled photos.
    signs : array of shape (l, k)
        1, -1, or 0 where a photo says nothing of a tag; every tag has both signs.
    C, tol : float
        As scikit-learn's SVC has them.
    """
    dual, intercept = fit_coordinates(coordinates, signs, C=C, tol=tol)
    w = coordinates.T @ dual
    slack = np.where(signs != 0, np.maximum(1.0 - signs * (coordinates @ w + intercept), 0.0), 0.0)
    return dual, intercept, 0.5 * np.einsum("ij,ij->j", w, w) + C * slack.sum(axis=0)


Coupling = Literal["saddle", "paper"]
Scale = Literal["degrees", "paper"]
#: Shares that ``subspace_energy="auto"`` chooses from.
SHARES = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
#: The share where nothing can be compared.
USUAL_SHARE = 0.9

#: scikit-learn's default of 1e-3 lets scores depend on the order of photos in the third digit.
_SVM_TOL = 1e-5
#: Deviation of a column, as a share of its largest entry, below which it does not vary.
CONSTANT = 1e-6


class LPSSVM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelAnnotator):
    """Locality preserving semi-supervised SVM (Jiang, Chang, Jebara, Loui 2008), all tags at once.

    Parameters
    ----------
    kernel : {"rbf", "linear", "chi2", "intersection", "pyramid", "precomputed"} or callable, default="rbf"
        See `tagloom.kernels.make_kernel`; "precomputed": X is the kernel of all pairs, and rows of new photos hold
        their kernel with all training photos.
    gamma : float, "scale", "dimension", "mean" or None, default=None
        θ of the paper, which has "dimension", 1/d; see `tagloom.kernels.default_gamma`.
    kernel_parameters : dict, optional
        Further parameters of the kernel, such as ``levels`` and ``n_words`` of "pyramid".
    coupling : {"saddle", "paper"}, default="saddle"
        Sign of the SVM's part in the eigenproblem: minus, as the Lagrangian has it, or plus, as printed.
    svm_weight : float, default=1.0
        γ, weight of the SVM in the choice of the subspace. 0: LPP, then an SVM.
    C : float, default=1.0
        Weight of the SVM's loss.
    energy : float, default=0.98
        Share of the kernel's eigenvalues that the principal subspace keeps in which directions are sought.
    subspace_energy : float or "auto", default=0.9
        Share of ``Σ min(max(1 - λ, 0), 1)`` that the directions of a tag keep. "auto" takes, of seven shares, the one
        with the best mean average precision on labelled photos held out in turn; the paper leaves the dimension open.
    scale : {"degrees", "paper"}, default="degrees"
        What projections are multiplied by before the SVM: s, see Notes, or nothing, as printed.
    standardize : bool, default=False
        Whether columns of X are divided by their standard deviation first; not for precomputed kernels.
    graph : NeighborGraph or symmetric sparse matrix of shape (n, n), optional
        Graph over the training photos. Default: neighbours by the kernel's distance.
    n_neighbors : int, default=15
        Neighbours of a photo in that graph (kn).
    weights : {"kernel", "binary"}, default="kernel"
        Weights of its edges: the kernel's value (in the principal subspace, as `LPP` has it), or 1.
    n_landmarks : int, optional
        Landmarks (Nyström). Default: the exact kernel, if it takes at most 1 GiB (11,585 photos) or is precomputed;
        else 1,000 landmarks, with a warning.
    max_iter : int, default=3
        Most iterations (T).
    tol : float, default=1e-3
        A tag stops when α changes by less than this share of itself.
    n_splits : int, default=5
        Folds of "auto".
    random_state : int, Generator or None, default=0
        Draws the landmarks, deals the folds of "auto".

    Attributes
    ----------
    dual_coef_ : ndarray of shape (p, c)
        Coefficients of the coordinates in the principal subspace.
    coef_ : ndarray of shape (d, c)
        Coefficients of the columns of X; for the linear kernel with at most as many columns as photos only.
    intercept_ : ndarray of shape (c,)
        b.
    support_coef_ : ndarray of shape (n, c)
        F: α_i y_i of the last SVMs, 0 for photos that say nothing of a tag.
    n_directions_ : ndarray of int, shape (c,)
        Dimensions of each tag's subspace.
    subspace_energy_ : float
        Share as used.
    scale_ : ndarray of shape (c,)
        ``s = √(ΣD / m)``, by which projections are multiplied before the SVM.
    eigenvalues_ : ndarray of shape (q,)
        λ of the problem that all tags share, ascending.
    transduction_ : ndarray of shape (n, c)
        Scores of the training photos, the same as ``decision_function`` gives.
    objective_ : list of float
        Eq. (5), summed over tags, after each iteration. It does not fall in every iteration.
    n_iter_ : int
        Iterations of the tag that took most.
    landmarks_ : ndarray of int or None
        Which training photos are landmarks.

    Notes
    -----
    With T the principal coordinates of the kernel, for each tag ``tr(aᵀTᵀLTa) + γ(½‖w‖² + CΣξ)`` subject to
    ``aᵀTᵀDTa = I`` and ``y(wᵀaᵀt + b) ≥ 1 - ξ``: an SVM in the subspace, then the smallest eigenvalues of
    ``(TᵀLT ∓ (γ/2)T_LᵀFFᵀT_L)a = λTᵀDTa``, by turns. The first SVM is on the kernel itself. The problem without F is
    solved once; in its eigenvectors each tag's is a diagonal plus a matrix of rank one
    (`tagloom.solvers.secular.rank_one_spectra`). A tag without a known positive or without a known negative gets a
    constant score and is named in a warning; its subspace is that of LPP.

    Deviations:

    - Sign. Eqs. (8), (9) and (11) have a plus. With Eq. (6) put into the Lagrangian the term is
      ``½‖w‖² - FᵀX_Lᵀaw = -½‖aᵀX_LF‖²``. ``coupling="paper"`` has the plus.
    - Scale. Under ``aᵀTᵀDTa = I`` projections are so small that C = 1 regularises everything away
      (``scale="paper"`` keeps them so); the SVM sees them multiplied by s (the same as s²C for C). The eigenproblem has
      them as they are, with F from that SVM; in ``objective_`` γ is then γ/s² before the SVM's cost.
    - Null space. KDK is nearly singular and its smallest generalised eigenvectors are noise: directions are sought in
      the principal subspace (``energy``).
    - "Energy ratio" is not defined in the paper; see ``subspace_energy``. The eigenvalues are each tag's own; where the
      SVM makes one negative, it counts as 0, or else that direction alone could hold the whole share.
    - The test point's rule has no b in the paper; it has here.
    - The change of α is measured relative to α, for each tag.

    References
    ----------
    W. Jiang, S.-F. Chang, T. Jebara, A. Loui, "Semantic concept classification by joint semi-supervised learning of
    feature subspaces and support vector machines", ECCV 2008.

    Examples
    --------
    >>> from tagloom.datasets import make_moons
    >>> X, Y = make_moons(200, random_state=0)
    >>> model = LPSSVM(gamma=5.0).fit(X, Y)
    >>> model.decision_function(X).shape
    (200, 3)
    """

    _parameter_constraints = COMMON | {
        "coupling": [OneOf(*get_args(Coupling))],
        "svm_weight": [NOT_NEGATIVE],
        "scale": [OneOf(*get_args(Scale))],
        "standardize": ["boolean"],
        "subspace_energy": [POSITIVE_SHARE, OneOf("auto")],
        "weights": [OneOf(*get_args(EdgeWeights))],
    }

    def __init__(
        self,
        kernel: KernelSpec = "rbf",
        *,
        gamma: Gamma = None,
        kernel_parameters: Any = None,
        coupling: Coupling = "saddle",
        svm_weight: float = 1.0,
        C: float = 1.0,
        energy: float = 0.98,
        subspace_energy: float | Literal["auto"] = 0.9,
        scale: Scale = "degrees",
        standardize: bool = False,
        graph: Any = None,
        n_neighbors: int = 15,
        weights: EdgeWeights = "kernel",
        n_landmarks: int | None = None,
        max_iter: int = 3,
        tol: float = 1e-3,
        n_splits: int = 5,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_parameters = kernel_parameters
        self.coupling = coupling
        self.svm_weight = svm_weight
        self.C = C
        self.energy = energy
        self.subspace_energy = subspace_energy
        self.scale = scale
        self.standardize = standardize
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.n_landmarks = n_landmarks
        self.max_iter = max_iter
        self.tol = tol
        self.n_splits = n_splits
        self.random_state = random_state

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        self._deviations = self._deviations_of(X)
        X = self._scaled(X)
        kernel = self._settle(X)
        task = TagTask(Y, "LPSSVM")
        T = self._principal_coordinates(X)
        graph = kernel_graph(self.graph, kernel, X, n_neighbors=self.n_neighbors, weights=self.weights, features=T)
        weight = (-0.5 if self.coupling == "saddle" else 0.5) * float(self.svm_weight)
        is_open = isinstance(self.subspace_energy, str)
        base, projected = solve_base(
            T,
            graph.laplacian(),
            graph.degrees,
            weight=weight,
            share=USUAL_SHARE if is_open else float(self.subspace_energy),
            is_scaled=self.scale == "degrees",
        )
        if is_open:
            base = replace(base, share=self._choose_share(base, X, T, projected, Y))
        self._base, self.subspace_energy_ = base, base.share
        self.eigenvalues_ = self._base.values
        found = self._alternate(base, projected, task, self._first_svms(X, T, task))
        self._keep_solution(X, task, projected, found)

    def _alternate(self, base: Base, projected: Floats, task: TagTask, start: Floats) -> Solution:
        return alternate(
            base,
            projected[task.rows],
            task.signs,
            start,
            C=self.C,
            svm_tol=_SVM_TOL,
            tol=self.tol,
            max_iter=int(self.max_iter),
        )

    def _choose_share(self, base: Base, X: NDArray[Any], T: Floats, projected: Floats, Y: LabelMatrix) -> float:
        """Return the share whose subspaces rank held-out labelled photos best, the smallest among equals."""
        figures = []
        with contextlib.suppress(NothingToScoreError):
            for labels, held_out in LabeledKFold(self.n_splits, random_state=self.random_state).split_labels(Y):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # all labels are warned of when the model is fitted
                    task = TagTask(labels, "LPSSVM")
                truth = np.delete(Y[held_out], np.setdiff1d(np.arange(Y.shape[1]), task.tags), axis=1)
                if not (truth == 1).any():
                    continue
                start = self._first_svms(X, T, task)
                row = []
                for share in SHARES:
                    found = self._alternate(replace(base, share=share), projected, task, start)
                    scores = projected[held_out] @ found.coef + found.intercept
                    row.append(mean_average_precision(truth, scores))
                figures.append(row)
        return SHARES[int(np.argmax(np.mean(figures, axis=0)))] if figures else USUAL_SHARE

    def _deviations_of(self, X: NDArray[Any]) -> Floats | None:
        """Return what columns are divided by; None: nothing."""
        if not self.standardize:
            return None
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise InvalidInputError("standardize=True is not for kernel='precomputed': its columns are kernel values")
        found: Floats = X.std(axis=0, dtype=np.float64)
        return np.where(found > CONSTANT * np.abs(X).max(axis=0, initial=0.0), found, 1.0)

    def _scaled(self, X: NDArray[Any]) -> NDArray[Any]:
        return X if self._deviations is None else (X / self._deviations).astype(X.dtype, copy=False)

    def _decision_function(self, X: NDArray[Any]) -> Floats:
        return super()._decision_function(self._scaled(X))

    def _principal_coordinates(self, X: NDArray[Any]) -> Floats:
        self._choose_landmarks(len(X), min(X.shape) if self.kernel_.name == "linear" else len(X))
        self._features = self._principal = KernelFeatures(self.kernel_, X, self.landmarks_, energy=self.energy)
        return self._principal.transform(X)

    def _first_svms(self, X: NDArray[Any], T: Floats, task: TagTask) -> Floats:
        """Return F of SVMs on the kernel that is not projected; step 4 of Fig. 1."""
        if not task.tags.size:
            return np.zeros(task.signs.shape)
        if not self.kernel_.precomputed and 8 * len(task.rows) ** 2 > self._kernel_bytes:
            return fit_in_coordinates(T[task.rows], task.signs, C=self.C, tol=_SVM_TOL)[0]
        return fit_tags(self.kernel_.gram(X, task.rows), task.signs, C=self.C, tol=_SVM_TOL)[0]

    def _keep_solution(self, X: NDArray[Any], task: TagTask, projected: Floats, found: Solution) -> None:
        self.objective_, self.n_iter_ = found.objective or [0.0], int(found.n_iter.max(initial=1))
        self._pulls, _ = task.embed(found.pulls, found.intercept)
        # Tags that were not learnt have no pull.
        of_lpp = self._base.subspaces(np.zeros((len(self.eigenvalues_), 1)))
        self.n_directions_, self.scale_ = np.repeat(of_lpp.counts, task.n_tags), np.repeat(of_lpp.scales, task.n_tags)
        self.n_directions_[task.tags], self.scale_[task.tags] = found.counts, found.scales
        self.support_coef_ = np.zeros((len(X), task.n_tags))
        self.support_coef_[np.ix_(task.rows, task.tags)] = found.dual
        self._keep(task, X, None, self._base.directions @ found.coef, found.intercept, projected @ found.coef)
        columns = self._principal.linear_map(self.dual_coef_)
        if columns is not None:
            self.coef_ = columns if self._deviations is None else columns / self._deviations[:, None]

    def _subspaces(self) -> Subspaces:
        return self._base.subspaces(self._pulls)

    @property
    def projection_(self) -> Floats:
        """Directions a of all tags side by side, (p, Σ ``n_directions_``), in the principal coordinates.

        They are computed whenever they are asked for: in memory, a fitted model is one vector for each tag.
        """
        check_is_fitted(self)
        found = [self._base.directions @ v for _, v in self._subspaces().directions()]
        return np.hstack(found)

    def transform(self, X: Any, *, tags: ArrayLike | None = None) -> Floats:
        """Return projections of photos, not scaled, those of the tags side by side.

        Parameters
        ----------
        X : array of shape (n, d)
            Photos.
        tags : int array, optional
            Whose subspaces; default: those of all tags.

        Returns
        -------
        ndarray of shape (n, sum of ``n_directions_[tags]``)
            On the training photos ``PᵀDP = I`` within each tag.
        """
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        wanted = np.arange(self.n_tags_) if tags is None else np.atleast_1d(np.asarray(tags, dtype=np.intp))
        if wanted.size and not (wanted.min() >= 0 and wanted.max() < self.n_tags_):
            raise InvalidInputError(f"tags must be numbers from 0 to {self.n_tags_ - 1}, got {wanted.tolist()}")
        base = self._principal.transform(self._scaled(X)) @ self._base.directions
        return np.hstack([base @ v for _, v in self._subspaces().directions(wanted)] or [np.zeros((len(base), 0))])

    @property
    def _n_features_out(self) -> int:
        return int(self.n_directions_.sum())
