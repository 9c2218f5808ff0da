"""Manifold regularisation: one linear system for all tags turns kernel and graph into a Gram matrix of labelled photos.

With f = Kα, the penalty ``γ_A αᵀKα + γ_I αᵀKLKα`` and any loss on l labelled rows, the optimum has
``(γ_A I + γ_I LK)α = Jᵀc`` with one number c_i for each labelled photo, J picking the labelled rows. So α = Qc with
``Q = (γ_A I + γ_I LK)⁻¹Jᵀ``, the scores of labelled photos are ``Gc``, ``G = JKQ``, and the penalty is ``cᵀGc``: what
remains is a machine on G alone.
"""

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, lu_factor, lu_solve, solve_triangular

from tagloom.core import COMMON, NOT_NEGATIVE, POSITIVE, Floats, LabelMatrix, OneOf
from tagloom.kernels import Kernel
from tagloom.kernels.matrix import Gamma, KernelSpec
from tagloom.methods.shared.gram import DenseGram, Gram, gram_of_features
from tagloom.methods.shared.kernel_task import EdgeWeights, KernelAnnotator, TagTask, kernel_graph

__all__ = ["ManifoldAnnotator", "SymmetricLaplacian"]

#: Laplacians that are symmetric, as a penalty has to be.
SymmetricLaplacian = Literal["unnormalized", "symmetric"]


class ManifoldAnnotator(KernelAnnotator):
    """Base of LapRLS and LapSVM; a subclass finds c and b for a Gram matrix of the labelled photos."""

    _parameter_constraints = COMMON | {
        "ambient_weight": [POSITIVE],
        "graph_weight": [NOT_NEGATIVE],
        "weights": [OneOf(*get_args(EdgeWeights))],
        "laplacian": [OneOf(*get_args(SymmetricLaplacian))],
    }

    def __init__(
        self,
        kernel: KernelSpec = "rbf",
        *,
        gamma: Gamma = None,
        kernel_parameters: Any = None,
        ambient_weight: float = 0.005,
        graph_weight: float = 0.045,
        fit_intercept: bool = True,
        graph: Any = None,
        n_neighbors: int = 15,
        weights: EdgeWeights = "binary",
        laplacian: SymmetricLaplacian = "unnormalized",
        n_landmarks: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_parameters = kernel_parameters
        self.ambient_weight = ambient_weight
        self.graph_weight = graph_weight
        self.fit_intercept = fit_intercept
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.laplacian = laplacian
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def _solve(self, gram: Gram, signs: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002
        """Return c (l, k) and b (k,), and set ``objective_`` and ``n_iter_`` where they iterate."""
        raise TypeError(f"{type(self).__name__} does not define _solve")

    def _forces(self, signs: Floats, scores: Floats) -> Floats:  # noqa: ARG002
        """Return c as the loss has it at these scores of labelled photos: minus its derivative."""
        raise TypeError(f"{type(self).__name__} does not define _forces")

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        kernel = self._settle(X)
        task = TagTask(Y, type(self).__name__)
        self.objective_, self.optimality_ = [0.0], 0.0
        if task.tags.size == 0:
            self._keep_constant(task, X)
            return
        features = self._coordinates(X, len(X) if self.graph_weight > 0 else len(task.rows))
        if features is not None:
            self._fit_features(X, task, features)
        elif self.graph_weight > 0:
            self._fit_exact(X, task, kernel)
        else:
            self._fit_supervised(X, task, kernel)

    def _fit_exact(self, X: NDArray[Any], task: TagTask, kernel: Kernel) -> None:
        """Solve with the kernel of all pairs."""
        K = kernel.gram(X)
        L = self._laplacian(X, gram=K)
        system = self.graph_weight * (L @ K)
        system[np.diag_indices(len(K))] += self.ambient_weight
        picks = np.zeros((len(K), len(task.rows)))
        picks[task.rows, np.arange(len(task.rows))] = 1.0
        # LU and not Cholesky: the symmetric form K(γ_A + γ_I LK) squares the condition of K.
        factor = lu_factor(system, overwrite_a=True, check_finite=False)
        Q = lu_solve(factor, picks, overwrite_b=True, check_finite=False)
        G = K[task.rows] @ Q
        coef, intercept = self._solve(DenseGram(0.5 * (G + G.T)), task.signs)
        alpha = Q @ coef
        scores = K @ alpha
        residual = self.ambient_weight * alpha + self.graph_weight * (L @ scores)
        forces = self._forces(task.signs, scores[task.rows] + intercept)
        residual[task.rows] -= forces
        self._keep(task, X, np.arange(len(X)), alpha, intercept, scores)
        self._certify(residual, forces)

    def _fit_supervised(self, X: NDArray[Any], task: TagTask, kernel: Kernel) -> None:
        """Solve without the graph: only labelled photos matter."""
        K = kernel.gram(X, task.rows)
        coef, intercept = self._solve(DenseGram(K / self.ambient_weight), task.signs)
        alpha = coef / self.ambient_weight
        forces = self._forces(task.signs, K @ alpha + intercept)
        self._keep(task, X, task.rows, alpha, intercept)
        self._certify(self.ambient_weight * alpha - forces, forces)

    def _fit_features(self, X: NDArray[Any], task: TagTask, features: Floats) -> None:
        """Solve in coordinates Φ: f = Φw, ``(γ_A I + γ_I ΦᵀLΦ)w = Φ_lᵀc``."""
        smooth = (
            self.graph_weight * (self._laplacian(X, features=features) @ features) if self.graph_weight > 0 else None
        )
        system = np.zeros((features.shape[1],) * 2) if smooth is None else features.T @ smooth
        system = 0.5 * (system + system.T)
        system[np.diag_indices(len(system))] += self.ambient_weight
        root = cholesky(system, lower=True)
        labelled = features[task.rows]
        Z = solve_triangular(root, labelled.T, lower=True).T
        coef, intercept = self._solve(gram_of_features(np.ascontiguousarray(Z)), task.signs)
        w = solve_triangular(root, Z.T @ coef, lower=True, trans="T")
        scores = features @ w
        forces = labelled.T @ self._forces(task.signs, scores[task.rows] + intercept)
        self._keep(task, X, None, w, intercept, scores)
        self._certify(system @ w - forces, forces)
        columns = None if self._features is None else self._features.linear_map(self.dual_coef_)
        if columns is not None:
            self.coef_ = columns

    def _laplacian(self, X: NDArray[Any], **representation: Floats) -> Any:
        graph = kernel_graph(
            self.graph, self.kernel_, X, n_neighbors=self.n_neighbors, weights=self.weights, **representation
        )
        return graph.laplacian(self.laplacian)

    def _certify(self, residual: Floats, forces: Floats) -> None:
        """Set the largest entry of the gradient, relative to the largest of the loss's own."""
        largest = float(np.abs(forces).max(initial=0.0))
        self.optimality_ = float(np.abs(residual).max(initial=0.0)) / (largest if largest > 0 else 1.0)
