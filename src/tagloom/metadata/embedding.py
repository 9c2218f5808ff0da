"""Writing keywords into photo files, for those who ask for it: exiftool works on a copy, which is checked.

The merged XMP packet is made as for a sidecar and handed to exiftool as one block, so that what other programs wrote in
it stays as it was. A photo that has an IPTC block gets its keywords there too. The copy takes the photo's place only if
its picture decodes to the same pixels and its keywords read back as they should; the original is in the journal before.
"""

import errno
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path

from tagloom.core.keywords import Keyword
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.exceptions import MetadataError, TagloomError, WriteError
from tagloom.images.source import read_file
from tagloom.images.verdicts import Refused
from tagloom.metadata.embedded import EmbeddedBlocks, find_blocks
from tagloom.metadata.file_changes import FileChanges, real_file
from tagloom.metadata.iptc import is_utf8, read_iptc
from tagloom.metadata.pixel_hash import pixel_hashes
from tagloom.metadata.sidecar_plan import SidecarPlan, plan_sidecar
from tagloom.metadata.sidecars import KeywordChange, WriteOutcome, is_disk_full, line_of
from tagloom.metadata.xmp_fields import is_programs_own
from tagloom.metadata.xmp_read import Stated, read_xmp

__all__ = ["KeywordEmbedder", "find_exiftool"]

LARGEST_PHOTO = 1 << 30
DEADLINE = 120.0
_N_COPIES, _SPARE = 3, 1 << 16  # the photo, its copy, and the one that exiftool writes; new metadata
LONGEST_IPTC_KEYWORD = 64  # bytes, by the standard; exiftool would cut longer ones
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


class KeywordEmbedder:
    """Writes keywords into JPEG, PNG, TIFF and WebP files.

    Parameters
    ----------
    changes : FileChanges
        The journal, which keeps each original whole until its entry is forgotten.
    exiftool : str, optional
        The program; looked for where it is not given.

    Raises
    ------
    MetadataError
        If exiftool is not installed.
    """

    def __init__(self, changes: FileChanges, *, exiftool: str | None = None) -> None:
        self._changes = changes
        self._exiftool = find_exiftool() if exiftool is None else exiftool

    def plan(self, change: KeywordChange) -> WriteOutcome:
        """Work out what `write` would do, and change nothing.

        Parameters
        ----------
        change : KeywordChange
            What is asked; its ``seen`` is not looked at.
        """
        try:
            plan, _ = _plan(_read(real_file(change.photo)), change)
        except TagloomError as error:
            return WriteOutcome(change.photo, change.photo, "failed", problem=line_of(error))
        return WriteOutcome(change.photo, change.photo, "planned" if plan.changes else "unchanged", plan)

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
            except (TagloomError, OSError) as error:
                if is_disk_full(error):
                    raise
                outcome = WriteOutcome(change.photo, change.photo, "failed", problem=line_of(error))
            yield outcome
            progress.advance()

    def _write(self, change: KeywordChange, run: str) -> WriteOutcome:
        photo = real_file(change.photo)
        original = _read(photo)
        plan, iptc = _plan(original, change)
        if not plan.changes:
            return WriteOutcome(change.photo, change.photo, "unchanged", plan)
        try:
            with self._changes.journal.scratch() as folder:
                _check_space(folder, len(original))
                after = self._rewritten(folder, original, plan, iptc)
        except OSError as error:
            raise WriteError(
                error.errno or 0,
                f"no copy of the photo could be made to work on ({error.strerror or error}); the photo is left as it "
                f"was. Free some space, run again",
            ) from error
        entry = self._changes.replace(photo, original, after, kind="photo", run=run, note=plan.own.to_text())
        return WriteOutcome(change.photo, change.photo, "written", plan, entry)

    def _rewritten(self, folder: Path, original: bytes, plan: SidecarPlan, iptc: tuple[Keyword, ...] | None) -> bytes:
        """Return the photo with its new metadata, checked."""
        kind = _kind(original)
        # The names that exiftool sees are ours: no leading dash, line end or odd byte of a photo's name reaches it.
        untouched, copy = folder / f"original{kind}", folder / f"copy{kind}"
        untouched.write_bytes(original)
        copy.write_bytes(original)
        arguments = []
        if iptc is not None:
            arguments += _iptc_arguments(find_blocks(BytesIO(original)).iptc, iptc, kind)
        if plan.after is not None and plan.after != plan.before:
            (folder / "packet.xmp").write_bytes(plan.after)
            arguments += ["-XMP<=packet.xmp"]
        self._run([*arguments, "-overwrite_original", copy.name], folder)
        before, after = pixel_hashes([untouched, copy])
        if before != after:
            raise MetadataError("exiftool's copy does not have the same pixels; the photo is left as it was")
        data = copy.read_bytes()
        blocks = find_blocks(BytesIO(data))
        wrong = blocks.xmp != (plan.after or b"") and read_xmp(blocks.xmp) != read_xmp(plan.after or b"")
        if wrong or (iptc is not None and read_iptc(blocks.iptc) != iptc):
            raise MetadataError("exiftool's copy does not have the keywords asked for; the photo is left as it was")
        return data

    def _run(self, arguments: list[str], folder: Path) -> None:
        try:
            done = subprocess.run(  # noqa: S603 - the program is exiftool, and arguments go through its input
                [self._exiftool, "-config", "", "-@", "-"],
                input="".join(f"{argument}\n" for argument in arguments).encode("utf-8"),
                cwd=folder,
                capture_output=True,
                check=False,
                timeout=DEADLINE,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MetadataError(f"exiftool did not run ({line_of(error)}); the photo is left as it was") from error
        if done.returncode != 0:
            said = " ".join(done.stderr.decode(errors="replace").split())[:300]
            raise MetadataError(f"exiftool refused ({said}); the photo is left as it was")


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


def _plan(original: bytes, change: KeywordChange) -> tuple[SidecarPlan, tuple[Keyword, ...] | None]:
    """Return what becomes of the XMP packet, and the keywords for the IPTC block (None: there is none)."""
    blocks = _checked_blocks(original, change.photo)
    packet = blocks.xmp or None
    brought = change.own_in(original)
    plan = plan_sidecar(packet, change.add, change.remove, brought)
    if not blocks.iptc:
        return plan, None
    old = read_iptc(blocks.iptc)
    needed = _levels((*plan.added, *plan.kept))
    # As in XMP: the levels of a keyword go along with it, and nothing goes because of one that is not there.
    removed = {*plan.removed, *(keyword for keyword in change.remove if keyword in old)}
    gone = (_levels(removed) | {Keyword.flat(name) for name in brought.flat}) - needed
    only_there = tuple(keyword for keyword in old if keyword in gone)
    if not plan.changes and not only_there:
        return plan, None
    # Programs believe one of the two blocks, so that after a change both have to say the same.
    own = {keyword for keyword in (*plan.kept, *old) if is_programs_own(keyword)}
    theirs = (set(old) - gone) & (own | _levels(own))  # of use to that program alone: it stays where it is
    add = {*change.add, *old} - gone - set(change.remove) - theirs
    plan = replace(plan_sidecar(packet, add, change.remove, brought), own=_without(plan.own, old, brought))
    levels = _levels({*plan.added, *plan.kept} - own) | theirs
    iptc = tuple(sorted(each for each in levels if len(each.name.encode()) <= LONGEST_IPTC_KEYWORD))
    return replace(plan, removed=tuple(sorted({*plan.removed, *only_there}))), iptc


def _without(own: Stated, old: tuple[Keyword, ...], known: Stated) -> Stated:
    """Return what came from tagloom, and not out of the IPTC block, where others may have put it."""
    return Stated(own.flat - ({keyword.name for keyword in old} - known.flat), own.paths - (set(old) - known.paths))


def _levels(keywords: Iterable[Keyword]) -> set[Keyword]:
    return {Keyword.flat(level) for keyword in keywords for level in keyword.path}


def _checked_blocks(original: bytes, photo: bytes) -> EmbeddedBlocks:
    kind = _kind(original)
    extension = os.path.splitext(photo)[1].lower()
    if not kind or (kind == ".tif" and extension not in (b".tif", b".tiff")):
        raise MetadataError(
            "keywords are written into JPEG, PNG, TIFF and WebP files only, got another format; write to a sidecar "
            "instead, as is usual for raw files"
        )
    blocks = find_blocks(BytesIO(original))
    if b"HasExtendedXMP" in blocks.xmp:
        raise MetadataError("the photo's XMP is spread over several blocks, which is not changed; write to a sidecar")
    return blocks


def _iptc_arguments(block: bytes, keywords: tuple[Keyword, ...], kind: str) -> list[str]:
    """Return what tells exiftool to rewrite the IPTC block in UTF-8 with these keywords."""
    # All but the keywords is copied, which is how exiftool is told to convert it; the list of keywords is then set.
    arguments = ["-charset", f"iptc={'UTF8' if is_utf8(block) else 'Latin1'}", "-tagsFromFile", "@", "-IPTC:all"]
    arguments += ["--IPTC:Keywords", "-IPTC:CodedCharacterSet=UTF8"]
    arguments += [f"-IPTC:Keywords={keyword.name}" for keyword in keywords] or ["-IPTC:Keywords="]
    # The digest tells Adobe's programs that the two blocks agree.
    return [*arguments, "-Photoshop:IPTCDigest=new"] if kind == ".jpg" else arguments
