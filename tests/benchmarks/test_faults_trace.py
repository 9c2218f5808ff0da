import os
from pathlib import Path

import pytest

from benchmarks.faults import trace
from benchmarks.faults.durability import prove
from benchmarks.faults.scene import JOURNALS, copy_scene, make_scene, use_settings
from benchmarks.faults.strace_lines import Call, read_calls
from benchmarks.faults.tasks import NEED_EXIFTOOL

# One sidecar, as strace 6.1 saw it; paths made shorter, calls that only read and those on other files left out.
RECORDED = Path(__file__).parent / "strace" / "write.txt"
TEMPORARY = "/p/a.jpg.xmp.tagloom-tmp-1-2"
WAL = "/p/.tagloom/tagloom.sqlite-wal"


@pytest.fixture
def lines():
    return RECORDED.read_text(encoding="ascii").splitlines()


def _where(lines, *parts):
    """Return the numbers of the lines that hold all of these."""
    return [number for number, line in enumerate(lines) if all(part in line for part in parts)]


def _without(lines, *numbers):
    return [line for number, line in enumerate(lines) if number not in numbers]


def _moved(lines, number, to):
    kept = _without(lines, number)
    return [*kept[:to], lines[number], *kept[to:]]


def _violations(lines, existing=()):
    proof = prove(read_calls(lines), "/p", existing)
    assert proof.n_acknowledged == 1
    return proof.violations


def test_calls_are_read_with_their_paths(lines):
    calls = [call for call in read_calls(lines) if "sqlite" not in call.path and call.path[-8:] != ".tagloom"]
    assert [call.kind for call in calls] == ["create", "write", "sync", "sync", "rename", "sync", "write"]
    assert [call.path for call in calls[:5]] == [TEMPORARY] * 5
    assert calls[4].target == "/p/a.jpg.xmp"
    assert calls[5].path == "/p"
    assert (calls[6].descriptor, calls[6].text) == (1, r"ack a.jpg.xmp\n")


def test_a_call_cut_in_two_keeps_both_places():
    cut = [
        f"77 fdatasync(5<{WAL}> <unfinished ...>",
        '78 write(2<pipe:[9]>, "x", 1) = 1',
        "77 <... fdatasync resumed>) = 0",
    ]
    (sync,) = (call for call in read_calls(cut) if call.kind == "sync")
    assert (sync.begin, sync.end, sync.path) == (0, 2, WAL)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("5 fsync(7</p/x>) = -1 EIO (Input/output error)", None),
        ("5 fsync(7</p/x> <unfinished ...>", None),
        ("5 exit_group(0) = ?", None),
        ("5 +++ exited with 0 +++", None),
        ("5 --- SIGCHLD {si_signo=SIGCHLD} ---", None),
        ('5 openat(AT_FDCWD</h>, "/p/x", O_RDONLY) = 3</p/x>', None),
        ('5 unlinkat(4</p>, "x", 0) = 0', Call(0, 0, "unlink", "/p/x")),
        ('5 renameat2(4</p>, "x", AT_FDCWD</q>, "y", RENAME_NOREPLACE) = 0', Call(0, 0, "rename", "/p/x", "/q/y")),
        ('5 rename("/p/a \\"b\\", c", "/p/d") = 0', Call(0, 0, "rename", '/p/a "b", c', "/p/d")),
        ('5 mkdirat(AT_FDCWD</h>, "/p/x", 0777) = 0', Call(0, 0, "create", "/p/x")),
        ("5 ftruncate(3</p/x>, 0) = 0", Call(0, 0, "write", "/p/x", "", 3)),
    ],
)
def test_single_lines(line, expected):
    assert read_calls([line]) == ([] if expected is None else [expected])


def test_a_sidecar_in_the_right_order_is_durable(lines):
    assert _violations(lines) == []
    assert prove(read_calls(lines), "/p").proven == {
        "sidecar: data synchronised": 1,
        "sidecar: folder synchronised after it was renamed": 1,
        "tagloom.sqlite-wal: data synchronised": 4,
        "tagloom.sqlite-wal: folder synchronised after it was made": 1,
    }


def test_whatever_is_left_out_of_a_sidecar_is_found(lines):
    data, (folder,), (rename,) = (
        _where(lines, "fsync", TEMPORARY),
        _where(lines, "fsync", "</p>"),
        _where(lines, "rename("),
    )
    assert "renamed before its data was synchronised" in _violations(_without(lines, *data))[0]
    assert "was not synchronised after it was renamed" in _violations(_without(lines, folder))[0]
    assert "was not synchronised after it was renamed" in _violations(_moved(lines, folder, rename))[0]
    assert "renamed before" in _violations(_moved(lines, rename, data[0]))[0]
    (written,) = _where(lines, " write(7<", TEMPORARY)
    assert "renamed before" in _violations(_moved(lines, written, rename - 1))[0]
    said = len(lines) - 1
    assert len(_violations(_moved(lines, folder, said))) == 1


def test_a_failed_sync_is_none(lines):
    (folder,) = _where(lines, "fsync", "</p>")
    lines[folder] = lines[folder].replace("= 0", "= -1 EIO (Input/output error)")
    assert len(_violations(lines)) == 1


def test_the_log_of_a_commit_is_durable_only_if_it_is_synchronised_in_time(lines):
    last = _where(lines, "fdatasync", WAL)[-1]
    assert "tagloom.sqlite-wal has data not synchronised" in _violations(_without(lines, last))[0]
    (folder,) = _where(lines, "fdatasync", "/p/.tagloom>")
    assert "after it was made" in _violations(_without(lines, folder))[0]
    assert _violations(_without(lines, folder), existing={WAL}) == []


def test_a_sync_that_ends_after_the_acknowledgement_comes_too_late(lines):
    last = _where(lines, "fdatasync", WAL)[-1]
    call, _, result = lines[last].partition(")")
    cut = [*lines[:last], f"{call} <unfinished ...>", *lines[last + 1 :]]
    resumed = f"77 <... fdatasync resumed>){result}"
    said = next(number for number, line in enumerate(cut) if "ack" in line)
    cut[said] = cut[said].replace("77", "78", 1)  # said by another thread
    cut[last + 1 : said] = [line.replace("77", "78", 1) for line in cut[last + 1 : said]]
    assert _violations([*cut[:said], resumed, *cut[said:]]) == []
    assert len(_violations([*cut, resumed])) == 1


def test_removing_a_rollback_journal_is_a_commit_once_the_folder_is_synchronised():
    journal = "/p/.tagloom/tagloom.sqlite-journal"
    removed = f'5 unlink("{journal}") = 0'
    synced, said = "5 fsync(6</p/.tagloom>) = 0", '5 write(1<pipe:[1]>, "ack 3\\n", 6) = 6'
    assert "after it was removed" in _violations([removed, said])[0]
    assert _violations([removed, synced, said]) == []


def test_a_new_folder_and_a_removed_sidecar_need_the_folder_above():
    said, synced = '5 write(1<pipe:[1]>, "ack 3\\n", 6) = 6', "5 fsync(6</p>) = 0"
    for change, what in (('5 mkdir("/p/written", 0777) = 0', "made"), ('5 unlink("/p/a.jpg.xmp") = 0', "removed")):
        assert f"after it was {what}" in _violations([change, said])[0]
        assert f"after it was {what}" in _violations([synced, change, said])[0]
        assert _violations([change, synced, said]) == []
    assert _violations(['5 unlink("/p/a.jpg.xmp.tagloom-tmp-1-2") = 0', said]) == []


def test_copies_that_exiftool_works_on_are_no_matter():
    lines = [
        '5 write(3</p/.tagloom/written/scratch-x/copy.jpg_exiftool_tmp>, "a", 1) = 1',
        '5 rename("/p/.tagloom/written/scratch-x/copy.jpg_exiftool_tmp", "/p/.tagloom/written/scratch-x/copy.jpg") = 0',
        '5 write(1<pipe:[1]>, "ack 3\\n", 6) = 6',
    ]
    assert _violations(lines) == []


def test_files_elsewhere_and_the_index_of_the_log_are_no_matter():
    lines = [
        '5 write(3</q/x>, "a", 1) = 1',
        "5 ftruncate(4</p/.tagloom/tagloom.sqlite-shm>, 32768) = 0",
        '5 write(1<pipe:[1]>, "ack 3\\n", 6) = 6',
    ]
    assert _violations(lines) == []


@pytest.fixture(scope="module")
def environment():
    """Keep what the faults put into the environment from other tests."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="module")
def scene(environment, strace, tmp_path_factory):
    reason = trace.why_not()
    if reason:
        pytest.skip(f"no system-call trace: {reason}")
    return make_scene(tmp_path_factory.mktemp("trace").resolve() / "scene")


def _is_durable(scene, place, verb, journal):
    use_settings(journal)
    folder = copy_scene(scene, place.resolve() / "photos")
    options = trace.prepare_trace(verb, folder)
    proof = trace.trace_verb(folder, verb, journal, options)
    assert proof.violations == []
    assert trace.missing(verb, journal, proof) == []


# Training is by far the longest to trace, and touches no photo: once in `make test`, with both journals in all.
CASES = [
    pytest.param(verb, journal, marks=[pytest.mark.slow] if (verb, journal) == ("train", "delete") else [])
    for verb in trace.WITNESSES
    if verb not in NEED_EXIFTOOL
    for journal in JOURNALS
]


@pytest.mark.medium
@pytest.mark.parametrize(("verb", "journal"), CASES)
def test_everything_is_durable_before_it_is_acknowledged(scene, tmp_path, verb, journal):
    _is_durable(scene, tmp_path, verb, journal)


@pytest.mark.medium
@pytest.mark.parametrize("journal", JOURNALS)
@pytest.mark.parametrize("verb", NEED_EXIFTOOL)
def test_photos_that_keywords_go_into_are_durable_before_it_is_acknowledged(scene, exiftool, tmp_path, verb, journal):
    _is_durable(scene, tmp_path, verb, journal)


@pytest.mark.medium
@pytest.mark.parametrize("verb", ["write", "undo"])
def test_a_program_that_forgets_the_folders_is_found_out(scene, tmp_path, verb):
    use_settings("wal")
    folder = copy_scene(scene, tmp_path.resolve() / "photos")
    options = trace.prepare_trace(verb, folder)
    assert trace.trace_verb(folder, verb, "wal", options, careless=True).violations
