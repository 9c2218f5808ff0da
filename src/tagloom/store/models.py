"""Models and suggestions of a project: array files, registered after they are on stable storage."""

import contextlib
import functools
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tagloom.exceptions import InvalidInputError, StoreError
from tagloom.store.array_files import ArrayFile
from tagloom.store.database import fetch
from tagloom.store.folder import ProjectFolder, is_array_name
from tagloom.store.layout import MODELS, SUGGESTIONS
from tagloom.store.runs import from_json, to_json
from tagloom.store.session import Database, as_ids

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Model", "Models", "StoredSuggestions", "Suggestions"]


@dataclass(frozen=True, slots=True)
class Model:
    """A stored model: its file, and the features, labels and settings that it was trained on."""

    id: int
    run: int | None
    file: ArrayFile
    features: Any
    labels_digest: str
    settings: dict[str, Any]
    created: float
    active: bool


class Models:
    """The models of a project; at most one is active.

    Parameters
    ----------
    database : Database
        The project's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(
        self,
        arrays: "Mapping[str, ArrayLike]",
        info: Mapping[str, Any],
        *,
        features: Any,
        labels_digest: str,
        settings: Mapping[str, Any],
        run: int | None = None,
        activate: bool = True,
        n_kept: int = 8,
    ) -> int:
        """Store a model durably and, by default, swap it in; drop all but the latest ``n_kept`` and the active one.

        Parameters
        ----------
        arrays, info : mapping
            See `tagloom.store.arrays.save_arrays`.
        features, settings : what JSON can hold
            What the model was trained on and how.
        labels_digest : str
            `Decisions.labels_digest` of the labels it was trained on.
        run : int, optional
            The run that made it.
        activate : bool, default=True
            Whether it takes the place of the active one, in the same transaction that registers it.
        n_kept : int, default=8
            How many of the latest are kept; every saved update of a review adds one.

        Returns
        -------
        int
            The model's id.
        """
        from tagloom.store.arrays import write_arrays

        written = write_arrays(self._database.files, MODELS, arrays, info)
        row = (run, written.file, written.n_bytes, written.checksum, to_json(features), labels_digest)
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO models(run, file, n_bytes, checksum, features, labels_digest, settings, created) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, to_json(dict(settings)), time.time()),
            )
            model = connection.last_insert_rowid()
            if activate:
                self.activate(model)
            old = fetch(
                connection,
                "SELECT id, file FROM models WHERE active = 0 AND id NOT IN "
                "(SELECT id FROM models ORDER BY id DESC LIMIT ?)",
                (max(1, n_kept),),
            )
            connection.executemany("DELETE FROM models WHERE id = ?", [(item,) for item, _ in old])
            for _, file in old:
                self._database.later(functools.partial(_remove, self._database.files, MODELS, file))
        return model

    def activate(self, model: int) -> None:
        """Make one model the active one, at once for every process."""
        with self._database.write() as connection:
            connection.execute("UPDATE models SET active = 0 WHERE active = 1 AND id <> ?", (model,))
            connection.execute("UPDATE models SET active = 1 WHERE id = ?", (model,))
            if connection.changes() != 1:
                raise InvalidInputError(f"no model has the id {model}")

    def all(self) -> list[Model]:
        """Return all models, newest first."""
        rows = self._database.read(
            "SELECT id, run, file, n_bytes, checksum, features, labels_digest, settings, created, active FROM models "
            "ORDER BY id DESC"
        )
        return [
            Model(
                row[0],
                row[1],
                ArrayFile(*row[2:5]),
                from_json(row[5], "a model"),
                row[6],
                from_json(row[7], "a model", dict),
                row[8],
                row[9] == 1,
            )
            for row in rows
        ]

    def active(self) -> Model | None:
        """Return the active model, or None."""
        return next((model for model in self.all() if model.active), None)

    def load(self, model: int | None = None) -> "tuple[dict[str, NDArray[Any]], dict[str, Any]]":
        """Return arrays and description of a model, by default of the active one."""
        from tagloom.store.arrays import read_arrays

        found = next((item for item in self.all() if item.id == model or (model is None and item.active)), None)
        if found is None:
            raise StoreError(
                "there is no active model; train one first" if model is None else f"no model has id {model}"
            )
        return read_arrays(self._database.files, MODELS, found.file)


@dataclass(frozen=True, slots=True)
class StoredSuggestions:
    """Scores of a run for photos and tags.

    Parameters
    ----------
    run : int or None
        The run that made them.
    photo_ids, tag_ids : ndarray of int64
        Rows and columns.
    scores : ndarray of float, shape (n, c)
        Probabilities, or scores of any scale (``info`` says which).
    thresholds : ndarray of float, shape (c,), or None
        A tag is suggested above its threshold.
    info : dict
        Whatever the run noted.
    """

    run: int | None
    photo_ids: "NDArray[np.int64]"
    tag_ids: "NDArray[np.int64]"
    scores: "NDArray[Any]"
    thresholds: "NDArray[Any] | None"
    info: dict[str, Any]


class Suggestions:
    """The suggestions of a project: one array file per run, the latest few kept.

    Parameters
    ----------
    database : Database
        The project's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(
        self,
        photo_ids: "ArrayLike",
        tag_ids: "ArrayLike",
        scores: "NDArray[Any]",
        *,
        thresholds: "ArrayLike | None" = None,
        run: int | None = None,
        info: Mapping[str, Any] | None = None,
        n_kept: int = 2,
    ) -> int:
        """Store suggestions durably, drop all but the latest ``n_kept``, and return the id."""
        import numpy as np

        from tagloom.store.arrays import write_arrays

        photos, tags, values = as_ids(photo_ids, "photo_ids"), as_ids(tag_ids, "tag_ids"), np.asarray(scores)
        if values.shape != (len(photos), len(tags)) or values.dtype.kind != "f":
            raise InvalidInputError(
                f"expected floats of shape {(len(photos), len(tags))}, got {values.dtype} of shape {values.shape}"
            )
        arrays: dict[str, ArrayLike] = {"photo_ids": photos, "tag_ids": tags, "scores": values}
        if thresholds is not None:
            arrays["thresholds"] = np.broadcast_to(np.asarray(thresholds, dtype=np.float64), (len(tags),))
        written = write_arrays(self._database.files, SUGGESTIONS, arrays, info or {})
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO suggestions(run, file, n_bytes, checksum, n_photos, n_tags, created) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (run, written.file, written.n_bytes, written.checksum, len(photos), len(tags), time.time()),
            )
            number = connection.last_insert_rowid()
            old = fetch(
                connection, "SELECT id, file FROM suggestions ORDER BY id DESC LIMIT -1 OFFSET ?", (max(1, n_kept),)
            )
            connection.executemany("DELETE FROM suggestions WHERE id = ?", [(item,) for item, _ in old])
            for _, file in old:
                self._database.later(functools.partial(_remove, self._database.files, SUGGESTIONS, file))
        return number

    def latest(self) -> int | None:
        """Return the id of the latest suggestions, or None."""
        return self._database.value("SELECT max(id) FROM suggestions")

    def load(self, number: int | None = None) -> StoredSuggestions | None:
        """Return suggestions by id, by default the latest; None if there are none."""
        from tagloom.store.arrays import read_arrays

        number = self.latest() if number is None else number
        if number is None:
            return None
        rows = self._database.read("SELECT run, file, n_bytes, checksum FROM suggestions WHERE id = ?", (number,))
        if not rows:
            raise InvalidInputError(f"no suggestions have the id {number}; newer ones have taken their place")
        file = ArrayFile(*rows[0][1:])
        arrays, info = read_arrays(self._database.files, SUGGESTIONS, file)
        return StoredSuggestions(
            rows[0][0], arrays["photo_ids"], arrays["tag_ids"], arrays["scores"], arrays.get("thresholds"), info
        )


def _remove(folder: ProjectFolder, place: str, file: str) -> None:
    if is_array_name(file):  # what is stored may be any name; only our own are removed
        with contextlib.suppress(OSError):  # what cannot be removed is an orphan that repair removes
            folder.remove(place, file)
