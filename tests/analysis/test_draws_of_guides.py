"""Draws of a guide for a comparison: in blocks where tables are wide, with log q and log p of each draw."""

from unittest import mock

import numpy as np
import pytest
import torch

from pyroclust.analysis import drawing
from pyroclust.analysis.steps import Settings, Work
from pyroclust.distributions.sequential.partition import SequentialPartition
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import importance
from pyroclust.models import nig_mixture
from pyroclust.results.analysis import Analysis
from pyroclust.results.records import GuideRecord


@pytest.mark.parametrize(("dim", "num_blocks"), [(4, 8), (5, 16)])
def test_draws_of_wide_tables_come_in_blocks(dim, num_blocks, monkeypatch):
    monkeypatch.setattr(importance, "_NUMBERS_AT_ONCE", 7 * 9 * dim)
    data = torch.from_numpy(np.random.default_rng(0).standard_normal((9, dim)))
    guide = PredictiveFilter(nig_mixture(dim))
    work = Work(
        analysis=Analysis(command="compare", guide=GuideRecord("filter")),
        settings=Settings(num_draws=100),
        model=guide.model,
        data=data,
        guide=guide,
    )
    with mock.patch.object(
        SequentialPartition,
        "sample_and_log_prob",
        autospec=True,
        side_effect=SequentialPartition.sample_and_log_prob,
    ) as draws:
        drawing.draw_guide(work)
    found, posteriors = work.analysis.draws["guide"], work.posteriors
    sizes = [call.args[1][0] for call in draws.call_args_list]
    assert (len(sizes), sum(sizes)) == (num_blocks, 100)
    assert len({tuple(one.order.ravel().tolist()) for one in posteriors}) == 8
    assert found.assignments.shape == (1, 100, 9)
    labels = torch.from_numpy(found.assignments[0])
    parts = labels.tensor_split(8)
    own = torch.cat([one.log_prob(part) for one, part in zip(posteriors, parts, strict=True)])
    np.testing.assert_allclose(found.log_prob[0], own.numpy(), atol=1e-9)
    np.testing.assert_allclose(found.log_joint[0], guide.model.log_joint(data, labels).numpy())
    assert len(np.unique(found.assignments[0], axis=0)) > 10
