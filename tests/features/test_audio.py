"""MFCC against a literal loop; photos and silent clips lack the group."""

import numpy as np
import pytest

from tagloom.core.groups import FeatureGroups
from tagloom.core.photos import PhotoRecord, Verdict
from tagloom.features import GroupScaler, MfccDescriptor, get_descriptor
from tagloom.features.audio.mfcc import deltas, log_mel, mel_filters, mfcc
from tagloom.images import Clip, DecodedPhoto


def noise(n=8_000, seed=0):
    random = np.random.default_rng(seed)
    return np.cumsum(random.standard_normal(n)) / 300 + 0.1 * np.sin(np.arange(n) / 3)


def literal_mel(hertz):
    return hertz / (200 / 3) if hertz < 1_000 else 15 + np.log(hertz / 1_000) / (np.log(6.4) / 27)


def literal_log_mel(sound):
    """Slaney's filters one by one, a Fourier sum for each frequency: nothing clever."""
    edges = [literal_mel(20.0) + k * (literal_mel(8_000.0) - literal_mel(20.0)) / 41 for k in range(42)]
    hertz = [mel * 200 / 3 if mel < 15 else 1_000 * 6.4 ** ((mel - 15) / 27) for mel in edges]
    angles = np.outer(np.arange(257), np.arange(400)) * 2 * np.pi / 512
    rows = []
    for begin in range(0, len(sound) - 399, 160):
        frame = [sound[begin + k] * (0.5 - 0.5 * np.cos(2 * np.pi * k / 400)) for k in range(400)]
        power = (np.cos(angles) @ frame) ** 2 + (np.sin(angles) @ frame) ** 2
        bands = []
        for k in range(40):
            total = 0.0
            for bin_, value in enumerate(power):
                f = bin_ * 16_000 / 512
                up, down = (
                    (f - hertz[k]) / (hertz[k + 1] - hertz[k]),
                    (hertz[k + 2] - f) / (hertz[k + 2] - hertz[k + 1]),
                )
                total += max(0.0, min(up, down)) * 2 / (hertz[k + 2] - hertz[k]) * value
            bands.append(10 * np.log10(max(total, 1e-10)))
        rows.append(bands)
    rows = np.array(rows)
    return np.maximum(rows, rows.max() - 80)


def literal_mfcc(sound):
    bands = literal_log_mel(sound)
    found = np.empty((len(bands), 20))
    for k in range(20):
        scale = np.sqrt((1 if k == 0 else 2) / 40)
        found[:, k] = scale * sum(bands[:, j] * np.cos(np.pi * k * (2 * j + 1) / 80) for j in range(40))
    return found


def test_mfcc_equals_a_literal_loop():
    np.testing.assert_allclose(log_mel(noise(3_000)), literal_log_mel(noise(3_000)), atol=1e-5)
    np.testing.assert_allclose(mfcc(noise(3_000)), literal_mfcc(noise(3_000)), atol=1e-5)


def test_deltas_are_slopes_of_fitted_lines_and_parabolas():
    rows = mfcc(noise())
    slopes = [np.polyfit(np.arange(9), rows[k - 4 : k + 5], 1)[0] for k in range(4, len(rows) - 4)]
    np.testing.assert_allclose(deltas(rows)[4:-4], slopes, atol=1e-8)
    bends = [2 * np.polyfit(np.arange(9), rows[k - 4 : k + 5], 2)[0] for k in range(4, len(rows) - 4)]
    np.testing.assert_allclose(deltas(rows, 2)[4:-4], bends, atol=1e-8)


def test_filters_have_one_area():
    filters = mel_filters()
    assert filters.shape == (40, 257)
    assert (filters >= 0).all()
    # Wide ones, of many frequencies, have the area 1 Hz⁻¹ that they are defined by.
    np.testing.assert_allclose(filters[25:].sum(axis=1) * 16_000 / 512, 1.0, rtol=0.02)


def photo_with(sound):
    pieces = () if sound is None else ((0.0, np.asarray(sound, dtype=np.int16)),)
    return DecodedPhoto(PhotoRecord(b"x", Verdict.OK), clip=Clip(times=(0.0,), sound=pieces))


def test_statistics():
    sound = np.round(noise() * 3_000).astype(np.int16)
    (row,) = get_descriptor("audio").compute([photo_with(sound)])
    coefficients = mfcc(sound / 32_768)
    np.testing.assert_allclose(row[:20], coefficients.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(row[60:80], deltas(coefficients).std(axis=0), rtol=1e-5)
    covariance = np.cov(coefficients.T, bias=True)
    np.testing.assert_allclose(row[100:], covariance[np.triu_indices(20)], rtol=1e-4, atol=1e-4)


def test_what_has_no_sound_lacks_the_group():
    plain = DecodedPhoto(PhotoRecord(b"x", Verdict.OK))
    silent, short = np.zeros(16_000), np.full(100, 1_000)
    rows = MfccDescriptor().compute([plain, photo_with(None), photo_with(silent), photo_with(short)])
    assert not rows.any()
    assert MfccDescriptor().compute([photo_with(noise() * 3_000)]).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_missing_group_is_no_value(dtype):
    random = np.random.default_rng(0)
    X = random.standard_normal((30, 7)).astype(dtype) + 2
    X[10:, 4:] = 0.0
    groups = FeatureGroups(["moments", "audio:mfcc"], [4, 3])
    scaler = GroupScaler(groups).fit(X)
    # Means and deviations are those of the photos that have the group.
    np.testing.assert_allclose(scaler.means_["audio:mfcc"], X[:10, 4:].mean(axis=0), rtol=1e-5)
    scaled = scaler.transform(X)
    assert not scaled[10:, 4:].any()
    # Of two photos without sound all that counts is what they show, as if there were no sound.
    np.testing.assert_allclose(np.linalg.norm(scaled, axis=1), 1.0, rtol=1e-5)
    alone = GroupScaler(FeatureGroups(["moments"], [4])).fit(X[:, :4]).transform(X[:, :4])
    np.testing.assert_allclose(scaled[10:, :4], alone[10:], rtol=1e-4, atol=1e-6)
    again = GroupScaler.restore(groups, scaler.choices_, scaler.means_, scaler.scales_)
    np.testing.assert_array_equal(again.transform(X), scaled)


def test_a_photo_with_nothing_else_is_zero():
    X = np.zeros((3, 2))
    X[0] = 1, 2
    assert not GroupScaler(FeatureGroups(["audio:mfcc"], [2])).fit_transform(X)[1:].any()


def test_learning_takes_missing_sound_for_no_word():
    from tagloom.tuning.auto.views import PhotoViews, default_views

    random = np.random.default_rng(1)
    X = random.standard_normal((60, 8)).astype(np.float32)
    X[20:, 5:] = 0.0
    groups = FeatureGroups(["deep", "audio:mfcc"], [5, 3])
    views = PhotoViews(np.abs(X) * (X != 0), groups, n_neighbors=5, smoothing=1.0, n_threads=1)
    assert not views.plain[20:, views.groups["audio:mfcc"]].any()
    assert views.plain[:20, views.groups["audio:mfcc"]].any(axis=1).all()
    np.testing.assert_allclose(views.plain[:20, views.groups["audio:mfcc"]].mean(axis=0), 0.0, atol=1e-6)
    found = {view.name: view.weights for view in default_views(["deep", "color", "audio:mfcc"])}
    assert found["sound"] == {"audio:mfcc": 1.0}
    assert found["sight and sound"]["audio:mfcc"] == pytest.approx(0.5)
    assert sum(found["sight and sound"].values()) == pytest.approx(1.0)
    assert not {"sound", "sight and sound"} & {view.name for view in default_views(["deep", "color"])}
