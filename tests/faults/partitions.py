"""Labels that are no canonical label vector, given to densities, and to whatever takes a partition."""

from functools import partial

import numpy as np
import pyro
import torch
from faults.cases import Case, of_family
from torch import Tensor

from pyroclust.distributions import ChineseRestaurantProcess, ClusteredData
from pyroclust.guides import PredictiveFilter
from pyroclust.infer.mcmc import CollapsedGibbs
from pyroclust.models import gaussian2d
from pyroclust.models.predictive import PosteriorPredictive
from pyroclust.partitions import canonical, enumerate_partitions, is_canonical, num_clusters

refuses, gives, _ = of_family("partitions")

POINTS = torch.tensor([[0.0, 0.0], [0.1, 0.0], [3.0, 0.0]])
MODEL = gaussian2d()
RESTAURANT, POSTERIOR = ChineseRestaurantProcess(1.0, 3), PredictiveFilter(MODEL).posterior(POINTS)
NOT_CANONICAL = "not canonical, expected clusters numbered 0, 1, 2, ..."


def log_joint(labels: Tensor, data: Tensor = POINTS) -> float:
    """Return the joint density of one partition."""
    return MODEL.log_joint(data, labels).item()


def without_validation() -> float:
    """Evaluate gapped labels with Pyro's switch off."""
    with pyro.validation_enabled(is_validate=False):
        return log_joint(torch.tensor([5, 5, 5]))


def started(init: object) -> object:
    return CollapsedGibbs(MODEL, init=init).run(POINTS, num_draws=1)


TWO_AND_ONE, GAP = torch.tensor([0, 0, 1]), torch.tensor([0, 2, 1])
DENSITY = log_joint(TWO_AND_ONE)
BATCH = torch.zeros(2, 3, dtype=torch.int64)
CASES: list[Case] = [
    *(
        refuses(f"log_joint of {name}", partial(log_joint, labels), words)
        for name, labels, words in (
            ("labels with a gap", GAP, NOT_CANONICAL),
            ("labels in another order", torch.tensor([1, 0, 0]), NOT_CANONICAL),
            ("negative labels", torch.tensor([-1, -1, 0]), NOT_CANONICAL),
            ("a label beyond memory", torch.tensor([0, 2**62, 1]), NOT_CANONICAL),
            ("a label that is not whole", torch.tensor([0.0, 0.5, 1.0]), NOT_CANONICAL),
            ("a missing label", torch.tensor([0.0, torch.nan, 1.0]), NOT_CANONICAL),
            ("one bad row in a batch", torch.stack([TWO_AND_ONE, GAP]), NOT_CANONICAL),
            ("complex labels", TWO_AND_ONE.to(torch.complex64), "expected a dense one of integers"),
            ("sparse labels", TWO_AND_ONE.to_sparse(), "expected a dense one of integers"),
            ("an array", np.array([0, 0, 1]), "expected a tensor of labels"),
            ("too few labels", torch.tensor([0, 1]), "assignments has shape (2,), expected (..., 3)"),
        )
    ),
    *(
        refuses(name, call, words)
        for name, call, words in (
            (
                "log_joint of two partitions and five data sets",
                lambda: MODEL.log_joint(POINTS.expand(5, 3, 2), BATCH),
                "with batches that broadcast",
            ),
            (
                "log_joint of a missing coordinate",
                lambda: log_joint(TWO_AND_ONE, POINTS.log()),
                "expected finite numbers",
            ),
            ("log_joint of a gap, Pyro's validation off", without_validation, NOT_CANONICAL),
            ("a prior of a gap", lambda: MODEL.prior.log_prob(GAP), NOT_CANONICAL),
            ("log_prob of a gap", lambda: RESTAURANT.log_prob(GAP), NOT_CANONICAL),
            (
                "log_prob of a batch that does not fit",
                lambda: ChineseRestaurantProcess(torch.ones(5), 3).log_prob(BATCH),
                "broadcasts with the batch (5,)",
            ),
            ("a guide's log_prob of a gap", lambda: POSTERIOR.log_prob(GAP), NOT_CANONICAL),
            ("a guide's merged_log_prob of a gap", lambda: POSTERIOR.merged_log_prob(GAP), NOT_CANONICAL),
            ("a guide completes a gap", lambda: POSTERIOR.given(GAP, num_free=1), NOT_CANONICAL),
            (
                "data of clusters with negative labels",
                lambda: ClusteredData(MODEL.component, torch.tensor([-1, 0, 0])),
                "whole numbers from 0 to 2",
            ),
            ("predictions from a gap", lambda: PosteriorPredictive(MODEL, POINTS, GAP[None]), NOT_CANONICAL),
            (
                "a chain starts at too few points",
                lambda: started(torch.tensor([0, 1])),
                "init has shape (2,), expected (3,)",
            ),
            (
                "a chain starts at an array",
                lambda: started(np.array([0, 0, 1])),
                "expected a tensor of labels",
            ),
            (
                "a chain starts at a fraction",
                lambda: started(torch.tensor([0.0, 0.5, 1])),
                "expected integers",
            ),
            ("clusters of gapped labels", lambda: num_clusters(torch.tensor([5, 5])), NOT_CANONICAL),
            ("no points are canonical", lambda: is_canonical(torch.zeros(0)), "at least one point"),
            ("partitions of 11 points", lambda: enumerate_partitions(11), "expected at most 10"),
        )
    ),
    *(
        gives(
            f"log_joint of labels of type {kind}",
            partial(log_joint, TWO_AND_ONE.to(kind)),
            log_joint(TWO_AND_ONE),
        )
        for kind in (torch.bool, torch.int8, torch.uint64, torch.bfloat16)
    ),
    gives("log_joint of no partitions at all", lambda: MODEL.log_joint(POINTS, BATCH[:0]).tolist(), []),
    gives(
        "255 clusters in bytes are canonical",
        lambda: is_canonical(torch.arange(256).to(torch.uint8)).item(),
        True,
    ),
    gives(
        "canonical labels beyond 2^63",
        lambda: canonical(torch.tensor([2**64 - 1, 0, 2**64 - 1], dtype=torch.uint64)).tolist(),
        [0, 1, 0],
    ),
]
