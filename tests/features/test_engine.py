import os
import shutil
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from PIL import Image

from tagloom.core.photos import Verdict
from tagloom.exceptions import InvalidInputError
from tagloom.features import ExtractionEngine, MemoryCache, PixelDescriptor, extract
from tagloom.images import Rendition
from tagloom.store import FolderCache


class MeanColor(PixelDescriptor):
    """Mean colour and mean squared colour; counts the photos it sees."""

    name = "mean"
    thread_safe = False

    def __init__(self, power=1):
        self.power = power
        self.n_seen = 0

    @property
    def outputs(self):
        return {f"mean{self.power}": 3}

    @property
    def renditions(self):
        return (Rendition("small", "fit", 32),)

    @property
    def parameters(self):
        return {"power": self.power}

    def describe(self, pixels):
        self.n_seen += 1
        return (pixels.astype(np.float64) ** self.power).mean(axis=(0, 1))


@pytest.fixture
def folder(tmp_path):
    photos = tmp_path / "photos"
    photos.mkdir()
    rng = np.random.default_rng(0)
    for number in range(12):
        pixels = np.full((20, 30, 3), rng.integers(0, 256, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(photos / f"{number:02d}.png")
    (photos / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 not a photo")
    (photos / "empty.jpg").write_bytes(b"")
    return photos


def _names(folder):
    return sorted(os.fsencode(name) for name in os.listdir(folder))


def _run(folder, cache, descriptors=None, names=None, **options):
    options.setdefault("n_workers", 1)
    with ExtractionEngine(descriptors or [MeanColor()], cache, root=folder, **options) as engine:
        records = engine.read(names if names is not None else _names(folder))
        X, groups = engine.features(records)
        return X, groups, records, engine.counts


def _expected(folder, names):
    return np.array([np.asarray(Image.open(folder / os.fsdecode(name)))[0, 0] for name in names], dtype=np.float32)


def test_rows_in_order_and_one_verdict_per_path(folder):
    names = _names(folder)[::-1]
    X, groups, records = extract(names, [MeanColor()], root=folder, n_workers=2)
    assert [record.path for record in records] == names
    good = [record.path for record in records if record.ok]
    assert len(good) == 12
    np.testing.assert_allclose(X, _expected(folder, good))
    assert X.dtype == np.float32
    assert list(groups) == ["mean1"]
    verdicts = {record.path: record.verdict for record in records if not record.ok}
    assert verdicts[b"empty.jpg"] == Verdict.EMPTY
    assert verdicts[b"broken.jpg"] in (Verdict.DAMAGED, Verdict.NOT_AN_IMAGE)


@pytest.mark.parametrize("options", [{"n_workers": 2}, {"batch_size": 1}, {"batch_size": 5, "n_workers": 2}])
def test_results_do_not_depend_on_workers_or_batches(folder, options):
    one = _run(folder, MemoryCache())
    other = _run(folder, MemoryCache(), **options)
    np.testing.assert_array_equal(one[0], other[0])
    assert one[2] == other[2]


def test_the_second_run_opens_nothing_and_a_changed_photo_is_decoded_alone(folder, tmp_path):
    with FolderCache(tmp_path / "t", folder) as cache:
        first = _run(folder, cache)
    assert (first[3].n_decoded, first[3].n_failed) == (12, 2)
    with FolderCache(tmp_path / "t", folder) as cache:
        second = _run(folder, cache)
    assert (second[3].n_decoded, second[3].n_hashed, second[3].n_unchanged) == (0, 0, 14)
    np.testing.assert_array_equal(first[0], second[0])

    Image.fromarray(np.zeros((20, 30, 3), dtype=np.uint8)).save(folder / "03.png")
    with FolderCache(tmp_path / "t", folder) as cache:
        third = _run(folder, cache)
    assert third[3].n_decoded == 1
    np.testing.assert_array_equal(third[0][3], 0)
    np.testing.assert_array_equal(np.delete(third[0], 3, axis=0), np.delete(first[0], 3, axis=0))


def test_touched_moved_and_copied_photos_keep_their_features(folder, tmp_path):
    with FolderCache(tmp_path / "t", folder) as cache:
        _run(folder, cache)
    os.utime(folder / "01.png", (1, 1))
    os.rename(folder / "02.png", folder / "moved.png")
    shutil.copy(folder / "03.png", folder / "copy.png")
    with FolderCache(tmp_path / "t", folder) as cache:
        X, _, records, counts = _run(folder, cache)
    assert (counts.n_decoded, counts.n_hashed) == (0, 3)
    good = [record.path for record in records if record.ok]
    np.testing.assert_allclose(X, _expected(folder, good))
    with FolderCache(tmp_path / "t", folder) as cache:
        assert _run(folder, cache)[3].n_unchanged == 15


def test_a_new_parameter_recomputes_its_own_group_only(folder, tmp_path):
    with FolderCache(tmp_path / "t", folder) as cache:
        _run(folder, cache)
        old, new = MeanColor(), MeanColor(power=2)
        X, groups, _, counts = _run(folder, cache, [old, new])
    assert (old.n_seen, new.n_seen, counts.n_decoded) == (0, 12, 12)
    np.testing.assert_allclose(groups.split(X)["mean2"], groups.split(X)["mean1"] ** 2, rtol=1e-6)


def test_equal_photos_are_computed_once(folder):
    for number in range(5):
        shutil.copy(folder / "00.png", folder / f"copy{number}.png")
    descriptor = MeanColor()
    X = _run(folder, MemoryCache(), [descriptor], batch_size=4)[0]
    assert descriptor.n_seen == 12
    assert len(X) == 17


def test_an_interrupted_run_keeps_what_is_done_and_holds_nothing_against_files(folder, tmp_path):
    class Impatient:
        n = 0

        def start(self, stage, total=None):
            pass

        def finish(self):
            pass

        def advance(self, n=1):
            self.n += n
            if self.n >= 5:
                raise KeyboardInterrupt

    with FolderCache(tmp_path / "t", folder) as cache, pytest.raises(KeyboardInterrupt):
        _run(folder, cache, batch_size=1, progress=Impatient())
    with FolderCache(tmp_path / "t", folder) as cache:
        assert cache.suspects() == {}
        X, _, _, counts = _run(folder, cache)
    assert 0 < counts.n_decoded < 14
    np.testing.assert_array_equal(X, _run(folder, MemoryCache())[0])


def test_a_file_that_ends_the_program_again_and_again_is_given_up_by_name(folder, tmp_path):
    with FolderCache(tmp_path / "t", folder) as cache:
        for _ in range(3):
            cache.begin([b"05.png"])
        cache.begin([b"06.png"])
        _, _, records, _ = _run(folder, cache)
        by_name = {record.path: record for record in records}
        assert by_name[b"05.png"].verdict == Verdict.QUARANTINED
        assert "--retry" in by_name[b"05.png"].detail
        assert by_name[b"06.png"].ok
        assert _run(folder, cache)[3].n_decoded == 0
        assert _run(folder, cache, retry=True)[0].shape[0] == 12


def test_paths_without_a_root_and_the_same_path_twice(folder):
    path = folder / "00.png"
    X, _, records = extract([path, str(path), os.fsencode(path)], [MeanColor()], n_workers=1)
    assert len(records) == len(X) == 3
    assert (X[0] == X).all()


def test_wrong_descriptors_are_named(folder):
    class Wrong(MeanColor):
        def describe(self, pixels):
            return [np.nan, 0, 0]

    with pytest.raises(InvalidInputError, match="'mean' must give finite float32"):
        _run(folder, MemoryCache(), [Wrong()])
    with pytest.raises(InvalidInputError, match="batch_size"):
        ExtractionEngine([], MemoryCache(), batch_size=0)


def test_nothing_to_do():
    X, groups, records = extract([], [MeanColor()])
    assert X.shape == (0, 3)
    assert list(groups) == ["mean1"]
    assert records == []


@pytest.mark.medium
def test_killed_at_random_moments_the_result_is_the_same(folder, tmp_path):
    script = """
        import os, sys
        from tagloom.features import extract
        from tagloom.store import FolderCache
        folder, cache_folder = sys.argv[1:]
        names = sorted(os.fsencode(name) for name in os.listdir(folder))
        with FolderCache(cache_folder, folder) as cache:
            print("go", flush=True)
            extract(names, ["color"], cache, root=folder, n_workers=1, batch_size=1)
            print("done", flush=True)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(folder), str(tmp_path / "t")]
    rng = np.random.default_rng(0)
    for _ in range(10):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "go\n"
        try:
            process.wait(rng.uniform(0.05, 1.0))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.communicate()
    subprocess.run(command, check=True, capture_output=True)
    with FolderCache(tmp_path / "t", folder) as cache:
        X, _, records = extract(_names(folder), ["color"], cache, root=folder, n_workers=1)
    fresh, _, expected = extract(_names(folder), ["color"], root=folder, n_workers=1)
    np.testing.assert_array_equal(X, fresh)
    assert records == expected
