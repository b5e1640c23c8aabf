"""Data of any kind, given to models and guides: something finite, or one sentence."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from properties.calls import _check_sentence
from properties.hostile import broken, finite

from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter
from pyroclust.models import gaussian2d, niw_mixture

MODEL, WISHART = gaussian2d(), niw_mixture(2)
FILTER = PredictiveFilter(MODEL)
NETWORK = NeuralClusteringProcess(WISHART)
LABELS = torch.tensor([0, 0, 1, 0])
CALLS: dict[str, Callable[[Any], torch.Tensor]] = {
    "log_joint": lambda data: MODEL.log_joint(data, LABELS),
    "filter": lambda data: FILTER.posterior(data).sample_and_log_prob((2,))[1],
    "network": lambda data: NETWORK.posterior(data).sample_and_log_prob((2,))[1],
}
DATA = finite(4, 2).flatmap(
    lambda data: st.one_of(st.just(data), broken(data), broken(torch.from_numpy(data)))
)


@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=25)
@given(DATA)
def test_any_data_give_finite_numbers_or_one_sentence(name: str, data: Any) -> None:
    kept = data.copy() if isinstance(data, np.ndarray) and data.dtype != object else None
    try:
        found = CALLS[name](data)
    except ValueError as error:
        _check_sentence(error)
        return
    assert found.isfinite().all()
    if kept is not None:
        np.testing.assert_array_equal(np.ma.getdata(data), np.ma.getdata(kept))
