"""Phrases that tagloom avoids in everything a person reads, each with a plainer way to say it.

Usage: ``python tools/phrases.py [FILE …]`` names the ones it finds (default: README, CONTRIBUTING, CHANGELOG and docs).
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: {pattern: what to write}
AVOIDED = {
    r"of which": "whose, or two sentences",
    r"thereby|anew|formerly|henceforth|wherein": "leave it out, or say: again",
    r"(?:is|are|was|were|be|been|being) told": "say who knows what",
    r"(?:say|says|said|speak|speaks|spoke|spoken) of": "labelled, about, names",
    r"(?:nothing|what|something) (?:is|was|has been) said": "labelled, unlabelled, your labels",
    r"(?:nobody|nobody has|somebody|somebody has|a person) (?:said|says)": "undecided, labelled",
    r"that which": "what",
    r"so that": "so, to",
    r"as far as nothing else is known": "leave it out",
    r"no(?:es\b)": "rejected",
    r"of which nothing|nothing stands": "unlabelled",
    r"numbers of (?:photos|suggestions|decided)": "probabilities, scores",
    r"nine of ten cases|in nine of ten": "90 % precision",
    r"named,? (?:not|rather than) judged": "positive-only",
    r"ha(?:s|ve) it not|have them not": "does not have it",
    r"left-out": "leave-one-out, skipped",
    r"(?:learn|learns|learnt|learned|solve|solves|solved) again": "train, update",
    r"no photo is like that": "No photos match.",
    r"asked / holds": "leave it out",
    r"(?:once|measured|tried|found|looked at|seen),? by hand|\(by hand|measured once": "leave it out: describe what is",
    r"times run|(?:was|were) tried": "leave it out: describe what is",
    r"(?:was|were) (?:first |once |then )?run (?:again|nine|twice|three|once)": "leave it out: describe what is",
}
PATTERN = re.compile(rf"(?<![\w-])(?:{'|'.join(AVOIDED)})(?![\w-])", re.IGNORECASE)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def avoided(text: str) -> list[str]:
    """Return the avoided phrases in a text, as they stand there."""
    return PATTERN.findall(" ".join(text.split()))


def prose(page: str) -> str:
    """Return a Markdown page without its code."""
    return CODE.sub(lambda code: "\n" * code.group().count("\n") or " ", page)


def pages() -> list[Path]:
    """Return the pages that people read."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def main() -> None:
    """Print each phrase with its page; exit code 1 if there is any."""
    n_found = 0
    for path in [Path(name) for name in sys.argv[1:]] or pages():
        for number, line in enumerate(prose(path.read_text(encoding="utf-8")).split("\n"), start=1):
            for phrase in avoided(line):
                n_found += 1
                print(f"{path}:{number}: {phrase}: {line.strip()[:100]}")
    sys.exit(n_found > 0)


if __name__ == "__main__":
    main()
