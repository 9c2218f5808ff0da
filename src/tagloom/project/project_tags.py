"""The verbs behind ``tagloom tags``. Each is a short transaction that undo knows."""

from typing import TYPE_CHECKING

from tagloom.catalog.lookup import find_tag_ids
from tagloom.catalog.verb_log import recorded
from tagloom.core.keywords import Keyword
from tagloom.project.project_base import ProjectBase
from tagloom.project.tag_hints import split_keyword, tag_hints

if TYPE_CHECKING:
    from tagloom.store.tags import Tag

__all__ = ["TagVerbs"]


class TagVerbs(ProjectBase):
    """What a project can do with its tags, named by their text or any other of their names."""

    def tags(self) -> "list[Tag]":
        """Return the tags of which anything stands, with their other names and counts."""
        return self.store.tags.in_use()

    @recorded("rename tag")
    def rename_tag(self, tag: str, new: str, *, who: str = "") -> int:
        """Give a tag another name; the old one leads to it still. Returns the batch."""
        return self.store.tags.rename(self._tag(tag), new, who=who)

    @recorded("merge tags")
    def merge_tags(self, tag: str, into: str, *, who: str = "") -> int:
        """Make one tag another one. Returns the batch."""
        return self.store.tags.merge(self._tag(tag), self._tag(into), who=who)

    @recorded("split tag")
    def split_tag(self, tag: str, separator: str = ",", *, who: str = "") -> int:
        """Replace a tag that lists several by each of them. Returns the batch."""
        parts = split_keyword(Keyword.parse(self.store.tags.texts([self._tag(tag)])[0]), separator)
        return self.store.tags.split(self._tag(tag), [part.text for part in parts], who=who)

    def similar_tags(self) -> tuple[str, ...]:
        """Return a line for each tag that resembles another or looks like a list, with the command that mends it."""
        return tag_hints(self.store, [tag.text for tag in self.store.tags.in_use()])

    @recorded("alias tag")
    def alias_tag(self, alias: str, tag: str, *, who: str = "") -> int | None:
        """Make a text another name of a tag. Returns the batch; None if it is one already."""
        return self.store.tags.alias(alias, self._tag(tag), who=who)

    @recorded("imply tag")
    def imply_tag(self, child: str, parent: str, *, who: str = "") -> int | None:
        """Say that a photo with one tag has another, too. Returns the batch; None if that was said already."""
        return self.store.tags.imply(self._tag(child), self._tag(parent), who=who)

    @recorded("forget implication")
    def forget_implication(self, child: str, parent: str, *, who: str = "") -> int:
        """Take back that one tag implies another. Returns the batch."""
        return self.store.tags.forget_implication(self._tag(child), self._tag(parent), who=who)

    def implications(self) -> list[tuple[str, str]]:
        """Return pairs (child, parent) as they were said."""
        texts = {tag.id: tag.text for tag in self.store.tags.all()}
        return [(texts[child], texts[parent]) for child, parent in self.store.tags.implications().tolist()]

    def _tag(self, text: str) -> int:
        return find_tag_ids(self.store, [text])[0]
