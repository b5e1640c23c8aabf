"""What known labels say of a partition."""

import numpy as np
import pytest

from pyroclust.baselines.scores import labels_found


def test_labels_are_found_by_clusters():
    labels = np.array(["star"] * 4 + ["other"] * 3 + [None], dtype=object)
    rows = labels_found(labels, np.array([1, 1, 1, 0, 0, 0, 1, 1]))
    assert [(one.label, one.points, one.cluster) for one in rows] == [("star", 4, 1), ("other", 3, 0)]
    assert [one.share_found for one in rows] == [0.75, pytest.approx(2 / 3)]
    assert [one.share_of_cluster for one in rows] == [0.75, pytest.approx(2 / 3)]
