"""Where in a video a tag is: the active model's scores of its key frames, each with the sound around it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog import load_frames, load_rows
from tagloom.core import limit_libraries
from tagloom.exceptions import StoreError
from tagloom.features.clips import CLIP_KEY, ClipFacts
from tagloom.learning.stored_model import load_model
from tagloom.settings import Settings
from tagloom.store import ProjectStore

__all__ = ["Moments", "clip_facts", "moments"]


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Scores of the key frames of a video.

    Parameters
    ----------
    times : tuple of float
        When they are, in seconds.
    tag_ids : ndarray of int64, shape (c,)
        The tags that the model knows.
    scores : ndarray of float32, shape (k, c)
        Of each key frame for each tag, on the scale of the suggestions.
    """

    times: tuple[float, ...]
    tag_ids: NDArray[np.int64]
    scores: NDArray[np.float32]

    def best(self, tag_id: int) -> float | None:
        """Return the time at which a tag is likeliest; None where the model does not know the tag.

        Parameters
        ----------
        tag_id : int
            The tag.
        """
        (found,) = np.nonzero(self.tag_ids == tag_id)
        return self.times[int(self.scores[:, found[0]].argmax())] if len(found) else None


def moments(store: ProjectStore, settings: Settings, content_hash: str) -> Moments:
    """Score the key frames of a video.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken while features are read. The video is not.
    settings : Settings
        Features, threads.
    content_hash : str
        Of the video.

    Raises
    ------
    StoreError
        If there is no model, if it cannot score what it was not trained on, or if the key frames have no features.
    """
    active = store.models.active()
    if active is None:
        raise StoreError("there is no model yet; train one first: tagloom train")
    with store.lock():
        model = load_model(store, active, n_threads=settings.n_threads)
        facts = clip_facts(store, [content_hash]).get(content_hash)
        if facts is None or not facts.times:
            raise StoreError("this video has no key frames yet; run: tagloom scan")
        with store.cache() as cache:
            frames = load_frames(store, cache, settings, content_hash, len(facts.times))
            if tuple(frames.groups.names) != tuple(model.header.group_names):
                raise StoreError("the model was trained on other features; run: tagloom train")
            with limit_libraries(settings.n_threads):
                scores = model.score(
                    frames, lambda ids: load_rows(store, cache, settings, photo_ids=ids, compute=False)
                )
    if scores is None:
        raise StoreError(f"a model of {model.header.method} scores no key frames")
    return Moments(facts.times, np.asarray(model.header.tags, dtype=np.int64), scores)


def clip_facts(store: ProjectStore, hashes: Sequence[str]) -> dict[str, ClipFacts]:
    """Return what is known of videos by their content.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken.
    hashes : sequence of str
        Contents; photos, and videos without a record, are skipped.
    """
    with store.cache() as cache:
        has = cache.has(CLIP_KEY, hashes)
        known = [item for item, there in zip(hashes, has, strict=True) if there]
        rows = cache.get(CLIP_KEY, known) if known else ()
        return {item: ClipFacts.from_row(row) for item, row in zip(known, rows, strict=True)}
