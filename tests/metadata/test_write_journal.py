import os
from dataclasses import replace

import pytest

from tagloom.core.files import TEMPORARY_MARK
from tagloom.exceptions import DamagedStoreError, NewerFormatError, WriteError
from tagloom.metadata.write_journal import WriteJournal, fingerprint

PATH = b"/photos/-caf\xe9\n100%.jpg.xmp"


@pytest.fixture
def journal(tmp_path):
    """Return an empty journal."""
    return WriteJournal(tmp_path / "project" / "journal")


@pytest.mark.parametrize("before", [None, b"", b"old", b"line\nline\n\0", b"{}\n"])
def test_entries_come_back(journal, before):
    entry = journal.begin(PATH, before, fingerprint(b"new"), kind="sidecar", run="7")
    assert WriteJournal(journal.folder).entries() == [entry]
    assert journal.saved(entry) == before
    assert entry.path == PATH
    done = journal.mark(entry, "done")
    assert done == replace(entry, state="done")
    assert journal.entries() == [done]
    assert journal.saved(done) == before
    journal.forget(done)
    journal.forget(done)
    assert os.listdir(journal.folder) == []


def test_order_and_runs(journal):
    made = [journal.begin(b"/a", None, "", kind="sidecar", run=run) for run in "aba"]
    assert journal.entries() == made
    assert journal.entries(run="a") == [made[0], made[2]]


def test_a_changed_journal_is_noticed(journal):
    entry = journal.begin(PATH, b"old", "", kind="sidecar", run="")
    file = journal.folder / f"{entry.id}.pending"
    file.write_bytes(file.read_bytes() + b"!")
    with pytest.raises(DamagedStoreError, match="restore"):
        journal.saved(entry)
    file.write_bytes(b"nonsense")
    with pytest.raises(DamagedStoreError, match="move that file away"):
        journal.entries()
    file.write_bytes(b'{"format": 99}\n')
    with pytest.raises(NewerFormatError):
        journal.entries()


def test_other_files_are_no_entries(journal):
    (journal.folder / "notes.txt").touch()
    assert journal.entries() == []


def test_sweep(journal):
    (journal.folder / f"x{TEMPORARY_MARK}1").touch()
    (journal.folder / "scratch-left").mkdir()
    (journal.folder / "scratch-left" / "copy.jpg").touch()
    with journal.scratch() as folder:
        assert folder.is_dir()
    assert not folder.exists()
    journal.sweep()
    assert os.listdir(journal.folder) == []


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match="journal's folder"):
        WriteJournal(tmp_path / "file" / "journal")
