"""Which keywords tagloom wrote to files because they were above the threshold, and not because a person said so.

A run of kind "write" notes them in its settings before the first file is touched, so that the note is there whatever
happens to the run. It notes the content of those photos as well: files are copied, sidecars along with them, and what a
copy has of it nobody has said either.
"""

from dataclasses import dataclass

from tagloom.store.project import ProjectStore

__all__ = ["WRITE", "WrittenSuggestions", "suggestions_written"]

WRITE = "write"
_ALL = 1_000_000


def suggestions_written(store: ProjectStore) -> dict[int, set[str]]:
    """Return for each photo the keywords (as text) that were written as suggestions, in all writes so far."""
    return WrittenSuggestions.read(store).by_photo


@dataclass(frozen=True, slots=True)
class WrittenSuggestions:
    """Keywords (as text) that were written as suggestions, in all writes so far.

    Parameters
    ----------
    by_photo : dict of int to set of str
        By the photos they were written for.
    by_content : dict of str to set of str
        By contents that those photos have or had, hexadecimal. Contents of sidecars would not do: those of a keyword
        that was accepted and of one that was suggested are the same.
    """

    by_photo: dict[int, set[str]]
    by_content: dict[str, set[str]]

    @classmethod
    def read(cls, store: ProjectStore) -> "WrittenSuggestions":
        """Return what all writes of a project have noted."""
        by_photo: dict[int, set[str]] = {}
        by_content: dict[str, set[str]] = {}
        for run in store.runs.all(WRITE, limit=_ALL):
            contents = run.settings.get("contents", {})
            for photo, texts in run.settings.get("suggested", {}).items():
                by_photo.setdefault(int(photo), set()).update(texts)
                by_content.setdefault(contents.get(photo, ""), set()).update(texts)
        if by_photo:
            table = store.photos.table(sorted(by_photo))
            known = list(zip(table.ids.tolist(), table.hashes, strict=True))
            photos = [item for item in store.writes.entries() if not item.path.lower().endswith(b".xmp")]
            known += [(item.photo, item.after) for item in photos if item.photo in by_photo]
            for photo, content in known:
                by_content.setdefault(content, set()).update(by_photo[photo])
        by_content.pop("", None)  # no content: the photo could not be read
        return cls(by_photo, by_content)

    def of(self, photo: int, content: str) -> set[str]:
        """Return the suggestions written for a photo, or for one that it is a copy of.

        Parameters
        ----------
        photo : int
            Its id.
        content : str
            The hash of its content; empty where it could not be read.
        """
        return self.by_photo.get(photo, set()) | self.by_content.get(content, set())
