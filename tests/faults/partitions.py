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
NOT_CANONICAL = "not canonical, expected clusters numbered 0, 1, 2, ..."


def log_joint(labels: Tensor, data: Tensor = POINTS) -> float:
    """Return the joint density of one partition."""
    return MODEL.log_joint(data, labels).item()


def without_validation() -> float:
    """Evaluate gapped labels with Pyro's switch off."""
    with pyro.validation_enabled(is_validate=False):
        return log_joint(torch.tensor([5, 5, 5]))


def posterior():
    """Return an exact filter of three points."""
    return PredictiveFilter(MODEL).posterior(POINTS)


def _family(name: str, labels: object, words: str) -> Case:
    return refuses(f"log_joint of {name}", partial(log_joint, labels), words)


TWO_AND_ONE = log_joint(torch.tensor([0, 0, 1]))

CASES = [
    _family("all labels 5", torch.tensor([5, 5, 5]), NOT_CANONICAL),
    _family("labels with a gap", torch.tensor([0, 2, 2]), NOT_CANONICAL),
    _family("labels in another order", torch.tensor([1, 0, 0]), NOT_CANONICAL),
    _family("negative labels", torch.tensor([-1, -1, 0]), NOT_CANONICAL),
    _family("a label beyond memory", torch.tensor([0, 2**62, 1]), NOT_CANONICAL),
    _family("a label that is not whole", torch.tensor([0.0, 0.5, 1.0]), NOT_CANONICAL),
    _family("a missing label", torch.tensor([0.0, torch.nan, 1.0]), NOT_CANONICAL),
    _family("one bad row in a batch", torch.tensor([[0, 0, 1], [0, 2, 1]]), NOT_CANONICAL),
    _family(
        "complex labels", torch.tensor([0, 1, 0], dtype=torch.complex64), "expected a dense one of integers"
    ),
    _family("sparse labels", torch.tensor([0, 1, 0]).to_sparse(), "expected a dense one of integers"),
    _family("an array", np.array([0, 0, 1]), "expected a tensor of labels"),
    _family("text", "001", "expected a tensor of labels"),
    _family("too few labels", torch.tensor([0, 1]), "assignments has shape (2,), expected (..., 3)"),
    _family(
        "no labels", torch.tensor([], dtype=torch.int64), "assignments has shape (0,), expected (..., 3)"
    ),
    refuses(
        "log_joint of two partitions and five data sets",
        lambda: MODEL.log_joint(POINTS.expand(5, 3, 2), torch.zeros(2, 3, dtype=torch.int64)),
        "with batches that broadcast",
    ),
    refuses(
        "log_joint of a missing coordinate",
        lambda: log_joint(torch.tensor([0, 0, 1]), POINTS.log()),
        "expected finite numbers",
    ),
    refuses("log_joint of gapped labels, Pyro's validation off", without_validation, NOT_CANONICAL),
    *(
        gives(f"log_joint of labels of type {kind}", partial(log_joint, labels), TWO_AND_ONE)
        for kind, labels in (
            (str(kind).removeprefix("torch."), torch.tensor([0, 0, 1]).to(kind))
            for kind in (torch.bool, torch.uint8, torch.int8, torch.uint64, torch.float32, torch.bfloat16)
        )
    ),
    gives(
        "log_joint of no partitions at all",
        lambda: MODEL.log_joint(POINTS, torch.zeros(0, 3, dtype=torch.int64)).tolist(),
        [],
    ),
    refuses("prior of gapped labels", lambda: MODEL.prior.log_prob(torch.tensor([0, 2])), NOT_CANONICAL),
    refuses(
        "log_prob of gapped labels",
        lambda: ChineseRestaurantProcess(1.0, 3).log_prob(torch.tensor([0, 2, 1])),
        NOT_CANONICAL,
    ),
    refuses(
        "log_prob of a fraction between labels",
        lambda: ChineseRestaurantProcess(1.0, 3).log_prob(torch.tensor([0.0, 0.5, 1.0])),
        NOT_CANONICAL,
    ),
    refuses(
        "log_prob of a batch that does not fit",
        lambda: ChineseRestaurantProcess(torch.ones(5), 3).log_prob(torch.zeros(2, 3, dtype=torch.int64)),
        "broadcasts with the batch (5,)",
    ),
    refuses(
        "a guide's log_prob of gapped labels",
        lambda: posterior().log_prob(torch.tensor([0, 2, 1])),
        NOT_CANONICAL,
    ),
    refuses(
        "a guide's merged_log_prob of gapped labels",
        lambda: posterior().merged_log_prob(torch.tensor([0, 2, 1])),
        NOT_CANONICAL,
    ),
    refuses(
        "a guide completes gapped labels",
        lambda: posterior().given(torch.tensor([0, 2, 1]), num_free=1),
        NOT_CANONICAL,
    ),
    refuses(
        "data of clusters with negative labels",
        lambda: ClusteredData(MODEL.component, torch.tensor([-1, 0, 0])),
        "whole numbers from 0 to 2",
    ),
    refuses(
        "predictions from gapped labels",
        lambda: PosteriorPredictive(MODEL, POINTS, torch.tensor([[0, 2, 1]])),
        NOT_CANONICAL,
    ),
    refuses(
        "a chain starts at labels of too few points",
        lambda: CollapsedGibbs(MODEL, init=torch.tensor([0, 1])).run(POINTS, num_draws=1),
        "init has shape (2,), expected (3,)",
    ),
    refuses(
        "a chain starts at an array",
        lambda: CollapsedGibbs(MODEL, init=np.array([0, 0, 1])),
        "expected a tensor of labels or starts",
    ),
    refuses(
        "a chain starts at labels that are not whole",
        lambda: CollapsedGibbs(MODEL, init=torch.tensor([0.0, 0.5, 1.0])).run(POINTS, num_draws=1),
        "expected integers",
    ),
    refuses("canonical labels of floats", lambda: canonical(torch.zeros(3)), "expected integers"),
    refuses("canonical labels of a list", lambda: canonical([0, 1]), "expected a tensor of labels"),
    refuses("clusters of gapped labels", lambda: num_clusters(torch.tensor([5, 5])), NOT_CANONICAL),
    refuses("no points are canonical", lambda: is_canonical(torch.zeros(0)), "at least one point"),
    refuses("partitions of 11 points", lambda: enumerate_partitions(11), "expected at most 10"),
    gives("200 clusters in bytes", lambda: num_clusters(torch.arange(200).to(torch.uint8)).item(), 200),
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
