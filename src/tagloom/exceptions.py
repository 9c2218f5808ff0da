"""Every error a user of tagloom can meet, as one tree.

::

    TagloomError
    ├── InvalidInputError (also ValueError)   arrays, parameters, vocabularies
    │   ├── InvalidLabelsError                a label matrix that is not (n, c) in {1, 0, -1}
    │   ├── NothingToScoreError               a metric or a fold with no known entry left
    │   ├── NotPositiveDefiniteError          a linear system that conjugate gradients cannot solve
    │   └── SimilarTagError                   a new tag that may be a typing error of an existing one
    ├── LabelsFileError (also ValueError)     a labels file that cannot be read as such
    ├── MetadataError (also ValueError)       keywords in a photo or sidecar cannot be understood or changed
    │   └── ChangedMeanwhileError             another program has changed the file since
    ├── PhotosError                           the photo folder is missing, empty or unreadable
    ├── ModelError                            a network's weights or description cannot be used
    ├── EngineError                           workers in other processes or on other machines cannot be used
    ├── RemoteError                           a project on a server cannot be reached, or refuses
    ├── SettingsError (also ValueError)       tagloom.toml, an environment variable or a flag
    ├── StoreError                            what tagloom keeps on disk
    │   ├── NewerFormatError                  written by a newer tagloom
    │   ├── DamagedStoreError                 counts or checksums do not agree
    │   └── StoreBusyError                    another tagloom process is at work there
    └── WriteError (also OSError)             a file could not be written (disk full, read-only …)

A message says what was expected, what came, and what to do. The command line prints that one line; ``--debug``
shows the traceback. ``ConvergenceWarning`` is scikit-learn's own, so that existing filters keep working;
``ApproximationWarning`` says that a method chose an approximation by itself.
"""

from collections.abc import Sequence

__all__ = [
    "ApproximationWarning",
    "ChangedMeanwhileError",
    "DamagedStoreError",
    "EngineError",
    "InvalidInputError",
    "InvalidLabelsError",
    "LabelsFileError",
    "MetadataError",
    "ModelError",
    "NewerFormatError",
    "NotPositiveDefiniteError",
    "NothingToScoreError",
    "PhotosError",
    "RemoteError",
    "SettingsError",
    "SimilarTagError",
    "StoreBusyError",
    "StoreError",
    "TagloomError",
    "WriteError",
]


class TagloomError(Exception):
    """Base of all errors that tagloom raises on purpose."""


class InvalidInputError(TagloomError, ValueError):
    """An argument is not what the function can work with."""


class InvalidLabelsError(InvalidInputError):
    """A label matrix is not two-dimensional with entries 1, 0 and -1."""


class NothingToScoreError(InvalidInputError):
    """No known entry is left to score or to split."""


class ApproximationWarning(UserWarning):
    """A method replaced an exact computation by an approximation because memory would not hold it."""


class NotPositiveDefiniteError(InvalidInputError):
    """A matrix that has to be symmetric positive definite is not; the message names the column or the row."""


class SimilarTagError(InvalidInputError):
    """A new tag is spelled much like one that exists; ``tag`` is the new one, ``similar`` are those there are."""

    def __init__(self, tag: str, similar: Sequence[str]) -> None:
        self.tag, self.similar = tag, tuple(similar)
        super().__init__(
            f"there is no tag {tag!r} yet; did you mean {similar[0]!r}? Nothing was changed. Name that tag, or add "
            f"--new (in Python: allow_similar=True) to make a new one"
        )


class LabelsFileError(TagloomError, ValueError):
    """A labels file cannot be understood; the message names file, line and remedy."""


class MetadataError(TagloomError, ValueError):
    """The metadata of a photo or a sidecar cannot be understood, or not changed as asked; nothing was written."""


class ChangedMeanwhileError(MetadataError):
    """A file is not what it was when it was looked at: another program has changed it."""


class PhotosError(TagloomError):
    """The photo folder is missing, empty or unreadable."""


class ModelError(TagloomError):
    """A network's weights or description cannot be used."""


class EngineError(TagloomError):
    """Work cannot be spread: the scheduler is not there, a package is missing, or workers die of it."""


class RemoteError(TagloomError):
    """A project on a server cannot be reached, or the server refuses; ``status`` is that of HTTP, 0 for none."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class SettingsError(TagloomError, ValueError):
    """A setting has a value that tagloom does not know; the message says where it was set."""


class StoreError(TagloomError):
    """What tagloom keeps on disk cannot be used as asked."""


class NewerFormatError(StoreError):
    """The folder was written by a newer tagloom."""


class DamagedStoreError(StoreError):
    """Counts or checksums of stored features do not agree with the files."""


class StoreBusyError(StoreError):
    """Another tagloom process holds the lock of this folder."""


class WriteError(TagloomError, OSError):
    """A file could not be written; nothing that was there before is lost."""
