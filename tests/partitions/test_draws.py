"""Draws of any software as one class."""

import arviz
import numpy as np
import pandas as pd
import pytest
import torch

from pyroclust import to_arviz
from pyroclust.partitions import Draws, canonical

LABELS = canonical(torch.from_numpy(np.random.default_rng(0).integers(3, size=(2, 20, 6)))).numpy()
LOG_JOINT = np.random.default_rng(1).standard_normal((2, 20))


def test_log_densities_come_along():
    drawn = Draws.of({"assignments": torch.from_numpy(LABELS), "log_joint": torch.from_numpy(LOG_JOINT)})
    np.testing.assert_array_equal(drawn.log_joint, LOG_JOINT)
    assert drawn.log_prob is None
    again = Draws.of(to_arviz(drawn))
    np.testing.assert_array_equal(again.log_joint, LOG_JOINT)
    assert Draws.of(drawn) is drawn


def test_labels_of_any_kind_in_a_container():
    flat = LABELS * 7 - 3
    tree = (
        arviz.from_dict({"assignments": flat})
        if int(arviz.__version__.split(".")[0]) < 1
        else arviz.from_dict({"posterior": {"assignments": flat}})
    )
    np.testing.assert_array_equal(Draws.of(tree).assignments, LABELS)


def test_numbers_of_each_draw_have_to_fit():
    with pytest.raises(ValueError, match=r"log_prob has shape \(40,\), expected \(2, 20\)"):
        Draws(assignments=LABELS, log_prob=LOG_JOINT.ravel())
    with pytest.raises(ValueError, match=r"rate has shape \(6,\), expected \(2, 20\)"):
        Draws(assignments=LABELS, parameters={"rate": np.ones(6)})
    with pytest.raises(ValueError, match="mine has 3 values of log_joint, expected 40, one a draw"):
        Draws.of({"assignments": LABELS, "log_joint": np.ones(3)}, name="mine")


def test_what_may_hold_more_than_labels_or_has_weights_is_refused():
    with pytest.raises(ValueError, match=r"mine, a data frame, .*: give pyroclust.read_draws\(frame\)"):
        Draws.of(pd.DataFrame(LABELS[0]), name="mine")
    with pytest.raises(ValueError, match="holds 'weights', one a draw, expected equally weighted draws"):
        Draws.of({"assignments": LABELS[0], "weights": np.arange(20.0)})
