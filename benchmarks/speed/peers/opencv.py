"""What OpenCV has of the descriptors, called as one would call it; the same environment as tagloom's."""

import cv2
import numpy as np
from numpy.typing import NDArray

Pictures = NDArray[np.uint8]
FREQUENCIES = (0.4, 0.2, 0.1, 0.05)


def lab(pictures: Pictures) -> NDArray[np.float32]:
    """Convert to CIE LAB in single precision."""
    return np.stack([cv2.cvtColor(pixels.astype(np.float32) / 255, cv2.COLOR_RGB2LAB) for pixels in pictures])


def rgb_histogram(pictures: Pictures) -> NDArray[np.float32]:
    """Return the 256-bin RGB histograms."""
    rows = [cv2.calcHist([pixels], [0, 1, 2], None, [8, 8, 4], [0, 256] * 3).ravel() for pixels in pictures]
    return np.stack(rows) / pictures[0][..., 0].size


def edges(pictures: Pictures) -> NDArray[np.float32]:
    """Return histograms of 72 edge directions of rounded luma, and the share of the other pixels."""
    rows = []
    for pixels in pictures:
        grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
        gx = cv2.Sobel(grey, cv2.CV_32F, 1, 0, borderType=cv2.BORDER_REPLICATE)
        gy = cv2.Sobel(grey, cv2.CV_32F, 0, 1, borderType=cv2.BORDER_REPLICATE)
        length, angle = cv2.cartToPolar(gx, gy, angleInDegrees=True)
        mask = cv2.compare(length, 100, cv2.CMP_GE)
        turned = cv2.add(angle, 2.5)
        turned[turned >= 360] -= 360
        counts = cv2.calcHist([turned], [0], mask, [72], [0, 360]).ravel()
        n_edges = counts.sum()
        rows.append(np.append(counts / max(1, n_edges), 1 - n_edges / grey.size))
    return np.stack(rows).astype(np.float32)


def gabor(pictures: Pictures) -> NDArray[np.float32]:
    """Return mean and deviation of the magnitude of 24 Gabor responses, kernels cut at three deviations."""
    kernels = []
    for frequency in FREQUENCIES:
        deviation = 0.56 / frequency
        side = 2 * int(np.ceil(3 * deviation)) + 1
        for direction in range(6):
            angle = direction * np.pi / 6
            kernels.append(
                [
                    cv2.getGaborKernel((side, side), deviation, angle, 1 / frequency, 1.0, phase, cv2.CV_32F)
                    for phase in (0, np.pi / 2)
                ]
            )
    rows = []
    for pixels in pictures:
        luma = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(np.float32)
        numbers = []
        for even, odd in kernels:
            size = cv2.magnitude(cv2.filter2D(luma, cv2.CV_32F, even), cv2.filter2D(luma, cv2.CV_32F, odd))
            mean, deviation = cv2.meanStdDev(size)
            numbers += [mean[0, 0], deviation[0, 0]]
        rows.append(numbers)
    return np.array(rows, dtype=np.float32)


def dense_sift(pictures: Pictures) -> NDArray[np.float32]:
    """Describe 16-pixel patches on a grid of 8 pixels."""
    sift = cv2.SIFT_create()
    found = []
    for pixels in pictures:
        grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
        height, width = grey.shape
        rows = range((height - 16) % 8 // 2 + 8, height - 7, 8)
        columns = range((width - 16) % 8 // 2 + 8, width - 7, 8)
        # Its patch is 12 "sizes" wide for a key point of size 2: 16 pixels are a size of 2.67.
        places = [cv2.KeyPoint(float(x), float(y), 16 / 6, 0.0) for y in rows for x in columns]
        found.append(sift.compute(grey, places)[1])
    return np.stack(found)
