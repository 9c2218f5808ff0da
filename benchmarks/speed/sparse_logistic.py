"""Sparse logistic regression of all tags: group lasso, l1, and l1 with its parameter integrated out.

The literal algorithms go tag by tag, on a share of the tags. KKT: largest violation of the optimality conditions of
any tag, relative to its λ.
"""

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from benchmarks.literal.bayesian_logistic import bayesian_l1_logistic
from benchmarks.literal.group_logistic import group_lasso_logistic
from benchmarks.speed.harness import Accuracy, Local, Worker, case, compare, out_parser, record
from tagloom.methods.baselines.sbmlr import SBMLR
from tagloom.solvers.groups.norms import ColumnGroupL2
from tagloom.solvers.logistic import GroupLogistic

Floats = NDArray[np.float64]
SIZES = {"full": (2000, 300, 50), "quick": (200, 30, 4)}
BAYESIAN_SIZES = {"full": (1000, 200, 30), "quick": (200, 30, 4)}
#: Tags that the literal algorithms are timed on.
LITERAL_TAGS = 2
SHARE = 0.1
TOL = 1e-6
REPEATS = 3


def problem(n: int, d: int, c: int) -> tuple[Floats, NDArray[np.int8]]:
    """Return standardised features with shared factors and rare tags (2 to 15 %) of a few features each."""
    generator = np.random.default_rng(0)
    factors = min(30, d)
    X = generator.standard_normal((n, factors)) @ generator.standard_normal((factors, d)) / np.sqrt(factors)
    X += 0.7 * generator.standard_normal((n, d))
    coef = generator.standard_normal((d, c)) * (generator.random((d, c)) < 8 / d)
    scores = X @ coef + generator.standard_normal((n, c))
    limits = [np.quantile(scores[:, tag], 1 - share) for tag, share in enumerate(generator.uniform(0.02, 0.15, c))]
    return (X - X.mean(axis=0)) / X.std(axis=0), (scores > limits).astype(np.int8)


def accuracy_of(X: Floats, Y: NDArray[np.int8], penalty: ColumnGroupL2, strengths: Floats, best: Floats) -> Accuracy:
    """Return a function of the result that states its objective over the best known and its KKT residual."""

    def accuracy(found: Any) -> dict[str, float]:
        coef, intercept = (found["coef"], found["intercept"]) if isinstance(found, dict) else found
        tags = coef.shape[1]
        check = GroupLogistic(X, Y[:, :tags], penalty).solve(strengths[:tags], start=(coef, intercept), max_iter=0)
        excess = check.objective[0] / best[:tags] - 1
        return {"objective over the best": float(excess.max()), "KKT": float(check.optimality.max())}

    return accuracy


def scikit_learn(X: Floats, Y: NDArray[np.int8], strengths: Floats) -> tuple[Floats, Floats]:
    coef, intercept = np.zeros((X.shape[1], Y.shape[1])), np.zeros(Y.shape[1])
    for tag, strength in enumerate(strengths):
        # liblinear penalises its intercept: a large scaling makes that small. saga took twenty times as long.
        model = LogisticRegression(
            l1_ratio=1.0,
            C=1 / (strength * len(X)),
            solver="liblinear",
            tol=1e-4,
            max_iter=2000,
            random_state=0,
            intercept_scaling=100.0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, Y[:, tag])
        coef[:, tag], intercept[tag] = model.coef_[0], model.intercept_[0]
    return coef, intercept


def literal_groups(X: Floats, Y: NDArray[np.int8], sizes: NDArray[np.intp], strengths: Floats) -> Any:
    found = [
        group_lasso_logistic(X, Y[:, tag].astype(float), sizes, strengths[tag], tol=TOL)
        for tag in range(min(LITERAL_TAGS, Y.shape[1]))
    ]
    return np.array([beta for beta, _ in found]).T, np.array([b for _, b in found])


def group_case(X: Floats, Y: NDArray[np.int8], width: int, folder: Path, threads: int) -> dict[str, Any]:
    """Time the group lasso with groups of one width at a tenth of each tag's λ_max."""
    sizes = np.full(X.shape[1] // width, width)
    penalty = ColumnGroupL2(np.repeat(np.arange(len(sizes)), sizes), np.sqrt(sizes))
    strengths = SHARE * GroupLogistic(X, Y, penalty).largest_strengths()
    best = GroupLogistic(X, Y, penalty).solve(strengths, tol=1e-10).objective[-1]

    def ours() -> tuple[Floats, Floats]:
        found = GroupLogistic(X, Y, penalty).solve(strengths, tol=TOL)
        return found.coef, found.intercept

    share = (min(LITERAL_TAGS, Y.shape[1]), Y.shape[1])
    inputs = {"X": X, "Y": Y, "strengths": strengths, "sizes": sizes, "tol": np.array(1e-7)}
    target = "peers/skglm.py:group_logistic"
    contenders: list[Any] = [
        Local("tagloom", ours, role="ours"),
        Local(
            "block descent, tag by tag",
            lambda: literal_groups(X, Y, sizes, strengths),
            role="literal",
            runs=1,
            share=share,
        ),
    ]
    if width == 1:
        contenders.append(Local("scikit-learn, liblinear", lambda: scikit_learn(X, Y, strengths), role="peer", runs=1))
    with Worker("skglm", target, inputs, folder, environment="skglm", threads=threads) as peer:
        entries = compare(
            [*contenders, peer],
            accuracy=accuracy_of(X, Y, penalty, strengths, best),
            repeats=REPEATS,
            threads=threads,
        )
    n, d, c = *X.shape, Y.shape[1]
    title = (
        f"Groups of {width}, {n} rows, {d} columns, {c} tags" if width > 1 else f"l1, {n} rows, {d} columns, {c} tags"
    )
    return case(title, {"n": n, "d": d, "c": c, "width": width, "share": SHARE}, entries)


def bayesian_case(X: Floats, Y: NDArray[np.int8], threads: int) -> dict[str, Any]:
    """Time the search of α = N/Σ|w|; the coordinate loop never settles, and gets 2,000 steps a tag."""

    def ours() -> tuple[Floats, Floats, Floats]:
        model = SBMLR(refit=False, standardize=False).fit(X, Y)
        return model.sparse_coef_, model.sparse_intercept_, model.alpha_

    def literal() -> tuple[Floats, Floats, Floats]:
        tags = range(min(LITERAL_TAGS, Y.shape[1]))
        found = [bayesian_l1_logistic(X, Y[:, tag].astype(float), max_iter=2000) for tag in tags]
        return (
            np.array([w for w, _, _ in found]).T,
            np.array([b for _, b, _ in found]),
            np.array([alphas[-1] for _, _, alphas in found]),
        )

    def accuracy(found: tuple[Floats, Floats, Floats]) -> dict[str, float]:
        coef, intercept, alpha = found
        penalty = ColumnGroupL2(np.arange(X.shape[1]), np.ones(X.shape[1]))
        checked = GroupLogistic(X, Y[:, : coef.shape[1]], penalty)
        at_alpha = checked.solve(alpha / len(X), start=(coef, intercept), max_iter=0)
        return {"KKT at its α": float(at_alpha.optimality.max())}

    contenders = [
        Local("tagloom SBMLR", ours, role="ours"),
        Local(
            "2,000 coordinate steps, tag by tag",
            literal,
            role="literal",
            runs=1,
            share=(min(LITERAL_TAGS, Y.shape[1]), Y.shape[1]),
        ),
    ]
    entries = compare(contenders, accuracy=accuracy, repeats=REPEATS, threads=threads)
    n, d, c = *X.shape, Y.shape[1]
    return case(f"Bayesian l1, {n} rows, {d} columns, {c} tags", {"n": n, "d": d, "c": c}, entries)


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("sparse_logistic").parse_args(argv)
    size = "quick" if arguments.quick else "full"
    X, Y = problem(*SIZES[size])
    with tempfile.TemporaryDirectory() as folder:
        cases = [group_case(X, Y, width, Path(folder), arguments.threads) for width in (1, 10)]
    cases.append(bayesian_case(*problem(*BAYESIAN_SIZES[size]), arguments.threads))
    title = "Sparse logistic regression of all tags"
    record("sparse_logistic", title, cases, arguments.out, threads=arguments.threads, packages=["scikit-learn"])


if __name__ == "__main__":
    main()
