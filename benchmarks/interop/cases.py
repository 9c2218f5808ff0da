"""Twenty awkward photos, and the edits of a round trip."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, features

Path_ = tuple[str, ...]
Keywords = dict[str, set[Path_]]

_FORMATS = {".jpg": "JPEG", ".png": "PNG", ".tif": "TIFF", ".webp": "WEBP", ".avif": "AVIF"}


@dataclass(frozen=True)
class Case:
    """A photo and its keywords, each a tuple of levels."""

    name: str
    keywords: tuple[Path_, ...]


CASES = (
    Case("plain.jpg", (("dog",),)),
    Case("with  spaces (1).jpg", (("two words",),)),
    Case("Straße 日本.jpg", (("Köln",), ("日本", "京都"))),
    Case("-dash.jpg", (("-dash",),)),
    Case("comma.jpg", (("red, white",), ("a;b",))),
    Case("slash.jpg", (("AC/DC",), ("Music", "AC/DC"))),
    Case("quotes.png", (('"quoted"',), ("it's",))),
    Case("markup.png", (("<b>",), ("R&D",), ("&amp;",))),
    Case("emoji.jpg", (("😀",), ("Family", "👩‍👩‍👧"))),
    Case("limit.jpg", (("x" * 64,), ("y" * 65,))),
    Case("limit-utf8.tif", (("ß" * 40,),)),
    Case("hierarchy.jpg", (("Places", "Italy", "Rome"),)),
    Case("root-is-a-level.jpg", (("Rome",), ("Places", "Italy", "Rome"))),
    Case("same-leaf.jpg", (("Animals", "Bat"), ("Sport", "Bat"))),
    Case("parent.tif", (("Animals",), ("Animals", "Cat"))),
    Case("right-to-left.jpg", (("שלום",), ("عربي", "مصر"))),
    Case("long.webp", (("w" * 500,), ("1", "2", "3", "4", "5", "6", "7", "8"))),
    Case("accents.jpg", (("Cafe\u0301",), ("Ångström",))),
    Case("bar.jpg", (("a|b",),)),
    Case("signs.avif" if features.check("avif") else "signs.png", (("2024",), ("#hash",), ("100%",))),
)


@dataclass(frozen=True)
class Trip:
    """What happens to one photo between a program and tagloom.

    Parameters
    ----------
    name : str
        The photo.
    first : tuple
        Keywords that the program gives it; tagloom reads them.
    added, removed : tuple
        What tagloom adds and rejects before it writes; the program reads that.
    renamed : tuple of two keywords, or empty
        A tag that tagloom renames before it writes.
    later_removed, later_added : tuple
        What the program then takes away and adds; tagloom reads.
    again : tuple
        What tagloom adds at last, so that it has to write the file once more.
    """

    name: str
    first: tuple[Path_, ...]
    added: tuple[Path_, ...] = ()
    removed: tuple[Path_, ...] = ()
    renamed: tuple[Path_, ...] = ()
    later_removed: tuple[Path_, ...] = ()
    later_added: tuple[Path_, ...] = ()
    again: tuple[Path_, ...] = (("again",),)

    @property
    def all(self) -> set[Path_]:
        """Every keyword that the photo ever has."""
        return {*self.first, *self.added, *self.renamed, *self.later_added, *self.again}

    @property
    def middle(self) -> set[Path_]:
        """Keywords after tagloom's edits."""
        found = ({*self.first} | {*self.added}) - {*self.removed}
        return {self.renamed[1] if self.renamed and each == self.renamed[0] else each for each in found}

    @property
    def end(self) -> set[Path_]:
        """Keywords after the program's edits and tagloom's last one."""
        return (self.middle - {*self.later_removed}) | {*self.later_added, *self.again}


TRIPS = (
    Trip("trip addition.jpg", (("kept",),), added=(("new",),), later_added=(("later",),)),
    Trip("trip removal by tagloom.jpg", (("kept-b",), ("goes",)), removed=(("goes",),)),
    Trip(
        "trip removal by the program.jpg", (("kept-c",), ("goes-c",)), added=(("ours",),), later_removed=(("goes-c",),)
    ),
    Trip("trip removal of ours.jpg", (("kept-d",),), added=(("ours-d",),), later_removed=(("ours-d",),)),
    Trip("trip last keyword.jpg", (("only",),), added=(("ours-e",),), later_removed=(("only",), ("ours-e",)), again=()),
    Trip("trip last keyword by tagloom.jpg", (("only-i",),), removed=(("only-i",),), again=()),
    Trip("trip renamed.jpg", (("kept-f",), ("old name",)), renamed=(("old name",), ("new name",))),
    Trip(
        "trip hierarchy.jpg",
        (("World", "Italy", "Rome"), ("World", "France", "Paris")),
        added=(("Animals", "Cat"),),
        later_removed=(("World", "Italy", "Rome"),),
    ),
    Trip(
        "trip root is a level.jpg",
        (("Bern",), ("Land", "Canton", "Bern")),
        added=(("ours-h",),),
        later_removed=(("Land", "Canton", "Bern"),),
    ),
    Trip("trip renamed branch.jpg", (("Kind", "Old"),), renamed=(("Kind", "Old"), ("Kind", "New"))),
    Trip("trip comma, markup.jpg", (("a, b",), ("<i>",)), added=(("Q&A",),), later_removed=(("a, b",),)),
)


def normal(keyword: Iterable[str]) -> Path_:
    """Return a keyword in Unicode's composed form, by which all are compared."""
    return tuple(unicodedata.normalize("NFC", level) for level in keyword)


def make_photos(folder: Path, names: Iterable[str]) -> None:
    """Make small photos that all differ: digiKam takes files of the same content for copies and shares their tags."""
    folder.mkdir(parents=True)
    for number, name in enumerate(names):
        pixels = np.random.default_rng(number).integers(0, 256, size=(48, 64, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / name, _FORMATS[Path(name).suffix])
