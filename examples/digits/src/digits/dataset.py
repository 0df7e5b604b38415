"""The data: 1,797 handwritten digits of 8 by 8 pixels that scikit-learn ships."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

Images = NDArray[np.float64]
Labels = NDArray[np.int64]


class Split(NamedTuple):
    """Images of shape (samples, 64), scaled to 0..1, and labels of shape (samples,)."""

    train_images: Images
    train_labels: Labels
    test_images: Images
    test_labels: Labels


def load(*, test_share: float, seed: int) -> Split:
    """Shuffle the data set and hold a share of it back for the test."""
    bunch = load_digits()
    images = np.asarray(bunch.data, dtype=np.float64) / 16.0
    labels = np.asarray(bunch.target, dtype=np.int64)
    order = np.random.default_rng(seed).permutation(len(labels))
    held_back = int(len(labels) * test_share)
    test, train = order[:held_back], order[held_back:]
    return Split(images[train], labels[train], images[test], labels[test])
