"""Leave-one-out scores of ridge for all tags: closed form beside one refit per row and scikit-learn's RidgeCV."""

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV

from benchmarks.literal.ridge import ridge_leave_one_out
from benchmarks.speed.harness import Local, case, compare, out_parser, record
from tagloom.methods import RegularizedLeastSquares

PENALTY = 10.0
SIZES = {"full": [(300, 100, 81), (600, 200, 81)], "quick": [(60, 20, 5)]}


def problem(n: int, d: int, c: int) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    generator = np.random.default_rng(0)
    X = generator.standard_normal((n, d))
    scores = X @ generator.standard_normal((d, c)) + 3.0 * generator.standard_normal((n, c))
    return X, (scores > np.quantile(scores, 0.9, axis=0)).astype(np.int8)


def scikit_learn(X: NDArray[np.float64], Y: NDArray[np.int8]) -> NDArray[np.float64]:
    model = RidgeCV(alphas=[PENALTY], scoring="neg_mean_squared_error", store_cv_results=True)
    return np.asarray(model.fit(X, Y.astype(np.float64)).cv_results_[..., 0])


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("ridge_loo").parse_args(argv)
    cases = []
    for n, d, c in SIZES["quick" if arguments.quick else "full"]:
        X, Y = problem(n, d, c)
        exact = ridge_leave_one_out(X, Y.astype(np.float64), PENALTY)
        contenders = [
            Local("tagloom", lambda X=X, Y=Y: RegularizedLeastSquares(PENALTY).fit(X, Y).loo_scores_, role="ours"),
            Local("scikit-learn RidgeCV", lambda X=X, Y=Y: scikit_learn(X, Y), role="peer"),
            Local(
                "one refit per row",
                lambda X=X, Y=Y: ridge_leave_one_out(X, Y.astype(np.float64), PENALTY),
                role="literal",
            ),
        ]
        entries = compare(
            contenders,
            accuracy=lambda scores, exact=exact: {"max. error": np.abs(scores - exact).max()},
            threads=arguments.threads,
        )
        cases.append(case(f"{n} rows, {d} columns, {c} tags", {"n": n, "d": d, "c": c}, entries))
    record("ridge_loo", "Ridge: leave-one-out scores", cases, arguments.out, threads=arguments.threads)


if __name__ == "__main__":
    main()
