"""Chains that have only roughly converged may stop where they confirm draws of the guide."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from pyroclust.analysis import comparing
from pyroclust.analysis.comparing import _confirm
from pyroclust.analysis.confirming import are_confirmed
from pyroclust.analysis.drawing import DrawsOfGuide
from pyroclust.diagnostics import Round
from pyroclust.results.partition_draws import PartitionDraws
from pyroclust.results.refinement import RefinedDraws

HALVES = np.random.default_rng(0).integers(2, size=(4, 1000, 6))
HALVES[..., 0] = 0
ONE = np.zeros_like(HALVES)
LAST = Round(40, 0.4, "entropy", 0.01, 1.01, 0.3, 900.0, 1000)
MOVING = Round(40, 0.001, "entropy", 0.01, 1.01, 0.3, 900.0, 1000)


def weighed(draws, log_weights):
    nothing = np.zeros(draws.shape[:2])
    return PartitionDraws("guide", draws, nothing + log_weights, 1.0, log_prob=nothing)


def refined(draws, last, *, proposals):
    return RefinedDraws(
        draws=PartitionDraws("refined", draws, None, 1.0),
        proposals=proposals,
        is_exact=True,
        kernel="sweeps",
        num_ancestors=100,
        seen=(last,),
        pareto_k=0.1,
        efficiency=0.5,
        evidences=(),
        seconds_of={},
    )


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        (DrawsOfGuide(PartitionDraws("guide", HALVES[:1], None, 1.0), is_exact=True), True),
        (DrawsOfGuide(PartitionDraws("guide", ONE[:1], None, 1.0), is_exact=True), False),
        # Of draws in halves and in one cluster, those in one cluster have no weight.
        (
            DrawsOfGuide(
                weighed(
                    np.concatenate([HALVES[:1], ONE[:1]], 1), np.repeat([0.0, -40.0], HALVES.shape[1])[None]
                ),
                is_exact=True,
            ),
            True,
        ),
        (
            DrawsOfGuide(
                weighed(ONE[:1], 0.0),
                is_exact=True,
                refined=refined(HALVES[1:2], LAST, proposals=weighed(ONE[:1], 0.0)),
            ),
            True,
        ),
        (
            DrawsOfGuide(
                weighed(ONE[:1], 0.0),
                is_exact=True,
                refined=refined(HALVES[1:2], MOVING, proposals=weighed(ONE[:1], 0.0)),
            ),
            False,
        ),
    ],
    ids=["as drawn", "far", "weighted", "refined", "not settled"],
)
def test_draws_are_confirmed_as_a_verdict_would(drawn, expected):
    assert are_confirmed(drawn, HALVES, tolerance=None) is expected


def test_chains_whose_halves_differ_confirm_nothing():
    drawn = DrawsOfGuide(PartitionDraws("guide", HALVES[:1], None, 1.0), is_exact=True)
    apart = np.concatenate([ONE[:2], np.tile(np.arange(6), (2, 1000, 1))])
    assert not are_confirmed(drawn, apart, tolerance=None)


def test_what_fails_confirms_nothing(monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("broken")

    monkeypatch.setattr(comparing, "are_confirmed", broken)
    drawn = DrawsOfGuide(PartitionDraws("guide", HALVES[:1], None, 1.0), is_exact=True)
    trace = SimpleNamespace(assignments=torch.from_numpy(HALVES))
    assert not _confirm(drawn, SimpleNamespace(tolerance=None), trace)
