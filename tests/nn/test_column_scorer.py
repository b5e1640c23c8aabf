"""The scorer of tables: columns are a set, missing ones say nothing, and weights serve any table."""

import pytest
import torch

from pyroclust.distributions import student_t
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter, retarget
from pyroclust.guides.neural_clustering_process import column_scorer_for
from pyroclust.infer.simulation import simulate
from pyroclust.models import Mixture, gaussian2d, table_mixture
from pyroclust.models.training_data.simulated_tables import LosingCells
from pyroclust.nn import RandomOrder

MIXED = table_mixture(numbers=3, count_means=[2.0], yes_no=2, levels=[3], missing=True)


def guide_of(model, *, shaken=True, foresight=8):
    torch.manual_seed(0)
    scorer = column_scorer_for(model, width=12, column_width=6, foresight=foresight)
    guide = NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder()).eval()
    if shaken:
        with torch.no_grad():
            for one in guide.parameters():
                one.add_(0.3 * torch.randn_like(one))
    return guide


def table(model, points, *, share=0.2, seed=1):
    torch.manual_seed(seed)
    return simulate(LosingCells(model, share), torch.empty(2, points, *model.event_shape))


def test_training_starts_at_the_exact_filter():
    data, labels = table(MIXED, 12)
    order = torch.arange(12)
    own = guide_of(MIXED, shaken=False).posterior(data, order=order).log_prob(labels)
    exact = PredictiveFilter(MIXED).posterior(data, order=order).log_prob(labels)
    torch.testing.assert_close(own.double(), exact, atol=1e-4, rtol=1e-4)


def test_the_order_of_alike_columns_does_not_matter():
    data, labels = table(MIXED, 15)
    guide, order = guide_of(MIXED), torch.randperm(15)
    turned = data[..., [2, 0, 1, 3, 5, 4, 6]]
    before, after = (guide.posterior(one, order=order).log_prob(labels) for one in (data, turned))
    torch.testing.assert_close(before, after, atol=1e-3, rtol=1e-4)


def test_a_column_of_which_every_cell_is_missing_changes_nothing_but_its_share():
    narrow = table_mixture(numbers=2, yes_no=1, missing=True)
    wide = table_mixture(numbers=3, yes_no=1, missing=True)
    data, labels = table(narrow, 12, share=0.0)
    empty = torch.full_like(data[..., :1], torch.nan)
    padded = torch.cat([data[..., :2], empty, data[..., 2:]], -1)
    guide, order = guide_of(narrow), torch.arange(12)
    with torch.no_grad():
        # The last input of a point's context is the share of its cells that are there.
        guide.scorer.context[0].weight[:, -1] = 0
    before = guide.posterior(data, order=order).log_prob(labels)
    after = guide.of(wide).posterior(padded, order=order).log_prob(labels)
    torch.testing.assert_close(before, after, atol=1e-3, rtol=1e-4)


def test_one_set_of_weights_serves_other_tables_and_learns_from_them():
    guide = guide_of(table_mixture(numbers=2))
    other = guide.of(MIXED)
    assert other.model is MIXED
    assert guide.model.component.dim == 2
    assert {id(one) for one in other.parameters()} == {id(one) for one in guide.parameters()}
    data, labels = table(MIXED, 12)
    other.posterior(data).log_prob(labels).sum().backward()
    assert all(one.grad is not None for one in guide.parameters())
    assert guide.posterior(torch.randn(5, 2)).sample().shape == (5,)


def test_weights_are_carried_over_to_train_further_on_another_table():
    guide = guide_of(table_mixture(numbers=2, missing=True))
    new = retarget(guide, MIXED)
    assert new.model is MIXED
    data, labels = table(MIXED, 10)
    order = torch.arange(10)
    before = guide.of(MIXED).posterior(data, order=order).log_prob(labels)
    torch.testing.assert_close(new.posterior(data, order=order).log_prob(labels), before)
    assert {id(one) for one in new.parameters()}.isdisjoint(id(one) for one in guide.parameters())


def test_what_serves_one_model_is_not_taken_to_another():
    guide = NeuralClusteringProcess(gaussian2d())
    with pytest.raises(ValueError, match="scorer is a LightScorer, which is made for one model"):
        guide.of(MIXED)
    free = Mixture(MIXED.prior, student_t(2))
    with pytest.raises(ValueError, match="has no exact filter, expected a mixture of a conjugate family"):
        guide_of(MIXED).of(free)
    with pytest.raises(ValueError, match="has no exact filter"):
        column_scorer_for(free)


def test_a_cell_outside_of_what_its_column_can_hold_is_named():
    data, _ = table(MIXED, 5, share=0.0)
    data[1, 3, 3] = -1.0
    for guide in (guide_of(MIXED), PredictiveFilter(MIXED)):
        with pytest.raises(ValueError, match=r"-1\.0.* at index \(1, 3\), expected"):
            guide.posterior(data)
