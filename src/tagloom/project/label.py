"""The verb behind ``tagloom label``: a person says which tags photos have. One short transaction, nothing heavy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tagloom.catalog import PhotoName, Result, find_photo_ids, find_tag_ids
from tagloom.core import Keyword, fold_tag, similar_tags
from tagloom.exceptions import InvalidInputError, SimilarTagError
from tagloom.project.tag_hints import tag_hints
from tagloom.store import ProjectStore

if TYPE_CHECKING:
    from tagloom.store import Batch, Origin

__all__ = ["LabelResult", "label", "label_pairs", "respelled"]

_N_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelResult(Result):
    """What was decided.

    Parameters
    ----------
    batch : Batch or None
        What `tagloom undo` takes back; None if nothing changed.
    n_photos : int
        Photos that were named.
    n_decisions : int
        Pairs of photo and tag that were decided anew.
    created : tuple of str
        Tags that did not exist before.
    respelled : tuple of (str, str)
        Tags that exist in another spelling, which was used: the name given, the tag's own.
    hints : tuple of str
        New tags that look like a list, or like one another, with the command that mends it.
    """

    batch: "Batch | None"
    n_photos: int
    n_decisions: int
    created: tuple[str, ...] = ()
    respelled: tuple[tuple[str, str], ...] = ()
    hints: tuple[str, ...] = ()


def label(
    store: ProjectStore,
    photos: PhotoName | Sequence[PhotoName],
    *,
    add: str | Sequence[str] = (),
    remove: str | Sequence[str] = (),
    clear: str | Sequence[str] = (),
    who: str = "",
    origin: "Origin" = "human",
    create: bool = True,
    allow_similar: bool = True,
    base: Any = None,
) -> LabelResult:
    """Decide tags of photos: all of it, or, if anything is wrong, nothing.

    Parameters
    ----------
    store : ProjectStore
        The project.
    photos : one or several of int, str, bytes or path
        See `tagloom.catalog.lookup.find_photo_ids`.
    add, remove, clear : str or sequence of str
        Tags that the photos have, have not, and of which what was said is taken back.
    who : str
        For the history.
    origin : {"human", "suggested"}, default="human"
        "suggested" is a suggestion that a person accepted or refused.
    create : bool, default=True
        Whether tags of ``add`` that do not exist are made; otherwise they are an error.
    allow_similar : bool, default=True
        Whether a tag may be made, without a hint, that is spelled much like an existing one (``zebr`` beside ``zebra``)
        or looks like a list.
    base : path, optional
        A folder that relative paths may start from.

    Raises
    ------
    InvalidInputError
        If a photo or tag is not known, or a tag is to be both there and not there.
    SimilarTagError
        If a new tag resembles an existing one, and that is not allowed.
    """
    wanted = {1: _texts(add), 0: _texts(remove), -1: _texts(clear)}
    if not any(wanted.values()):
        raise InvalidInputError("expected tags to add, remove or clear, got none; nothing was changed")
    with store.transaction():
        ids = find_photo_ids(store, photos, base=base)
        created = tuple(text for text, tag in zip(wanted[1], store.tags.numbers(wanted[1]), strict=True) if tag == 0)
        if wanted[1] and not create:
            find_tag_ids(store, wanted[1], in_use=True)
        if created and not allow_similar:
            _check_unlike(store, created)
        tags = {
            state: store.tags.numbers(texts, make=True) if state == 1 else find_tag_ids(store, texts)
            for state, texts in wanted.items()
            if texts
        }
        tag_ids, states = _columns(tags)
        batch = store.decisions.decide(
            [photo for photo in ids for _ in tag_ids],
            tag_ids * len(ids),
            states * len(ids),
            origin=origin,
            who=who,
            label=_summary(wanted, len(ids)),
            skip_same=True,
        )
    found = None if batch is None else store.decisions.batch(batch)
    return LabelResult(
        batch=found,
        n_photos=len(ids),
        n_decisions=found.n if found else 0,
        created=created,
        respelled=respelled(store, [text for texts in wanted.values() for text in texts]),
        hints=() if allow_similar else tag_hints(store, created),
    )


def label_pairs(
    store: ProjectStore,
    photo_ids: Sequence[int],
    tag_ids: Sequence[int],
    state: int,
    *,
    who: str = "",
    origin: "Origin" = "human",
) -> LabelResult:
    """Decide one tag of each photo, another one of each perhaps, as one action.

    Parameters
    ----------
    store : ProjectStore
        The project.
    photo_ids, tag_ids : sequence of int
        Side by side, equally long.
    state : {1, 0, -1}
        The photos have these tags, have them not, or what was said is taken back.
    who, origin : str
        As of `label`.

    Raises
    ------
    InvalidInputError
        If there are not as many tags as photos, or one of them does not exist.
    """
    if len(photo_ids) != len(tag_ids):
        raise InvalidInputError(f"expected a tag for each of {len(photo_ids)} photos, got {len(tag_ids)}")
    n_photos = len(set(photo_ids))
    said = {state: store.tags.texts(list(dict.fromkeys(tag_ids)))}
    batch = store.decisions.decide(
        photo_ids, tag_ids, [state], origin=origin, who=who, label=_summary(said, n_photos), skip_same=True
    )
    found = None if batch is None else store.decisions.batch(batch)
    return LabelResult(batch=found, n_photos=n_photos, n_decisions=found.n if found else 0)


def respelled(store: ProjectStore, texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the names that are spelled otherwise than the tag they mean, each with the tag's own text."""
    names = [Keyword.parse(text).text for text in texts]
    own = store.tags.texts(store.tags.numbers(names))
    pairs = zip(names, own, strict=True)
    return tuple((name, text) for name, text in pairs if name != text and fold_tag(name) == fold_tag(text))


def _check_unlike(store: ProjectStore, created: Sequence[str]) -> None:
    known = [tag.text for tag in store.tags.in_use()]
    for text in created:
        similar = similar_tags(text, known)
        if similar:
            raise SimilarTagError(text, similar)


def _texts(tags: str | Sequence[str]) -> list[str]:
    return list(dict.fromkeys([tags] if isinstance(tags, str) else tags))


def _columns(tags: dict[int, list[int]]) -> tuple[list[int], list[int]]:
    """Return tag ids and their states side by side, each tag once."""
    said: dict[int, int] = {}
    for state, ids in tags.items():
        for tag in ids:
            if said.setdefault(tag, state) != state:
                raise InvalidInputError(
                    "one tag is named twice, to add, remove or clear it (perhaps by an alias); nothing was changed"
                )
    return list(said), list(said.values())


def _summary(wanted: dict[int, list[str]], n_photos: int) -> str:
    signs = {1: "+", 0: "-", -1: "?"}
    tags = [f"{signs[state]}{text}" for state, texts in wanted.items() for text in texts]
    more = " …" if len(tags) > _N_SHOWN else ""
    return f"label {n_photos} photo{'s' if n_photos != 1 else ''}: {' '.join(tags[:_N_SHOWN])}{more}"
