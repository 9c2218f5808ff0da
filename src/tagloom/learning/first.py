"""Suggestions before any photo is labelled: by the names of tags alone."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import expit

from tagloom.catalog import Result, load_rows, understands_text, wants_group
from tagloom.core import NO_PROGRESS, Bools, Progress, fold_tag, normalize_tag
from tagloom.exceptions import InvalidInputError, StoreError
from tagloom.features.network import EVERYDAY_WORDS
from tagloom.learning.constants import FIRST_SHOWN, LEAST_COUNTED, LEAST_FOUND, MOST_LISTED_BYTES, SAME_PHOTOS
from tagloom.learning.few_labels import NAMES, knows_names_alone
from tagloom.learning.labels import offer_tags, unlabelled
from tagloom.learning.names import CLASSES, Sight, given_by_names
from tagloom.learning.predictions import Predictions
from tagloom.learning.registration import FeaturesUsed
from tagloom.learning.stored_model import ModelHeader, NameModel, save_model
from tagloom.learning.suggest import SCORE
from tagloom.metadata import read_text
from tagloom.settings import Settings
from tagloom.store import ProjectStore

__all__ = ["FirstResult", "FoundTag", "needs_first", "read_vocabulary", "suggest_first"]

NO_CLASSES = (
    f"suggestions by name need the classes that the bundled network sees, the feature group {CLASSES!r}, or an encoder "
    "with a [text] section; leave --groups and --encoder out, or label some photos first: tagloom review"
)


@dataclass(frozen=True, slots=True)
class FoundTag(Result):
    """A tag, and about how many photos show it.

    Parameters
    ----------
    tag : str
        Its text.
    n_photos : int
        Photos that may have it, each counted by its probability.
    n_shown : int
        Photos for which it is suggested.
    """

    tag: str
    n_photos: int
    n_shown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstResult(Result):
    """What the names of tags say of a project's photos.

    Parameters
    ----------
    model : int
        The model's id; it is the active one.
    n_photos : int
        Photos with features.
    source : {"vocabulary", "tags", "everyday"}
        Where the tags come from: a list that was given, the tags of the project, or tagloom's everyday words.
    tags : tuple of FoundTag
        The tags, that of the most photos first.
    unknown : tuple of str
        Tags whose names say nothing; they are suggested once they have examples.
    seconds : float
        Wall time.
    """

    model: int
    n_photos: int
    source: str
    tags: tuple[FoundTag, ...]
    unknown: tuple[str, ...]
    seconds: float


def read_vocabulary(path: str | os.PathLike[str]) -> list[str]:
    """Return the tags of a text file: one a line, empty lines and those that begin with ``#`` left out.

    Parameters
    ----------
    path : path
        The file.

    Raises
    ------
    InvalidInputError
        If it names no tag.
    """
    text = read_text(Path(path), limit=MOST_LISTED_BYTES, expected="a list of tags, one a line")
    lines = (line.strip() for line in text.splitlines())
    tags = [normalize_tag(line) for line in lines if line and not line.startswith("#")]
    found = {fold_tag(tag): tag for tag in tags}
    if not found:
        raise InvalidInputError(f"{os.fspath(path)!r} names no tag; write one on each line")
    return list(found.values())


def needs_first(store: ProjectStore) -> bool:
    """Tell whether a project has nothing to suggest by yet but the names of tags.

    Parameters
    ----------
    store : ProjectStore
        The project.
    """
    is_first = store.models.active() is None or knows_names_alone(store)
    return is_first and not len(store.decisions.current().photo_ids)


def suggest_first(
    store: ProjectStore,
    settings: Settings,
    vocabulary: Sequence[str] | None = None,
    *,
    compute: bool = True,
    progress: Progress = NO_PROGRESS,
) -> FirstResult:
    """Suggest tags by their names alone, until something is labelled and learnt from.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken.
    settings : Settings
        Features.
    vocabulary : sequence of str, optional
        The tags. Default: those of the project, or else everyday words that are found in the photos.
    compute : bool, default=True
        Whether to compute features that are missing.
    progress : Progress, optional
        Told about every photo that has to be read.

    Raises
    ------
    StoreError
        If a model was trained already, or if no name can be compared with the features.
    """
    begin = time.perf_counter()
    if not needs_first(store):
        raise StoreError("this project has labels or a model already, which know more than names; run: tagloom train")
    if not understands_text(settings) and not wants_group(settings, CLASSES):
        raise StoreError(NO_CLASSES)
    with store.lock(), store.cache() as cache:
        rows = load_rows(store, cache, settings, compute=compute, progress=progress)
        sight = Sight.of(rows)
        if sight is None:
            raise StoreError(NO_CLASSES)
        source, texts = _tags(store, vocabulary, sight)
        tag_ids = np.asarray(store.tags.add(texts), dtype=np.int64)
        tag_ids = tag_ids[np.sort(np.unique(tag_ids, return_index=True)[1])]
        offer_tags(store, tag_ids, to_train=source == "vocabulary")
        labels = unlabelled(store, rows.ids, tag_ids)
        log_odds = given_by_names(sight, labels.names)
        if log_odds is None:
            raise StoreError(_nothing_found(source))
        likely = expit(np.nan_to_num(log_odds, nan=-np.inf)).astype(np.float32)
        thresholds = np.full(len(tag_ids), FIRST_SHOWN)
        header = ModelHeader.of(NAMES, SCORE, labels, rows.groups, None)
        model = save_model(
            store,
            NameModel(header),
            Predictions(rows.ids, tag_ids, likely, thresholds, SCORE),
            labels,
            FeaturesUsed.of(rows),
            settings,
            verb="suggest",
        )
    found = [
        FoundTag(text, round(float(column[column >= LEAST_COUNTED].sum())), int((column > FIRST_SHOWN).sum()))
        for text, column in zip(labels.tags, likely.T, strict=True)
    ]
    says_nothing: list[bool] = np.asarray(np.isnan(log_odds).all(axis=0)).tolist()
    return FirstResult(
        model=model,
        n_photos=len(rows.ids),
        source=source,
        tags=tuple(sorted(found, key=lambda one: (-one.n_photos, one.tag))),
        unknown=tuple(text for text, silent in zip(labels.tags, says_nothing, strict=True) if silent),
        seconds=time.perf_counter() - begin,
    )


def _tags(store: ProjectStore, vocabulary: Sequence[str] | None, sight: Sight) -> tuple[str, list[str]]:
    """Return where tags come from, and their texts."""
    if vocabulary is not None:
        return "vocabulary", list(vocabulary)
    own = [tag.text for tag in store.tags.in_use()]
    if own and sight.known(own).any():
        return "tags", own
    found = everyday_words(sight)
    if not found:
        raise StoreError(_nothing_found("everyday"))
    return "everyday", found


def everyday_words(sight: Sight, words: Sequence[str] = EVERYDAY_WORDS) -> list[str]:
    """Return the words that enough photos show, or one shows clearly, that of the most photos first.

    Of two words for the same photos one is returned.

    Parameters
    ----------
    sight : Sight
        What is seen in the photos.
    words : sequence of str
        To choose from.
    """
    likely = expit(np.nan_to_num(sight.log_odds(words), nan=-np.inf))
    has = likely >= 0.5
    order = np.argsort(-np.where(has, likely, 0.0).sum(axis=0), kind="stable")
    kept: list[int] = []
    enough = (has.sum(axis=0) >= LEAST_FOUND) | (likely > FIRST_SHOWN).any(axis=0)
    for word in order[enough[order]]:
        if not any(_same(has[:, word], has[:, other]) for other in kept):
            kept.append(int(word))
    return [words[word] for word in kept]


def _same(one: Bools, other: Bools) -> bool:
    both = int((one & other).sum())
    return both > SAME_PHOTOS * min(int(one.sum()), int(other.sum()))


def _nothing_found(source: str) -> str:
    if source == "everyday":
        return (
            "no everyday word stands out in these photos; name the tags you want in a text file, one a line: "
            "tagloom suggest --vocabulary FILE, or label some photos: tagloom review"
        )
    return "tagloom knows none of these names (it knows English nouns); label some photos: tagloom review"
