"""Tables of the likelihood of edges in compiled code, and what lies beyond their end."""

import numpy as np
import pytest
import torch

from pyroclust.core.compiling import compiled
from pyroclust.distributions import block_rates
from pyroclust.distributions.block_rates import (
    RateTable,
    log_beta_binomial,
    log_edges,
    log_no_edges,
    rate_table,
)

LAW = (2.5, 1.25)


@compiled
def every(table: RateTable, pairs: int) -> np.ndarray:
    """Return the log-probabilities of 0 to so many edges."""
    found = np.zeros(pairs + 1)
    for edges in range(pairs + 1):
        found[edges] = log_edges(table, edges, pairs) - log_no_edges(table)
    return found


@pytest.mark.parametrize("longest", [None, 7])
def test_values_are_those_of_the_likelihood_within_the_table_and_beyond(longest, monkeypatch):
    if longest is not None:
        monkeypatch.setattr(block_rates, "_LONGEST_TABLE", longest)
    rate_table.cache_clear()
    table = rate_table(LAW, 8)
    rate_table.cache_clear()
    assert len(table.ones) == (29 if longest is None else longest)
    for pairs in (0, 1, 6, 28):
        edges = torch.arange(pairs + 1).double()
        expected = log_beta_binomial(edges, torch.tensor(float(pairs)).double(), LAW)
        np.testing.assert_allclose(every(table, pairs), expected.numpy(), atol=1e-12)


def test_chains_of_one_graph_share_their_table():
    assert rate_table(LAW, 9) is rate_table(LAW, 9)
    assert rate_table(LAW, 9) is not rate_table(LAW, 10)
