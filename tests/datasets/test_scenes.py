import csv
import hashlib
import io
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from sklearn.linear_model import Ridge
from sklearn.metrics import average_precision_score

from tagloom.core.folds import label_budget
from tagloom.core.labels import check_labels, labeled_rows
from tagloom.datasets import make_scenes, write_scenes
from tagloom.datasets._scene_painter import paint_scene
from tagloom.exceptions import InvalidInputError, WriteError

# Tags without a painter of their own: they change the light of everything.
LIGHT = frozenset({"sky", "night", "sunset"})


@pytest.fixture(scope="module")
def many():
    return make_scenes(1500)


def column(scenes, tag):
    return scenes.Y[:, scenes.tags.column(tag)] == 1


def test_same_seed_same_pixels():
    first, second = make_scenes(6, random_state=3), make_scenes(6, random_state=3)
    np.testing.assert_array_equal(first.Y, second.Y)
    for index in range(6):
        np.testing.assert_array_equal(first.pixels(index), second.pixels(index))


def test_pixels_are_the_same_in_another_process():
    code = (
        "import hashlib\nfrom tagloom.datasets import make_scenes\nscenes = make_scenes(8, random_state=5)\n"
        "print(hashlib.sha256(b''.join(scenes.pixels(i).tobytes() for i in range(8))).hexdigest())"
    )
    scenes = make_scenes(8, random_state=5)
    here = hashlib.sha256(b"".join(scenes.pixels(i).tobytes() for i in range(8))).hexdigest()
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert there.stdout.strip() == here


def test_pixels_are_the_same_on_every_machine():
    """Taken down once; change it only together with the painters."""
    scenes = make_scenes(12, size=(96, 64), random_state=0)
    found = hashlib.sha256(b"".join(scenes.pixels(i).tobytes() for i in range(12))).hexdigest()
    assert found == "f20035a683720a462f04d3dd787282394e18c0de4473b6d72b785a1cbc643ad9"


def test_another_seed_gives_other_photos():
    first, second = make_scenes(20, random_state=0), make_scenes(20, random_state=1)
    assert not np.array_equal(first.Y, second.Y)
    assert not np.array_equal(first.pixels(0), second.pixels(0))


def test_a_photo_does_not_depend_on_how_many_there_are():
    few, many = make_scenes(5, random_state=0), make_scenes(40, random_state=0)
    np.testing.assert_array_equal(few.Y, many.Y[:5])
    assert few.names == many.names[:5]
    for index in range(5):
        np.testing.assert_array_equal(few.pixels(index), many.pixels(index))


def test_photos_differ_from_each_other():
    scenes = make_scenes(40, size=(96, 64))
    assert len({scenes.pixels(index).tobytes() for index in range(40)}) == 40


def test_shapes():
    scenes = make_scenes(30, size=(96, 64))
    assert len(scenes) == 30
    assert {scenes.pixels(index).shape for index in range(30)} == {(64, 96, 3), (96, 64, 3)}
    assert scenes.render(-1).mode == "RGB"
    np.testing.assert_array_equal(scenes.pixels(-1), scenes.pixels(29))
    with pytest.raises(IndexError):
        scenes.pixels(30)


@pytest.mark.parametrize("size", [(32, 32), (400, 48), (48, 400)])
def test_any_size_can_be_painted(size):
    scenes = make_scenes(25, size=size)
    for index in range(25):
        assert scenes.pixels(index).std() > 1


def test_frequencies_go_from_common_to_rare():
    scenes = make_scenes(2000)
    assert 15 <= len(scenes.tags) <= 25
    check_labels(scenes.Y)
    share = scenes.Y.mean(axis=0)
    assert share.max() > 0.75
    assert 0.02 < share.min() < 0.1
    assert np.median(share) < 0.25
    assert scenes.Y.sum(axis=1).min() >= 1
    assert 3.5 < scenes.Y.sum(axis=1).mean() < 6


@pytest.mark.parametrize(
    ("tag", "needs"),
    [("moon", "night"), ("stars", "night"), ("beach", "sea"), ("car", "road"), ("sunset", "sky"), ("night", "sky")],
)
def test_one_tag_needs_another(tag, needs, many):
    assert column(many, tag).any()
    assert column(many, needs)[column(many, tag)].all()


@pytest.mark.parametrize(
    ("first", "second"),
    [("sun", "night"), ("moon", "sun"), ("sunset", "night"), ("fog", "sun"), ("beach", "snow"), ("sea", "lake")],
)
def test_two_tags_exclude_each_other(first, second, many):
    assert not (column(many, first) & column(many, second)).any()


def test_boats_float(many):
    assert (column(many, "sea") | column(many, "lake"))[column(many, "boat")].all()


def test_tags_occur_together_as_in_albums(many):
    for tag, other in [("bird", "sea"), ("boat", "sea"), ("car", "city"), ("lake", "mountain"), ("flower", "grass")]:
        assert column(many, other)[column(many, tag)].mean() > 1.5 * column(many, other).mean(), (tag, other)


@pytest.mark.medium
def test_every_tag_is_to_be_seen():
    """Without its tag a photo must look different: the painter drew something, and nothing hid all of it."""
    scenes = make_scenes(80)
    for index, plan in enumerate(scenes.plans):
        whole = scenes.pixels(index).astype(np.int16)
        for tag in plan.tags - LIGHT:
            without = paint_scene(replace(plan, tags=plan.tags - {tag}), scenes.seed, index, scenes.size)
            n_changed = (np.abs(whole - without).max(axis=2) > 6).sum()
            assert n_changed >= 30, (index, tag, n_changed)


def test_night_is_dark():
    scenes = make_scenes(60, size=(96, 64))
    light = np.array([scenes.pixels(index).mean() for index in range(60)])
    night = column(scenes, "night")
    assert light[night].max() < np.median(light[~night])


def test_snow_and_grass_have_their_colours():
    scenes = make_scenes(150, size=(96, 64))
    day = column(scenes, "sky") & ~column(scenes, "night") & ~column(scenes, "sunset") & ~column(scenes, "fog")
    ground = np.array([scenes.pixels(index)[-12:].mean(axis=(0, 1)) for index in range(150)])
    meadow = np.array([plan.place == "meadow" for plan in scenes.plans])
    green, white = ground[day & meadow & column(scenes, "grass")], ground[day & meadow & column(scenes, "snow")]
    assert (green[:, 1] - green[:, 2]).mean() > 30
    assert white.mean() > green.mean() + 20


@pytest.mark.medium
def test_neither_trivial_nor_hopeless():
    """Tag priors know little, colours know some, and half of all labels do not make it solved by colours."""
    scenes = make_scenes(600, size=(120, 80))
    colours = np.array([banded_histogram(scenes.pixels(index)) for index in range(600)])
    few = [colour_ridge_map(colours, scenes.Y, 0.05, seed) for seed in range(4)]
    half = colour_ridge_map(colours, scenes.Y, 0.5, 0)
    assert scenes.Y.mean() < 0.3
    assert 0.4 < np.mean(few) < 0.7
    assert np.mean(few) + 0.05 < half < 0.9


def banded_histogram(pixels):
    """Square roots of 64-bin colour histograms of the upper, middle and lower third."""
    codes = ((pixels >> 6).astype(np.intp) * (16, 4, 1)).sum(axis=2)
    bands = np.array_split(codes, 3)
    return np.concatenate([np.sqrt(np.bincount(band.ravel(), minlength=64) / band.size) for band in bands])


def colour_ridge_map(X, Y, budget, seed):
    labelled = labeled_rows(label_budget(Y, budget, random_state=seed))
    scores = Ridge(alpha=1.0).fit(X[labelled], Y[labelled]).predict(X[~labelled])
    truth = Y[~labelled]
    return np.mean(
        [average_precision_score(truth[:, tag], scores[:, tag]) for tag in np.flatnonzero(truth.any(axis=0))]
    )


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def test_written_folder_can_be_read_back(tmp_path):
    scenes = write_scenes(tmp_path / "photos", 40, size=(96, 64), labeled=0.25)
    truth, labels = read_rows(tmp_path / "photos" / "truth.csv"), read_rows(tmp_path / "photos" / "labels.csv")
    assert [row["file"] for row in truth] == list(scenes.names)
    assert len(labels) == 10
    said = {row["file"]: row["tags"] for row in truth}
    assert all(said[row["file"]] == row["tags"] for row in labels)
    for index, row in enumerate(truth):
        assert set(row["tags"].split(";")) == scenes.plans[index].tags
        with Image.open(tmp_path / "photos" / row["file"]) as image:
            assert image.format == "JPEG"
            decoded = np.asarray(image).astype(np.int16)
        difference = np.abs(decoded - scenes.pixels(index))
        assert difference.mean() < 12, row


def test_files_have_the_pixels_of_their_encoding(tmp_path):
    scenes = write_scenes(tmp_path, 3, labeled=1)
    for index, name in enumerate(scenes.names):
        assert (tmp_path / name).read_bytes() == scenes.encode(index)
        assert Image.open(io.BytesIO(scenes.encode(index))).size in {(240, 160), (160, 240)}


def test_writing_goes_on_where_it_stopped(tmp_path):
    class StoppedError(Exception):
        pass

    class StopAfterFour:
        n = 0

        def start(self, stage, total=None):
            assert total == 9

        def advance(self, n=1):
            self.n += n
            if self.n == 4:
                raise StoppedError

        def finish(self):
            raise AssertionError("not reached")

    with pytest.raises(StoppedError):
        write_scenes(tmp_path, 9, size=(64, 48), labeled=3, progress=StopAfterFour())
    assert len(list(tmp_path.glob("*.jpg"))) == 4
    (tmp_path / "labels.csv").write_text("file,tags\nscene_00000.jpg,mine\n")
    kept = (tmp_path / "scene_00000.jpg").stat().st_mtime_ns
    write_scenes(tmp_path, 9, size=(64, 48), labeled=3)
    assert len(list(tmp_path.glob("*.jpg"))) == 9
    assert (tmp_path / "scene_00000.jpg").stat().st_mtime_ns == kept
    assert "mine" in (tmp_path / "labels.csv").read_text()


def test_a_foreign_folder_is_left_alone(tmp_path):
    (tmp_path / "holiday.jpg").write_bytes(b"precious")
    with pytest.raises(InvalidInputError, match=r"empty folder.*holiday\.jpg"):
        write_scenes(tmp_path, 3, labeled=1)
    assert [path.name for path in tmp_path.iterdir()] == ["holiday.jpg"]


@pytest.mark.parametrize("change", [{"n_photos": 4}, {"size": (64, 64)}, {"random_state": 1}, {"labeled": 2}])
def test_other_settings_are_refused(tmp_path, change):
    settings = {"n_photos": 3, "size": (64, 48), "random_state": 0, "labeled": 1}
    write_scenes(tmp_path, **settings)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(InvalidInputError, match="other settings"):
        write_scenes(tmp_path, **(settings | change))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_damaged_record_is_refused(tmp_path):
    (tmp_path / "scenes.json").write_text("{")
    with pytest.raises(InvalidInputError, match="other settings"):
        write_scenes(tmp_path, 3, labeled=1)


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "photos").write_text("")
    with pytest.raises(WriteError, match="choose another"):
        write_scenes(tmp_path / "photos", 3, labeled=1)


@pytest.mark.parametrize("n_photos", [0, -1, 2.5, "many"])
def test_wrong_counts(n_photos):
    with pytest.raises(InvalidInputError, match="n_photos"):
        make_scenes(n_photos)


@pytest.mark.parametrize("size", [(240,), (10, 160), (240, 5000), 240, (240.0, 160)])
def test_wrong_sizes(size):
    with pytest.raises(InvalidInputError, match="size must be"):
        make_scenes(3, size=size)
