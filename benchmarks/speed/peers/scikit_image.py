"""What scikit-image (and PyWavelets) have of the descriptors; runs in its own environment, see ``scikit-image.txt``."""

import numpy as np

LUMA = np.array([0.299, 0.587, 0.114])
LIGHTNESS = [-np.inf, 25, 50, 75, np.inf]
CHROMA = [-np.inf, -10, 5, 20, np.inf]


def _rows(function, arrays):
    return {"rows": np.stack([function(pixels) for pixels in arrays["pixels"]])}


def lab(arrays):
    """Convert to CIE LAB."""
    from skimage.color import rgb2lab

    return _rows(rgb2lab, arrays)


def lab_histogram(arrays):
    """Return the 64-bin LAB histograms."""
    from skimage.color import rgb2lab

    def row(pixels):
        flat = rgb2lab(pixels).reshape(-1, 3)
        counts, _ = np.histogramdd(flat, bins=[LIGHTNESS, CHROMA, CHROMA])
        return counts.ravel() / len(flat)

    return _rows(row, arrays)


def rgb_histogram(arrays):
    """Return the 256-bin RGB histograms."""

    def row(pixels):
        flat = pixels.reshape(-1, 3)
        counts, _ = np.histogramdd(flat, bins=[8, 8, 4], range=[(0, 256)] * 3)
        return counts.ravel() / len(flat)

    return _rows(row, arrays)


def edges(arrays):
    """Return histograms of 72 edge directions, and the share of the other pixels."""
    from skimage.filters import sobel_h, sobel_v

    def row(pixels):
        luma = pixels @ LUMA
        gx, gy = 4 * sobel_v(luma), 4 * sobel_h(luma)
        angles = np.arctan2(gy, gx)[np.hypot(gx, gy) >= 100]
        bins = np.rint(angles * 36 / np.pi).astype(int) % 72
        counts = np.bincount(bins, minlength=72)
        return np.append(counts / max(1, len(angles)), 1 - len(angles) / luma.size)

    return _rows(row, arrays)


def cooccurrence(arrays):
    """Return contrast, homogeneity, entropy and correlation of four directions."""
    from skimage.feature import graycomatrix, graycoprops

    def row(pixels):
        levels = ((pixels @ LUMA + 1e-9) / 16).astype(np.uint8)
        matrices = graycomatrix(
            # Haralick's 45° is 135° here.
            levels,
            [1],
            [0, 3 * np.pi / 4, np.pi / 2, np.pi / 4],
            levels=16,
            symmetric=True,
            normed=True,
        )
        names = ("contrast", "homogeneity", "entropy", "correlation")
        return np.stack([graycoprops(matrices, name)[0] for name in names], axis=1).ravel()

    return _rows(row, arrays)


def gabor(arrays):
    """Return mean and deviation of the magnitude of 24 Gabor responses (widths of scikit-image)."""
    from skimage.filters import gabor

    def row(pixels):
        luma = pixels @ LUMA
        numbers = []
        for frequency in (0.4, 0.2, 0.1, 0.05):
            for direction in range(6):
                real, imaginary = gabor(luma, frequency, theta=direction * np.pi / 6, bandwidth=1)
                magnitude = np.hypot(real, imaginary)
                numbers += [magnitude.mean(), magnitude.std()]
        return np.array(numbers)

    return _rows(row, arrays)


def gradients(arrays):
    """Return histograms of 8 directions over 180° in 8 × 8 cells: the finest level of the pyramid alone."""
    from skimage.feature import hog

    def row(pixels):
        height, width = pixels.shape[:2]
        cell = (height // 8, width // 8)
        return hog(pixels @ LUMA, orientations=8, pixels_per_cell=cell, cells_per_block=(1, 1))

    return _rows(row, arrays)


def wavelet(arrays):
    """Return mean and deviation of the bands of the pyramid and of the tree, by PyWavelets."""
    from pywt import dwt2

    def statistics(band):
        size = np.abs(band)
        return [size.mean(), size.std()]

    def split(band):
        low, (horizontal, vertical, diagonal) = dwt2(band, "db2", mode="symmetric")
        return [low / 2, horizontal / 2, vertical / 2, diagonal / 2]

    def row(pixels):
        luma = pixels @ LUMA
        numbers, low = [], luma
        for _ in range(4):
            low, *details = split(low)
            for band in details:
                numbers += statistics(band)
        level = [luma]
        for _ in range(3):
            found = [split(band) for band in level]
            numbers += [number for bands in found for band in bands for number in statistics(band)]
            level = [band for bands in found for band in bands[:3]]
        return np.array(numbers)

    return _rows(row, arrays)


def slic(arrays):
    """Segment into about ten regions by SLIC."""
    from skimage.segmentation import slic

    return _rows(lambda pixels: slic(pixels, n_segments=10, start_label=0), arrays)


def felzenszwalb(arrays):
    """Segment by Felzenszwalb and Huttenlocher's method at a scale that gives some ten regions."""
    from skimage.segmentation import felzenszwalb

    return _rows(lambda pixels: felzenszwalb(pixels, scale=500, sigma=0.8, min_size=400), arrays)
