"""Writing keywords into photo files, for those who ask for it: exiftool works on a copy, which is checked.

The merged XMP packet is made as for a sidecar and handed to exiftool as one block, so that what other programs wrote in
it stays as it was. A photo that has an IPTC block gets its keywords there too, and one that has none if the user asks;
so does one with the keywords of Windows in its EXIF.
The copy takes the photo's place only if its picture decodes to the same pixels and its keywords read back as they
should; the original is in the journal before. One exiftool works on all photos of a run. Photos whose format is not
written get sidecars.
"""

import contextlib
import errno
import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Self

from tagloom.core import NO_PROGRESS, Keyword, Progress, SidecarName
from tagloom.exceptions import MetadataError, TagloomError, WriteError
from tagloom.images import Refused, read_file
from tagloom.metadata.embedded import EmbeddedBlocks, find_blocks
from tagloom.metadata.file_changes import FileChanges, real_file
from tagloom.metadata.iptc import is_utf8, read_iptc
from tagloom.metadata.kept_process import KeptProcess
from tagloom.metadata.photo_keywords import IPTC, XP_KEYWORDS
from tagloom.metadata.pixel_hash import PixelHasher
from tagloom.metadata.sidecar_plan import FieldChange, SidecarPlan
from tagloom.metadata.sidecars import (
    KeywordChange,
    SidecarWriter,
    WriteOutcome,
    is_disk_full,
    line_of,
    plan_foreign,
)
from tagloom.metadata.xmp_fields import is_programs_own, joined_names
from tagloom.metadata.xmp_read import Stated, read_xmp

__all__ = ["KeywordEmbedder", "find_exiftool"]

LARGEST_PHOTO = 1 << 30
DEADLINE = 120.0
_N_COPIES, _SPARE = 3, 1 << 16  # the photo, its copy, and the one that exiftool writes; new metadata
LONGEST_IPTC_KEYWORD = 64  # bytes, by the standard; exiftool would cut longer ones
LAST_OF_UCS2 = "\uffff"  # exiftool writes no character beyond it into XPKeywords; there ";" separates keywords
_IPTC_KINDS = (".jpg", ".tif")  # where other programs look for IPTC
_STATUS = re.compile(rb"^\{status (\d+)\}$", re.MULTILINE)
_END = b"{ready}"
_KINDS = ((b"\xff\xd8", ".jpg"), (b"\x89PNG\r\n", ".png"), (b"II*\0", ".tif"), (b"MM\0*", ".tif"), (b"RIFF", ".webp"))


def find_exiftool() -> str:
    """Return the path of exiftool.

    Raises
    ------
    MetadataError
        If it is not installed.
    """
    found = shutil.which("exiftool")
    if found is None:
        raise MetadataError(
            "writing keywords into photos needs exiftool, which was not found; install it (Debian and Ubuntu: apt "
            "install libimage-exiftool-perl, macOS: brew install exiftool), or write to sidecars"
        )
    return found


class _NotEmbeddableError(MetadataError):
    """A photo that keywords are not written into; it gets a sidecar."""


@dataclass(frozen=True, slots=True)
class _PhotoPlan:
    """What becomes of a photo's XMP packet, of its IPTC keywords and of those of Windows; None: they stay."""

    xmp: SidecarPlan
    iptc: tuple[Keyword, ...] | None = None
    windows: tuple[str, ...] | None = None

    @property
    def changes(self) -> bool:
        return self.xmp.changes or self.iptc is not None or self.windows is not None

    def note(self) -> str:
        """Return what the journal keeps."""
        iptc = {} if self.iptc is None else {IPTC: _names(self.iptc)}
        return self.xmp.note(iptc | ({} if self.windows is None else {XP_KEYWORDS: self.windows}))


class KeywordEmbedder:
    """Writes keywords into JPEG, PNG, TIFF and WebP files; others get sidecars. A context manager.

    Parameters
    ----------
    changes : FileChanges
        The journal, which keeps each original whole until its entry is forgotten.
    exiftool : str, optional
        The program; looked for where it is not given.
    iptc : bool, default=False
        Write IPTC keywords into JPEG and TIFF files that have none, too.
    names : {"photo.jpg.xmp", "photo.xmp"}, default="photo.jpg.xmp"
        How new sidecars are named, for photos that exiftool does not write.

    Raises
    ------
    MetadataError
        If exiftool is not installed.
    """

    def __init__(
        self,
        changes: FileChanges,
        *,
        exiftool: str | None = None,
        iptc: bool = False,
        names: SidecarName = "photo.jpg.xmp",
    ) -> None:
        self._changes = changes
        self._sidecars = SidecarWriter(changes, names=names)
        self._iptc = iptc
        program = find_exiftool() if exiftool is None else exiftool
        self._exiftool = KeptProcess([program, "-config", "", "-stay_open", "True", "-@", "-"], name="exiftool")
        self._hasher = PixelHasher()
        self._scratch = contextlib.ExitStack()
        self._folder: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End exiftool, and remove the copies that it works on."""
        self._exiftool.close()
        self._hasher.close()
        self._folder = None
        self._scratch.close()

    def plan(self, change: KeywordChange) -> WriteOutcome:
        """Work out what `write` would do, and change nothing.

        Parameters
        ----------
        change : KeywordChange
            What is asked; its ``seen`` is not looked at.
        """
        try:
            plan = _plan(_read(real_file(change.photo)), change, self._iptc)
        except _NotEmbeddableError:
            return self._sidecars.plan(change)
        except TagloomError as error:
            return WriteOutcome(change.photo, change.photo, "failed", problem=line_of(error))
        return WriteOutcome(change.photo, change.photo, "planned" if plan.changes else "unchanged", plan.xmp)

    def write(
        self, changes: Iterable[KeywordChange], *, run: str = "", progress: Progress = NO_PROGRESS
    ) -> Iterator[WriteOutcome]:
        """Write into one photo after the other; a failure concerns its own file only, but for a full disk.

        Parameters
        ----------
        changes : iterable of KeywordChange
            What is asked.
        run : str, default=""
            A name under which the journal keeps them together.
        progress : Progress, default=NO_PROGRESS
            Advanced by each photo.

        Yields
        ------
        WriteOutcome
            When it is on stable storage.

        Raises
        ------
        WriteError
            If the disk is full.
        """
        for change in changes:
            try:
                outcome = self._write(change, run)
            except _NotEmbeddableError:
                (outcome,) = self._sidecars.write([change], run=run)
            except (TagloomError, OSError) as error:
                if is_disk_full(error):
                    raise
                outcome = WriteOutcome(change.photo, change.photo, "failed", problem=line_of(error))
            yield outcome
            progress.advance()

    def _write(self, change: KeywordChange, run: str) -> WriteOutcome:
        photo = real_file(change.photo)
        original = _read(photo)
        plan = _plan(original, change, self._iptc)
        if not plan.changes:
            return WriteOutcome(change.photo, change.photo, "unchanged", plan.xmp)
        try:
            with self._empty_folder() as folder:
                _check_space(folder, len(original))
                after = self._rewritten(folder, original, plan)
        except OSError as error:
            raise WriteError(
                error.errno or 0,
                f"could not copy the photo ({error.strerror or error}), so it is left as it was. "
                f"Free some space and run again",
            ) from error
        entry = self._changes.replace(photo, original, after, kind="photo", run=run, note=plan.note())
        return WriteOutcome(change.photo, change.photo, "written", plan.xmp, entry)

    @contextlib.contextmanager
    def _empty_folder(self) -> Iterator[Path]:
        """Yield the folder that exiftool works in, the same one for all photos, and empty it afterwards."""
        if self._folder is None:
            self._folder = self._scratch.enter_context(self._changes.journal.scratch())
        try:
            yield self._folder
        finally:
            for path in self._folder.iterdir():
                path.unlink()

    def _rewritten(self, folder: Path, original: bytes, planned: _PhotoPlan) -> bytes:
        """Return the photo with its new metadata, checked."""
        plan, iptc, windows = planned.xmp, planned.iptc, planned.windows
        kind = _kind(original)
        # The names that exiftool sees are ours: no leading dash, line end or odd byte of a photo's name reaches it.
        untouched, copy = folder / f"original{kind}", folder / f"copy{kind}"
        untouched.write_bytes(original)
        copy.write_bytes(original)
        arguments = []
        if iptc is not None:
            arguments += _iptc_arguments(find_blocks(BytesIO(original)).iptc, iptc, kind)
        if windows is not None:
            arguments.append(f"-EXIF:XPKeywords={';'.join(windows)}")
        if plan.after is not None and plan.after != plan.before:
            (folder / "packet.xmp").write_bytes(plan.after)
            arguments += ["-XMP<=packet.xmp"]
        before = self._hasher.hashes([untouched])  # first: what cannot be decoded is no matter for exiftool
        self._run([*arguments, "-overwrite_original", copy.name], folder)
        if self._hasher.hashes([copy]) != before:
            raise MetadataError("exiftool's copy does not have the same pixels; the photo is left as it was")
        data = copy.read_bytes()
        blocks = find_blocks(BytesIO(data))
        wrong = blocks.xmp != (plan.after or b"") and read_xmp(blocks.xmp) != read_xmp(plan.after or b"")
        wrong = wrong or (iptc is not None and read_iptc(blocks.iptc) != iptc)
        if wrong or (windows is not None and blocks.xp_keywords != windows):
            raise MetadataError("exiftool's copy does not have the keywords asked for; the photo is left as it was")
        return data

    def _run(self, arguments: list[str], folder: Path) -> None:
        # Told after the work is done: how it ended, by exiftools that know that.
        lines = [*map(_argument_line, arguments), "-echo3", "{status ${status}}", "-execute", ""]
        try:
            said = self._exiftool.ask("\n".join(lines).encode(), _END, folder=folder, deadline=DEADLINE)
        except MetadataError as error:
            raise MetadataError(f"{error}; the photo is left as it was") from error
        status = _STATUS.search(said)
        if b"Error:" in said if status is None else status[1] != b"0":
            problem = " ".join(_STATUS.sub(b"", said).decode(errors="replace").split())[:300]
            raise MetadataError(f"exiftool refused ({problem}); the photo is left as it was")


def _argument_line(argument: str) -> str:
    """Return an argument as a line of exiftool's input, which it would otherwise end at a line end, and trim."""
    if not re.search(r"[\r\n]|\s$", argument):
        return argument
    escaped = argument.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"#[CSTR]{escaped}"


def _check_space(folder: Path, n_bytes: int) -> None:
    """See to it that there is space for what exiftool does: by its own words nobody would know that there is none."""
    if shutil.disk_usage(folder).free < _N_COPIES * n_bytes + _SPARE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _read(photo: bytes) -> bytes:
    try:
        return read_file(photo, longest=LARGEST_PHOTO).data
    except Refused as refused:
        raise MetadataError(f"the photo cannot be read: {refused.detail}") from refused


def _kind(data: bytes) -> str:
    return next((kind for mark, kind in _KINDS if data.startswith(mark)), "")


def _plan(original: bytes, change: KeywordChange, iptc_is_asked: bool) -> _PhotoPlan:
    """Return what becomes of all blocks of a photo."""
    blocks = _checked_blocks(original, change.photo)
    plan, iptc = _plan_iptc(original, blocks, change, iptc_is_asked)
    windows, removed, note = _plan_windows(blocks.xp_keywords, plan, change.remove)
    fields = [_field_change("iptc:Keywords", _names(read_iptc(blocks.iptc)), None if iptc is None else _names(iptc))]
    fields.append(_field_change(XP_KEYWORDS, blocks.xp_keywords, windows))
    plan = replace(
        plan,
        removed=tuple(sorted({*plan.removed, *removed})),
        notes=(*plan.notes, *note),
        fields=(*plan.fields, *(each for each in fields if each.added or each.removed)),
    )
    return _PhotoPlan(plan, iptc, windows)


def _plan_windows(
    items: Sequence[str], plan: SidecarPlan, removing: Iterable[Keyword]
) -> tuple[tuple[str, ...] | None, set[Keyword], list[str]]:
    """Return the new keywords of Windows, keywords that nothing else in the photo had and that go, and notes."""
    if not items:
        return None, set(), []
    now = [keyword for keyword in (*plan.added, *plan.kept) if not is_programs_own(keyword)]
    levels = dict.fromkeys(level for keyword in now for level in keyword.path)
    spoken = {*levels, *(name for keyword in now for name in joined_names(keyword))}
    denied = {name: keyword for keyword in removing for name in joined_names(keyword)}
    gone = {name for keyword in plan.removed for name in (*keyword.path, *joined_names(keyword))} | denied.keys()
    kept = [item for item in items if item in spoken or item not in gone]
    only_there = {denied[item] for item in items if item in denied and item not in kept}
    new = (*kept, *(level for level in levels if plan.added and level not in kept))
    impossible = next((name for name in new if ";" in name or max(name) > LAST_OF_UCS2), None)
    if impossible is not None:
        return (), only_there, [f"exif:XPKeywords is left out of the photo, as it cannot hold {impossible!r}"]
    return None if new == tuple(items) else new, only_there, []


def _field_change(label: str, before: Collection[str], after: Collection[str] | None) -> FieldChange:
    now = before if after is None else after
    added, removed = ([each for each in one if each not in other] for one, other in ((now, before), (before, now)))
    return FieldChange(label, tuple(added), tuple(removed))


def _names(keywords: Iterable[Keyword]) -> list[str]:
    return [keyword.name for keyword in keywords]


def _plan_iptc(
    original: bytes, blocks: EmbeddedBlocks, change: KeywordChange, iptc_is_asked: bool
) -> tuple[SidecarPlan, tuple[Keyword, ...] | None]:
    """Return what becomes of the XMP packet, and the keywords for the IPTC block (None: that stays as it is)."""
    packet = blocks.xmp or None
    known = change.memory_of(change.photo, original)
    brought = known.own
    plan = plan_foreign(packet, change.add, change.remove, known, change.again)
    is_asked = iptc_is_asked and _kind(original) in _IPTC_KINDS
    if not blocks.iptc and not is_asked:
        return plan, None
    old = read_iptc(blocks.iptc)
    needed = _levels((*plan.added, *plan.kept))
    # As in XMP: the levels of a keyword go along with it, and nothing goes because of one that is not there.
    removed = {*plan.removed, *(keyword for keyword in change.remove if keyword in old)}
    gone = (_levels(removed) | {Keyword.flat(name) for name in brought.flat}) - needed
    only_there = tuple(keyword for keyword in old if keyword in gone)
    if not plan.changes and not only_there and not is_asked:
        return plan, None
    # Programs believe one of the two blocks, so that after a change both have to say the same.
    own = {keyword for keyword in (*plan.kept, *old) if is_programs_own(keyword)}
    theirs = (set(old) - gone) & (own | _levels(own))  # of use to that program alone: it stays where it is
    spoken = {name for keyword in (*plan.added, *plan.kept) for name in (*keyword.path, *joined_names(keyword))}
    more = {keyword for keyword in old if keyword.name not in spoken}  # a name that repeats a level is no keyword
    add = {*change.add, *more} - gone - set(change.remove) - theirs
    again = plan_foreign(packet, add, change.remove, known, change.again)
    plan = replace(again, own=_without(plan.own, old, brought))
    levels = _levels({*plan.added, *plan.kept} - own) | theirs
    iptc = tuple(sorted(each for each in levels if len(each.name.encode()) <= LONGEST_IPTC_KEYWORD))
    notes = tuple(
        f"{each.text} is longer than the {LONGEST_IPTC_KEYWORD} bytes that IPTC keywords can have; it is in XMP alone"
        for each in sorted(levels.difference(iptc))
    )
    plan = replace(plan, removed=tuple(sorted({*plan.removed, *only_there})), notes=(*plan.notes, *notes))
    return plan, None if not plan.changes and iptc == old else iptc


def _without(own: Stated, old: tuple[Keyword, ...], known: Stated) -> Stated:
    """Return what came from tagloom, and not out of the IPTC block, where others may have put it."""
    return Stated(own.flat - ({keyword.name for keyword in old} - known.flat), own.paths - (set(old) - known.paths))


def _levels(keywords: Iterable[Keyword]) -> set[Keyword]:
    return {Keyword.flat(level) for keyword in keywords for level in keyword.path}


def _checked_blocks(original: bytes, photo: bytes) -> EmbeddedBlocks:
    kind = _kind(original)
    extension = os.path.splitext(photo)[1].lower()
    if not kind or (kind == ".tif" and extension not in (b".tif", b".tiff")):
        raise _NotEmbeddableError("keywords are written into JPEG, PNG, TIFF and WebP files only, got another format")
    blocks = find_blocks(BytesIO(original))
    if b"HasExtendedXMP" in blocks.xmp:
        raise _NotEmbeddableError("the photo's XMP is spread over several blocks, which is not changed")
    return blocks


def _iptc_arguments(block: bytes, keywords: tuple[Keyword, ...], kind: str) -> list[str]:
    """Return what tells exiftool to rewrite the IPTC block in UTF-8 with these keywords."""
    # All but the keywords is copied, which is how exiftool is told to convert it; the list of keywords is then set.
    arguments = ["-charset", f"iptc={'UTF8' if is_utf8(block) else 'Latin1'}", "-tagsFromFile", "@", "-IPTC:all"]
    arguments += ["--IPTC:Keywords", "-IPTC:CodedCharacterSet=UTF8"]
    arguments += [f"-IPTC:Keywords={keyword.name}" for keyword in keywords] or ["-IPTC:Keywords="]
    # The digest tells Adobe's programs that the two blocks agree.
    return [*arguments, "-Photoshop:IPTCDigest=new"] if kind == ".jpg" else arguments
