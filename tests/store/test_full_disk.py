"""A disk without any space: one clear error, not one of SQLite's."""

import subprocess
import sys
import textwrap

import pytest

from tagloom.store.project import ProjectStore

pytest.importorskip("resource")

OPEN = textwrap.dedent(
    """
    import resource, sys
    from tagloom.exceptions import StoreError, WriteError
    from tagloom.store.project import ProjectStore

    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # no file may get a byte longer
    try:
        ProjectStore(sys.argv[1], make=False, journal=sys.argv[2]).close()
    except (StoreError, WriteError) as error:
        sys.exit(str(error))
    """
)


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_opening_says_that_there_is_no_space_or_works(tmp_path, journal):
    with ProjectStore(tmp_path / ".tagloom", tmp_path, journal=journal) as store:
        store.tags.add(["kept"])
    done = subprocess.run(
        [sys.executable, "-c", OPEN, str(tmp_path / ".tagloom"), journal], capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 1
    if journal == "wal":  # the index of the log cannot be made
        assert "space" in done.stderr
    with ProjectStore(tmp_path / ".tagloom", make=False, journal=journal) as store:
        assert store.check() == []
        assert store.tags.find(["kept"])[0] > 0
