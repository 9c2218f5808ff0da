"""The joint problem of SFSS, solved by steps on W with upper models and on F by a sparse system."""

import warnings
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from tagloom.core import Floats
from tagloom.methods.sfss.features import CentredFeatures
from tagloom.methods.sfss.problem import GramModel, ReducedModel, Scores, ScoreSystem
from tagloom.methods.sfss.reduced import ReducedProblem, minimise
from tagloom.solvers import L21
from tagloom.solvers.cg import one_thread_each

__all__ = ["JointProblem", "JointSolution"]


# How far one round brings F towards the best for the present W.
ACCURACY = 0.1
# Rate of the rounds with the reduced model that is counted on before a fit begins.
RATE = 0.03
# Accuracy of F at W = 0 from which the reduced problem starts, and the most and least accuracy of its polynomial.
START, FINE, COARSE = 3e-3, 1e-4, 0.1
# Rounds with the plain model before the support is taken to be nearly known.
PLAIN_ROUNDS = 2
# Earlier rounds that extrapolation combines.
MEMORY = 6
# Relative difference of two objectives that is rounding, by the precision of products with the features.
ROUNDING = {np.dtype(np.float32): 1e-8, np.dtype(np.float64): 1e-12}
# Share of γ_max below which gradients are sums of so many columns that float32 costs another round.
PRECISE = 0.05
# Bytes that the factors of the reduced model may take.
FACTOR_BYTES = 2 * 2**30
# A multiplication of a dense product costs this share of one of a sparse product, and a round this many of these for
# each entry of F.
DENSE_SHARE, SWEEPS = 0.05, 150
# Features from which the libraries' own threads pay for matrices of this size.
WIDE = 2000


@dataclass
class Round:
    """F nearly the best for one W, and what was computed there.

    ``doubt`` is about how far the gradient is from the one for the best F, where that is known.
    """

    W: Floats
    scores: Scores
    regression: Floats
    gradient: Floats
    smooth: float
    objective: float
    distances: Floats
    doubt: float = np.inf

    def under(self, penalty: L21) -> "Round":
        """Return the same point under another penalty."""
        distances = penalty.subdifferential_distance(self.W, self.gradient)
        return replace(self, objective=self.smooth + penalty.value(self.W), distances=distances)


@dataclass
class JointSolution:
    """W and F of one strength of the penalty.

    ``optimality`` is the largest distance of minus the gradient from the penalty's subdifferential, divided by γ.
    """

    W: Floats
    scores: Scores
    objective: list[float] = field(default_factory=list)
    optimality: float = np.inf
    n_iter: int = 0
    last: Round | None = field(default=None, repr=False)


class JointProblem:
    """``min_F,W tr(FᵀLF) + pull·Σ_unknown F² + μ‖H(F - X̃W)‖² + γ‖W‖₂,₁`` for any γ > 0, known entries of F fixed.

    What does not depend on γ is computed once and kept.

    Parameters
    ----------
    features : CentredFeatures
        X̃.
    system : ScoreSystem
        The part in F.
    strategy : {"auto", "plain", "reduced"}
        "plain": the model of a step on W is ``μX̃ᵀX̃``. "reduced": with F eliminated, on the features in use. "auto":
        the one with less work to come.
    n_strengths : int
        For how many γ the problem will be solved; the reduced model serves all of them.
    gram : GramModel, optional
        Of another problem with the same features and μ.
    """

    def __init__(
        self,
        features: CentredFeatures,
        system: ScoreSystem,
        *,
        strategy: str = "auto",
        n_strengths: int = 1,
        gram: GramModel | None = None,
    ) -> None:
        self.features, self.system, self.strategy, self.n_strengths = features, system, strategy, n_strengths
        self._gram = gram
        self._reduced: ReducedModel | None = None
        self._at_zero: Round | None = None

    @property
    def gram(self) -> GramModel:
        """``X̃ᵀX̃``, made when first asked for."""
        return self.make_gram(precise=self.n_strengths > 1)

    def make_gram(self, *, precise: bool) -> GramModel:
        """Return ``X̃ᵀX̃``, multiplied in float64 if it was not made before and is wanted so."""
        if self._gram is None:
            self._gram = GramModel(self.features, self.system.mu, precise=precise)
        return self._gram

    def reduced(self, accuracy: float = COARSE) -> ReducedModel:
        """Return the reduced model; it is made, with a polynomial as accurate as this, when first asked for."""
        if self._reduced is None:
            pull, mu = self.system.pull, self.system.mu
            wish = accuracy if self.system.mask is None else np.sqrt(RATE)
            accuracy = float(np.clip(wish * np.sqrt(min(1.0, pull / mu)), FINE, COARSE))
            self._reduced = ReducedModel(self.features, self.system, self.gram, accuracy)
        return self._reduced

    @property
    def held(self) -> ReducedModel | None:
        """The reduced model if it was made and is more than a bound."""
        return self._reduced if self.system.mask is None else None

    def missing(self, features: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return those of some features that the reduced model does not hold."""
        return features if self._reduced is None else self._reduced.missing(features)

    def may_reduce(self) -> bool:
        """Return whether F can be eliminated: labels come by rows, and the features fit in memory once more."""
        n_rows = self.system.unknown_rows.size
        fits = 8 * n_rows * self.features.shape[1] <= FACTOR_BYTES
        return self.strategy != "plain" and self.system.mask is None and n_rows > 0 and fits

    def starts_reduced(self, gradient: Floats, strength: float, tol: float) -> bool:
        """Return whether to eliminate F from the beginning: if that promises less work than rounds with "plain"."""
        if not self.may_reduce() or self.strategy == "reduced":
            return self.may_reduce()
        d, n_rows = self.features.shape[1], self.system.unknown_rows.size
        # Of the features that violate optimality at zero about half do so in the end.
        wanted = 0.5 * float((np.einsum("ij,ij->i", gradient, gradient) > strength**2).sum())
        steps = self.system.inverse.polynomial.degree(0.3 * np.sqrt(tol))
        price = wanted * (steps * self.system.K.nnz + DENSE_SHARE * n_rows * (wanted + d))
        return bool(price < self.work_of_rounds(np.log(1.0 / tol)))

    def work_of_rounds(self, digits: float) -> float:
        """Return about how many multiplications rounds with the plain model need to gain some natural digits."""
        n, d = self.features.shape
        c, mu, pull = self.system.shape[1], self.system.mu, self.system.pull
        if pull == 0:
            return np.inf
        root = np.sqrt(1.0 + mu / pull)
        per_round = c * self.system.inverse.polynomial.degree(ACCURACY) * self.system.K.nnz
        per_round += 2 * DENSE_SHARE * n * d * c + SWEEPS * n * c
        return float(per_round * (PLAIN_ROUNDS + digits / -np.log((root - 1.0) / (root + 1.0))))

    def largest_strength(self) -> float:
        """Return γ_max, the smallest γ for which W = 0."""
        return L21(1.0).smallest_zero(self.at_zero(self.finest).gradient)

    @property
    def finest(self) -> float:
        """The accuracy of F at W = 0 beyond which nothing is gained."""
        return 1e-6 if self.features.dtype == np.float32 else 1e-8

    def at_zero(self, tol: float) -> Round:
        """Return the round at W = 0, F up to the ``tol`` with which it was first asked for."""
        if self._at_zero is None:
            W = np.zeros((self.features.shape[1], self.system.shape[1]))
            regression = np.zeros(self.system.shape)
            scores = self.system.start()
            accuracy = float(np.clip(np.sqrt(tol), 1e-4, ACCURACY**2))
            size = np.linalg.norm(self.system.residual(scores, regression))
            for _ in range(50):
                scores = self.system.improve(scores, regression, accuracy)
                if np.linalg.norm(self.system.residual(scores, regression)) <= tol * size:
                    break
            self._at_zero = self.look(W, scores, regression, L21(0.0))
        return self._at_zero

    def solve(
        self, strength: float, *, start: JointSolution | None = None, tol: float = 1e-6, max_iter: int = 500
    ) -> JointSolution:
        """Solve for one γ > 0.

        Parameters
        ----------
        strength : float
            γ.
        start : JointSolution, optional
            Solution for another γ.
        tol : float
            Wanted optimality.
        max_iter : int
            Most rounds; each improves F once and W once.
        """
        # Large products run in threads of our own, and those of the libraries would only be in their way.
        with one_thread_each() if self.features.shape[1] < WIDE else nullcontext():
            descent = _Descent(self, strength, start, tol)
            descent.run(max_iter)
        solution = descent.solution()
        if solution.optimality > tol:
            warnings.warn(
                f"SFSS was left at an optimality of {solution.optimality:.2g} after {solution.n_iter} of at most "
                f"{max_iter} rounds, above tol={tol:g}. Raise max_iter or tol, scale the features, or give them as "
                f"float64",
                ConvergenceWarning,
                stacklevel=2,
            )
        return solution

    def look(self, W: Floats, scores: Scores, regression: Floats, penalty: L21) -> Round:
        """Compute gradient, objective and optimality at W and F."""
        residual = self.system.misfit(scores, regression)
        gradient = self.features.transposed_times(residual)
        gradient *= -2.0 * self.system.mu
        fit = self.system.mu * float(np.vdot(residual, residual))
        smooth = self.system.energy(scores) + fit
        doubt = self._refine(gradient, scores, regression, penalty.strength)
        distances = penalty.subdifferential_distance(W, gradient)
        return Round(W, scores, regression, gradient, smooth, smooth + penalty.value(W), distances, doubt)

    def _refine(self, gradient: Floats, scores: Scores, regression: Floats, strength: float) -> float:
        """Bring the gradient nearer to the one for the best F, for features in the reduced model; return what is left.

        What F lacks enters through the same solutions of linear systems that the model is made of, so what is left is
        the product of two errors. Features outside of the model have to be clearly zero.
        """
        model = self.held
        if model is None or model.size == 0:
            return np.inf
        held = model.order()
        change = 2.0 * self.system.mu * model.correction(held, self.system.residual(scores, regression))
        gradient[held] -= change
        size = float(np.sqrt(np.einsum("ij,ij->i", change, change).max()))
        outside = np.delete(gradient, held, axis=0)
        reach = float(np.sqrt(np.einsum("ij,ij->i", outside, outside).max(initial=0.0))) + 2.0 * size
        return model.accuracy * size if reach <= strength or held.size == len(gradient) else np.inf


class _Descent:
    """The rounds of one γ."""

    def __init__(self, problem: JointProblem, strength: float, start: JointSolution | None, tol: float) -> None:
        self.problem, self.strength, self.tol = problem, strength, tol
        self.penalty = L21(strength)
        self.accuracy, self.n_iter, self.plain_rounds = ACCURACY, 0, 0
        self.objective: list[float] = []
        self.inputs: list[Floats] = []
        self.outputs: list[Floats] = []
        self.now = self._begin() if start is None or start.last is None else start.last.under(self.penalty)
        self.objective.append(self.now.objective)

    def _begin(self) -> Round:
        """Return the point to start from: zero, or the solution with F eliminated."""
        problem, system = self.problem, self.problem.system
        W, nothing = np.zeros((problem.features.shape[1], system.shape[1])), np.zeros(system.shape)
        self.accuracy = START if problem.may_reduce() else ACCURACY
        zero = self._look(W, system.start(), nothing)
        self.accuracy = ACCURACY
        if not problem.starts_reduced(zero.gradient, self.strength, self.tol) or not (zero.distances > 0).any():
            return zero
        largest = L21(1.0).smallest_zero(zero.gradient)
        share = min(1.0, self.strength / largest)
        problem.make_gram(precise=share < PRECISE)
        model = problem.reduced(float(np.sqrt(0.1 * self.tol * share)))
        reduced = ReducedProblem(model, zero.gradient, zero.smooth, system.residual(zero.scores, nothing))
        W = reduced.descend(largest, self.strength, 0.3 * self.tol)
        used = np.flatnonzero(W.any(axis=1))
        found = self._look(W, system.moved(zero.scores, model.response(used, W[used])))
        self.objective.append(zero.objective)
        self.n_iter = 1
        return found if found.objective <= zero.objective else zero

    def run(self, max_iter: int) -> None:
        """Alternate until optimal."""
        while True:
            if self._optimality() <= self.tol:
                if self.now.doubt <= 0.1 * self.tol * self.strength:
                    break
                # F was the best only up to the accuracy of a round: look once more with a better one.
                self.now = self._look(self.now.W, self.now.scores, self.now.regression)
                if self._optimality() <= self.tol:
                    break
            if self.n_iter >= max_iter:
                break
            self.n_iter += 1
            if not self._advance():
                break
            self.objective.append(self.now.objective)

    def solution(self) -> JointSolution:
        """Return what was found."""
        now = self.now
        return JointSolution(now.W, now.scores, self.objective, self._optimality(), self.n_iter, now)

    def _optimality(self) -> float:
        return float(self.now.distances.max(initial=0.0)) / self.strength

    def _look(self, W: Floats, scores: Scores, regression: Floats | None = None) -> Round:
        """Improve F for W and look there."""
        if regression is None:
            regression = self.problem.features.times(W)
        scores = self.problem.system.improve(scores, regression, self.accuracy)
        return self.problem.look(W, scores, regression, self.penalty)

    def _advance(self) -> bool:
        """Do one round; return whether anything is left to gain."""
        plain, is_reduced = self._step()
        guess = plain if is_reduced else self._extrapolate(plain)
        limit = self.now.objective + ROUNDING[self.problem.features.dtype] * abs(self.now.objective)
        found = self._look(guess, self._predict(guess) if is_reduced else self.now.scores)
        if found.objective > limit and guess is not plain:
            self.inputs, self.outputs = [], []
            found = self._look(plain, self.now.scores)
        if found.objective <= limit:
            self.now = found
            return True
        # The model is an upper one where F is the best for W: bring F nearer.
        self.accuracy *= 0.1
        self.now = self._look(self.now.W, self.now.scores, self.now.regression)
        return self.accuracy > 1e-8

    def _predict(self, W: Floats) -> Scores:
        """Return F moved along with W as the reduced model has it."""
        system, reduced = self.problem.system, self.problem.reduced()
        if system.mask is not None:
            return self.now.scores
        rows = np.flatnonzero(W.any(axis=1) | self.now.W.any(axis=1))
        return system.moved(self.now.scores, reduced.response(rows, W[rows] - self.now.W[rows]))

    def _step(self) -> tuple[Floats, bool]:
        """Minimise a model of the objective in W; return the minimiser and whether the model was the reduced one."""
        wanted = np.flatnonzero(self.now.W.any(axis=1) | (self.now.distances > 0))
        aim = 0.1 * max(self.tol, self._optimality()) * self.strength
        if self._prefers_reduced(wanted):
            self.inputs, self.outputs = [], []
            reduced = self.problem.reduced(float(np.sqrt(0.1 * self.tol)))
            reduced.add(wanted)
            W, part = np.zeros_like(self.now.W), self.now.W[wanted]
            W[wanted] = minimise(reduced.datafit(wanted, part, self.now.gradient[wanted]), self.penalty, part, aim)
            return W, True
        self.plain_rounds += 1
        plain = self.problem.gram.datafit(self.now.W, self.now.gradient)
        return minimise(plain, self.penalty, self.now.W, aim), False

    def _prefers_reduced(self, wanted: NDArray[np.intp]) -> bool:
        """Return whether the reduced model promises less work until the end."""
        problem = self.problem
        system = problem.system
        n_rows = system.unknown_rows.size
        if problem.strategy != "auto" or n_rows == 0:
            return problem.strategy == "reduced" and n_rows > 0
        missing = problem.missing(wanted)
        # Along a path the features that violate optimality are few, and the next γ needs most of them.
        many = problem.n_strengths == 1 and 5 * missing.size > wanted.size
        if many and self.plain_rounds < PLAIN_ROUNDS:
            return False
        if 8 * n_rows * wanted.size > FACTOR_BYTES:
            return False
        steps = system.inverse.polynomial.degree(0.3 * np.sqrt(self.tol))
        price = missing.size * (steps * system.K.nnz + DENSE_SHARE * n_rows * wanted.size)
        digits = np.log(max(self._optimality() / self.tol, 2.0))
        return bool(price < problem.n_strengths * problem.work_of_rounds(digits))

    def _extrapolate(self, W: Floats) -> Floats:
        """Combine the last plain steps so that their changes cancel as far as possible (Anderson)."""
        self.inputs.append(self.now.W)
        self.outputs.append(W)
        self.inputs, self.outputs = self.inputs[-MEMORY:], self.outputs[-MEMORY:]
        if len(self.inputs) < 2 or self.plain_rounds <= PLAIN_ROUNDS:
            return W
        changes = np.array([(late - early).ravel() for early, late in zip(self.inputs, self.outputs, strict=True)])
        gram = changes @ changes.T
        size = float(np.trace(gram))
        if size == 0:
            return W
        weights = np.linalg.solve(gram / size + 1e-10 * np.eye(len(gram)), np.ones(len(gram)))
        combined: Floats = np.tensordot(weights / weights.sum(), np.array(self.outputs), axes=1)
        combined[~W.any(axis=1)] = 0.0
        return combined
