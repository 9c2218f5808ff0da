"""What a person, or a script, gets at the end of a run."""

from collections.abc import Sequence
from typing import Any

from tagloom.catalog import plain
from tagloom.cli.console import print_json, print_line, print_table
from tagloom.cli.shared import print_some
from tagloom.core import UNKNOWN, similar_pairs, split_tag
from tagloom.jobs import AnnotateResult, ExtractResult
from tagloom.learning import PROBABILITY, Comparison
from tagloom.metadata import name_to_text

__all__ = ["print_comparison", "print_extraction", "print_summary", "show_result", "summary_as_dict"]

N_NAMED = 5


def show_result(result: AnnotateResult, as_json: bool) -> None:
    """Print what an annotation did: tables, or one JSON document."""
    if as_json:
        print_json(summary_as_dict(result))
    else:
        print_summary(result)


def summary_as_dict(result: AnnotateResult) -> dict[str, Any]:
    """Return the counts and files of an annotation as JSON can hold them; keywords and scores are in the files."""
    comparison = result.comparison
    return {
        "n_photos": len(result.photos),
        "n_decoded": result.counts.n_decoded,
        "n_labeled": result.n_labeled,
        "n_with_suggestions": _n_with_suggestions(result),
        "tags": list(result.tags.names),
        "method": result.method,
        "kind": result.kind,
        "why_scores": result.why_scores,
        "failed": [
            {"photo": plain(record.path), "verdict": str(record.verdict), "detail": record.detail}
            for record in result.failed
        ],
        "respelled": [list(pair) for pair in result.labels.respelled],
        "unmatched": [{"line": item.line, "name": item.name} for item in result.labels.unmatched],
        "comparison": None
        if comparison is None
        else {
            "mean_average_precision": dict(comparison.rows),
            "n_photos": comparison.n_photos,
            "n_tags": comparison.n_tags,
        },
        "evaluation": plain(result.evaluation),
        "seconds": result.seconds,
        "files": plain(result.files),
    }


def print_summary(result: AnnotateResult) -> None:
    """Print counts, files that could not be read, the comparison if there is one, and where the results are."""
    counts, seconds = result.counts, result.seconds
    n_photos = len(result.photos)
    rows = [
        ("photos read", f"{n_photos}"),
        ("of these decoded now", f"{counts.n_decoded}"),
        ("labelled", f"{result.n_labeled}"),
        ("tags", f"{len(result.tags)}"),
        ("photos with suggestions", f"{_n_with_suggestions(result)}"),
        ("files that could not be read", f"{len(result.failed)}"),
        ("method", result.method),
        ("suggestions carry", "probabilities" if result.kind == PROBABILITY else "scores"),
        ("reading and features", _duration(seconds["features"], counts.n_decoded)),
        ("learning", f"{seconds['learning']:.1f} s"),
    ]
    print_table("Summary", ("", ""), rows)
    if result.why_scores:
        print_line(
            f"Suggestions carry scores, which only rank photos: {result.why_scores}. No tag is marked as suggested."
        )
    _print_problems(result)
    if result.comparison is not None:
        print_comparison(result.comparison)
    if result.why_not_compared:
        print_line(result.why_not_compared)
    if result.evaluation is not None:
        for over, figure, low, high in result.evaluation.mean_figures():
            told = f"mean average precision on held-out labels{over and ', '}{over}"
            print_line(f"{told}: {figure:.3f} ({low:.3f} to {high:.3f})")
    if result.why_not_evaluated:
        print_line(result.why_not_evaluated)
    print_line(f"keywords: {result.files['keywords']}")
    print_line(f"report:   {result.files['report']}")


def print_extraction(result: ExtractResult) -> None:
    """Print counts, the groups and where the features are."""
    n_failed = sum(result.verdicts.values())
    rows = [
        ("photos read", f"{result.n_rows}"),
        ("of these decoded now", f"{result.counts.n_decoded}"),
        ("files that could not be read", f"{n_failed}"),
        ("time", _duration(result.seconds, result.counts.n_decoded)),
        *(
            (f"group {name}", f"{size} columns")
            for name, size in zip(result.groups.names, result.groups.sizes, strict=True)
        ),
    ]
    print_table("Summary", ("", ""), rows)
    for record in result.examples[:N_NAMED]:
        print_line(f"not read: {name_to_text(record.path)} ({record.verdict}: {record.detail})")
    if n_failed > N_NAMED:
        print_line(f"… and {n_failed - N_NAMED} more; photos.csv lists all of them")
    print_line(f"features: {result.files['features']}")


def print_comparison(comparison: Comparison) -> None:
    """Print the mean average precision of each method against the truth."""
    rows = [(name, f"{value:.3f}") for name, value in comparison.rows]
    print_table(
        f"Mean average precision over {comparison.n_tags} tags on {comparison.n_photos} photos that were not labelled",
        ("method", "MAP"),
        rows,
    )


def _n_with_suggestions(result: AnnotateResult) -> int:
    return int(((result.Y == UNKNOWN) & (result.scores >= result.least)).any(axis=1).sum())


def _duration(seconds: float, n_decoded: int) -> str:
    each = f" ({1000 * seconds / n_decoded:.0f} ms a photo)" if n_decoded else ""
    return f"{seconds:.1f} s{each}"


def _print_problems(result: AnnotateResult) -> None:
    for record in result.failed[:N_NAMED]:
        print_line(f"not read: {name_to_text(record.path)} ({record.verdict}: {record.detail})")
    if len(result.failed) > N_NAMED:
        print_line(f"… and {len(result.failed) - N_NAMED} more; report.html lists all of them")
    print_some(
        [f'labels file: "{given}" is the tag "{tag}"' for given, tag in result.labels.respelled],
        verbose=False,
        more="spellings",
    )
    print_some(_tag_doubts(result.tags.names), verbose=False, more="tags to look at")
    unmatched = result.labels.unmatched
    for item in unmatched[:N_NAMED]:
        print_line(f"labels file, line {item.line}: no photo {item.name!r} in the folder")
    if len(unmatched) > N_NAMED:
        print_line(f"… and {len(unmatched) - N_NAMED} more names without a photo")


def _tag_doubts(names: Sequence[str]) -> list[str]:
    """Return a line for each tag of the labels file that may be a typing error or a list."""
    pairs = {tuple(sorted((name, similar[0]))) for name, similar in similar_pairs(names, names).items()}
    lines = [f"labels file: are {one!r} and {other!r} one tag?" for one, other in sorted(pairs)]
    lists = [name for name in names if split_tag(name)]
    return lines + [
        f'labels file: {name!r} looks like several tags; to split them add --separator ","' for name in lists
    ]
