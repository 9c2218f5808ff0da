"""Transductive kernel map learning: a dictionary, a kernel map and a classifier learned together over a graph."""

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from tagloom.core import (
    COMMON,
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    UNKNOWN,
    Annotator,
    Floats,
    LabelMatrix,
    OneOf,
    check_generator,
    check_magnitude,
    labeled_rows,
)
from tagloom.exceptions import InvalidInputError
from tagloom.graph.spaces import Metric
from tagloom.methods.tkml.map import LabelSpace, diffuse, learn_classifier, solve_labels
from tagloom.methods.tkml.problem import (
    EdgeWeights,
    KernelMap,
    Neighborhood,
    TkmlProblem,
    check_dense,
    label_weights,
    learn_dictionary,
)

__all__ = ["TKML"]


#: Eigenvalues of the learned kernel below this share of the largest do not count towards its rank.
RANK_SHARE = 1e-12
#: Stationarity, in units of ``solver_tol``, at which the sweeps over atoms end: the next round moves them anyway.
ENOUGH = 100.0
#: Features above which the unit that the classifier is penalised by is lost beside their squares.
LARGEST = 1e12


class TKML(Annotator):
    """Transductive kernel map learning (TKML), and its weighted variant wTKML.

    Photos are written in a dictionary of atoms; their coordinates, the kernel map, are chosen so that they rebuild the
    features, that a linear classifier on them fits the known labels, and that neighbours get similar scores. The inner
    products of the maps are the learned kernel.

    Parameters
    ----------
    smoothness : float, default=1.0
        γ_s of Eq. (4): how similar the scores of neighbours are.
    fidelity : float, default=1.0
        γ_c of Eq. (3): how closely features and known labels are fitted.
    rank_penalty : float, default=1e-8
        μ of Eq. (3), positive: weight of ‖Φ‖². With few atoms beyond the features a larger one keeps scores closer to
        what the features tell.
    n_atoms : int, optional
        p. Default: ``max(labelled photos, features) + 1``, as in the paper.
    n_neighbors : int, default=6
        k, in the graph and of a new photo.
    weighted : bool, default=False
        wTKML: for each tag, yes and no have the same sum of weights.
    balance : float, default=1.0
        Power of these weights: 1 balances fully, 0 is TKML.
    max_iter : int, default=5
        Most rounds of classifier, dictionary and kernel map.
    tol : float, default=1e-2
        Done when the scores change by at most this share in a round.
    dictionary_sweeps : int, default=3
        Most sweeps over the atoms in a round; they end early at a stationarity of 100 ``solver_tol``.
    solver : {"labels", "diffusion"}, default="labels"
        "labels": the kernel map exactly. "diffusion": the paper's sweeps of Eq. (8), which stop after
        ``diffusion_sweeps`` or at a change of 1e-2; for labels given photo by photo, without weights.
    diffusion_sweeps : int, default=100
        Most sweeps of "diffusion".
    standardize_scores : bool, default=False
        Whether scores are given with mean 0 and deviation 1 for each tag, over the unlabelled training photos (over all
        where none is unlabelled). Rankings of photos for a tag stay the same; rankings of tags for a photo then do not
        favour tags whose scores spread most.
    start : {"assignment", "gaussian"} or array of shape (p, n), default="assignment"
        Φ⁰, of full rank. "assignment": every photo has one atom, drawn so that no atom is without a photo where there
        are enough of them. "gaussian": independent normal numbers; (p, n) of them are held in memory.
    graph : NeighborGraph or symmetric sparse matrix of shape (n, n), optional
        Graph over the training photos. Default: built by `tagloom.graph.knn_graph`.
    metric : str, default="euclidean"
        Distance between photos; see `tagloom.graph.nearest_neighbors`.
    weights : {"heat", "binary", "similarity"}, default="heat"
        Weight of an edge: ``exp(-distance²/(2·bandwidth²))``; 1; or ``1 - distance``, for "cosine" and "intersection"
        (the histogram intersection itself).
    bandwidth : float, optional
        Width of the heat kernel. Default: the median distance to a neighbour.
    solver_tol : float, default=1e-8
        Relative residual of the linear systems.
    n_threads : int, optional
        Threads of the neighbour search.
    random_state : int, Generator or None, default=None
        For Φ⁰ and the atoms that no photo uses.

    Attributes
    ----------
    dictionary_ : ndarray of shape (d, p)
        B, columns of norm 1.
    multipliers_ : ndarray of shape (p,)
        Λ of Eq. (7) for the last dictionary.
    stationarity_ : float
        ``‖XΦᵀ - B(ΦΦᵀ + Λ)‖ / ‖XΦᵀ‖`` for the last dictionary and the kernel map it was learned for.
    classifier_ : ndarray of shape (p, c)
        W.
    kernel_map_ : ndarray of shape (p, n)
        Φ, computed when asked for.
    effective_rank_ : int
        Eigenvalues of the learned kernel above 1e-12 of the largest; computed when asked for.
    transduction_ : ndarray of shape (n, c)
        Scores ``WᵀΦ`` of the training photos, near 1 for yes and -1 for no unless standardised.
    score_centers_, score_scales_ : ndarray of shape (c,)
        What is subtracted from scores, and what they are divided by: 0 and 1 unless ``standardize_scores``.
    objective_ : list of float
        Eq. (5) after classifier and dictionary and after the kernel map of each round; it never rises with "labels".
    n_iter_ : int
        Rounds.

    Notes
    -----
    Minimises Eq. (5),
    ``μ/2‖Φ‖² + ½‖W‖² + γ_s/2 tr(WᵀΦLΦᵀW) + γ_c/2 ‖X - BΦ‖² + γ_c/2 Σ Ω_ji(Y_ji - w_jᵀΦ_i)²``,
    atoms of norm 1, Y coded ±1 and Ω = 0 where a label is unknown. The kernel map is found in the space of labels: see
    `tagloom.methods.tkml.map.LabelSpace`. A new photo gets the map that minimises the same with B, W and the scores of
    its neighbours fixed.

    Deviations: Eq. (7) is read as ``½tr(BΛBᵀ) - ½tr Λ`` with multipliers free in sign, and is solved by exact steps on
    one atom at a time, which also serve where the dual is not attained. The limit of Eq. (8) is solved for, not
    approached. The paper leaves open the weights of wTKML (balanced here), Φ⁰, the similarity of "euclidean" (heat
    kernel), and new photos; labels may be unknown for single tags.

    References
    ----------
    P. D. Vo, H. Sahbi: Transductive kernel map learning and its application to image annotation, BMVC 2012.
    """

    _parameter_constraints = COMMON | {
        "smoothness": [NOT_NEGATIVE],
        "fidelity": [POSITIVE],
        "rank_penalty": [POSITIVE],
        "n_atoms": [COUNT, None],
        "balance": [NOT_NEGATIVE],
        "tol": [NOT_NEGATIVE],
        "dictionary_sweeps": [COUNT],
        "solver": [OneOf("labels", "diffusion")],
        "diffusion_sweeps": [COUNT],
        "start": [OneOf("assignment", "gaussian"), "array-like"],
        "weights": [OneOf(*get_args(EdgeWeights))],
        "bandwidth": [POSITIVE, None],
        "solver_tol": [POSITIVE],
    }

    def __init__(
        self,
        *,
        smoothness: float = 1.0,
        fidelity: float = 1.0,
        rank_penalty: float = 1e-8,
        n_atoms: int | None = None,
        n_neighbors: int = 6,
        weighted: bool = False,
        balance: float = 1.0,
        max_iter: int = 5,
        tol: float = 1e-2,
        dictionary_sweeps: int = 3,
        solver: Literal["labels", "diffusion"] = "labels",
        diffusion_sweeps: int = 100,
        standardize_scores: bool = False,
        start: Any = "assignment",
        graph: Any = None,
        metric: Metric = "euclidean",
        weights: EdgeWeights = "heat",
        bandwidth: float | None = None,
        solver_tol: float = 1e-8,
        n_threads: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.smoothness = smoothness
        self.fidelity = fidelity
        self.rank_penalty = rank_penalty
        self.n_atoms = n_atoms
        self.n_neighbors = n_neighbors
        self.weighted = weighted
        self.balance = balance
        self.max_iter = max_iter
        self.tol = tol
        self.dictionary_sweeps = dictionary_sweeps
        self.solver = solver
        self.diffusion_sweeps = diffusion_sweeps
        self.standardize_scores = standardize_scores
        self.start = start
        self.graph = graph
        self.metric = metric
        self.weights = weights
        self.bandwidth = bandwidth
        self.solver_tol = solver_tol
        self.n_threads = n_threads
        self.random_state = random_state

    @property
    def kernel_map_(self) -> Floats:
        """Φ of shape (p, n), computed now: after a fit it is only kept as coordinates in d + c columns."""
        check_is_fitted(self)
        return self._map.explicit()

    @property
    def effective_rank_(self) -> int:
        """Number of eigenvalues of the learned kernel above 1e-12 of the largest."""
        check_is_fitted(self)
        Z = self._map.coordinates
        values = np.linalg.svd(Z.toarray() if self._map.sparse else Z, compute_uv=False)
        return int((np.square(values) > RANK_SHARE * np.square(values[0])).sum()) if values[0] > 0 else 0

    def gram(self, X: Any = None, others: Any = None) -> Floats:
        """Return the learned kernel.

        Parameters
        ----------
        X : array of shape (n, d), optional
            New photos. Default: the training photos.
        others : array of shape (n', d), optional
            Further new photos: the kernel between the two. Default: X itself.

        Returns
        -------
        ndarray of shape (n, n) or (n, n')
            Inner products of the maps.
        """
        check_is_fitted(self)
        left = self._coordinates(X)
        right = left if others is None else self._coordinates(others)
        check_dense(max(len(left), len(right)), "the learned kernel")
        return np.asarray(left @ right.T)

    def _coordinates(self, X: Any) -> Floats:
        if X is None:
            return np.asarray(self._map.coordinates)
        X = self._check_X(X, reset=False)
        _, z = self._relaxed(X)
        return self._space.coordinates(X.astype(np.float64), z)

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        problem = self._problem(X, Y)
        generator = check_generator(self.random_state)
        n_atoms = self._n_atoms(X, Y)
        kernel_map = self._start(n_atoms, len(X), generator)
        atoms = generator.standard_normal((n_atoms, X.shape[1]))
        atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
        self.objective_: list[float] = []
        self.n_iter_ = 0
        scores, change = np.zeros(Y.shape), np.inf
        while self.n_iter_ < self.max_iter and change > self.tol:
            W = learn_classifier(problem, kernel_map)  # Eq. (6)
            found = learn_dictionary(
                problem.X, kernel_map, atoms, max_sweeps=self.dictionary_sweeps, tol=ENOUGH * self.solver_tol
            )
            atoms = found.atoms  # Eq. (7)
            self.objective_.append(problem.objective(kernel_map, W, kernel_map.scores(W), found.misfit))
            space = LabelSpace.of(atoms, W, fidelity=self.fidelity, rank_penalty=self.rank_penalty)
            before = scores
            kernel_map, scores = self._map_step(problem, space, kernel_map.scores(W))  # Eq. (8)
            misfit = space.misfit(problem.X, kernel_map.coordinates)
            self.objective_.append(problem.objective(kernel_map, W, scores, misfit))
            change = float(np.linalg.norm(scores - before) / max(float(np.linalg.norm(scores)), np.finfo(float).tiny))
            self.n_iter_ += 1
        self._map, self._space = kernel_map, space
        self.dictionary_, self.classifier_, self._scores = atoms.T, W, scores
        self.score_centers_, self.score_scales_ = self._spread(scores, Y)
        self.transduction_ = self._as_given(scores)
        self.multipliers_, self.stationarity_ = found.multipliers, found.stationarity

    def _spread(self, scores: Floats, Y: LabelMatrix) -> tuple[Floats, Floats]:
        """Return the centre and the width of each tag's scores that are taken out of them."""
        if not self.standardize_scores:
            return np.zeros(scores.shape[1]), np.ones(scores.shape[1])
        unlabeled = ~labeled_rows(Y)
        rows = scores[unlabeled] if unlabeled.any() else scores
        widths = rows.std(axis=0)
        return rows.mean(axis=0), np.where(widths > 0, widths, 1.0)

    def _as_given(self, scores: Floats) -> Floats:
        return (scores - self.score_centers_) / self.score_scales_

    def _map_step(self, problem: TkmlProblem, space: LabelSpace, scores: Floats) -> tuple[KernelMap, Floats]:
        if self.solver == "diffusion":
            kernel_map, scores, _ = diffuse(problem, space, scores, max_sweeps=self.diffusion_sweeps, tol=1e-2)
        else:
            kernel_map, scores, _ = solve_labels(problem, space)
        return kernel_map, scores

    def _problem(self, X: NDArray[Any], Y: LabelMatrix) -> TkmlProblem:
        check_magnitude(X, LARGEST, "TKML")
        neighborhood = self._neighborhood()
        graph = neighborhood.graph(X, self.graph)
        self._bandwidth = graph.bandwidth if self.bandwidth is None else float(self.bandwidth)
        # A copy, so that the model does not change when the caller reuses the array.
        self._points = X.copy()
        problem = TkmlProblem(
            X=X.astype(np.float64),
            targets=np.where(Y == UNKNOWN, 0.0, 2.0 * Y - 1.0),
            weights=label_weights(Y, weighted=self.weighted, balance=self.balance),
            laplacian=graph.laplacian(),
            smoothness=float(self.smoothness),
            fidelity=float(self.fidelity),
            rank_penalty=float(self.rank_penalty),
            tol=float(self.solver_tol),
        )
        if self.solver == "diffusion" and not problem.common:
            raise InvalidInputError(
                "solver='diffusion' is the paper's iteration for labels of whole photos without weights; Y or "
                "weighted=True gives tags weights of their own. Use solver='labels'"
            )
        return problem

    def _neighborhood(self) -> Neighborhood:
        neighborhood = Neighborhood(self.n_neighbors, self.metric, self.weights, self.bandwidth, self.n_threads)
        neighborhood.check()
        return neighborhood

    def _n_atoms(self, X: NDArray[Any], Y: LabelMatrix) -> int:
        return max(int(labeled_rows(Y).sum()), X.shape[1]) + 1 if self.n_atoms is None else int(self.n_atoms)

    def _start(self, p: int, m: int, generator: np.random.Generator) -> KernelMap:
        """Return Φ⁰."""
        if not isinstance(self.start, str):
            given = np.asarray(self.start, dtype=np.float64)
            if given.shape != (p, m) or not np.isfinite(given).all():
                raise InvalidInputError(
                    f"start must be finite and of shape (atoms, photos) = {(p, m)}, got {given.shape}"
                )
            return KernelMap(np.ascontiguousarray(given.T))
        if self.start == "gaussian":
            return KernelMap(generator.standard_normal((m, p)))
        atom = np.arange(m)
        atom[p:] = generator.integers(p, size=max(m - p, 0))
        atom = generator.permutation(atom)
        return KernelMap(sparse.csr_array((np.ones(m), atom, np.arange(m + 1)), shape=(m, p)))

    def _decision_function(self, X: NDArray[Any]) -> Floats:
        base, z = self._relaxed(X)
        return self._as_given(self._space.scores(base, z))

    def _relaxed(self, X: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return T0 and z of new photos, their neighbours' scores fixed."""
        queries = X.astype(self._points.dtype, copy=False)
        links = self._neighborhood().links(queries, self._points, self._bandwidth)
        base = X.astype(np.float64) @ self._space.linear
        held = self.smoothness * np.asarray(links.sum(axis=1)).ravel()
        return base, self._space.relax(base, self.smoothness * (links @ self._scores), held)
