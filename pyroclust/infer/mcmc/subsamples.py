"""Large tables: partitions of all rows from some of them, and log joint densities from sums of clusters."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.compiling import compiled
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.mcmc.compiled.blocked import extend_rows
from pyroclust.infer.mcmc.compiled.chain import hyper_places, start_chain
from pyroclust.infer.mcmc.compiled.prior_tables import NUM_OF_PRIOR
from pyroclust.partitions import canonical


class PartOfRows(NamedTuple):
    """A partition of some rows, and the hyperparameters of the family under which it was drawn."""

    rows: np.ndarray
    labels: np.ndarray
    hyperparameters: dict[str, float]


def extended(model: CollapsedModel, data: Tensor, parts: Sequence[PartOfRows], *, seed: int) -> Tensor:
    """Draw the clusters of all other rows given each partition, from one draw of parameters, ``(P, N)``.

    No cluster is opened. Cost O(N K D) each, O(N K D^2) for full covariances.
    """
    chain = start_chain(model, data, np.random.default_rng(seed))
    places, found = hyper_places(model), []
    for part in parts:
        for name, value in part.hyperparameters.items():
            if places.get(name, 0) >= NUM_OF_PRIOR:
                chain.family.hyper[places[name] - NUM_OF_PRIOR] = value
        labels = part.labels.astype(np.int64)
        extend_rows(chain.family_at, chain.state_at, chain.prior_at, chain.generator, part.rows, labels)
        found.append(canonical(torch.from_numpy(chain.state.slot_of.copy())))
    return torch.stack(found)


def log_joint_of_draws(model: CollapsedModel, data: Tensor, assignments: np.ndarray) -> np.ndarray:
    """Return log p(partition, data) of draws of chains ``(C, S, N)``, ``(C, S)``.

    Neighbouring draws differ in few rows: sums of a chain go on from those of the draw before.
    """
    component = ConjugateComponent.of(model.component, otherwise="others have no log joint")
    moments = np.ascontiguousarray(component.moments(data).numpy())
    weight = np.ones(len(data)) if model.row_weights is None else model.row_weights.numpy().astype(float)
    found = np.empty(assignments.shape[:2])
    for c, chain in enumerate(assignments):
        width = int(chain.max()) + 1
        sizes, sums = np.zeros((len(chain), width)), np.zeros((len(chain), width, moments.shape[1]))
        sum_clusters(chain, weight, moments, sizes, sums)
        counts = torch.from_numpy(sizes)
        log_joint = component.log_likelihood(counts, torch.from_numpy(sums))
        for s, size in enumerate(counts.long()):
            used = size[size > 0]
            log_joint[s] += model.prior.log_prob(torch.arange(len(used)), weights=used)
        found[c] = log_joint.numpy()
    return found


@compiled(allocates=False)
def sum_clusters(
    labels: np.ndarray, weight: np.ndarray, moments: np.ndarray, sizes: np.ndarray, sums: np.ndarray
) -> None:
    """Sum weights and moments over the clusters of each draw, ``(S, N)``."""
    for s in range(len(labels)):
        if s > 0:
            for k in range(sizes.shape[1]):
                sizes[s, k] = sizes[s - 1, k]
                for f in range(moments.shape[1]):
                    sums[s, k, f] = sums[s - 1, k, f]
        for i in range(labels.shape[1]):
            now = labels[s, i]
            if s > 0 and labels[s - 1, i] == now:
                continue
            sizes[s, now] += weight[i]
            for f in range(moments.shape[1]):
                sums[s, now, f] += weight[i] * moments[i, f]
            if s > 0:
                before = labels[s - 1, i]
                sizes[s, before] -= weight[i]
                for f in range(moments.shape[1]):
                    sums[s, before, f] -= weight[i] * moments[i, f]
