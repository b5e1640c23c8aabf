"""Guides that are the exact posterior of few points, or a known distortion of it."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.sequential.partition import SequentialPartition
from pyroclust.distributions.sequential.scorer import Scorer
from pyroclust.infer import exact_posterior
from pyroclust.partitions import canonical, enumerate_partitions


@dataclass(frozen=True)
class TableEncoding:
    """Points as powers of two, so that a cluster's moments name its members."""

    moments: Tensor
    prefixes: list[dict[tuple[int, ...], float]]


class TableScorer(Scorer[TableEncoding]):
    """Scores a candidate by the posterior probability of the prefix it leads to."""

    def __init__(self, prefixes: list[dict[tuple[int, ...], float]], num_points: int) -> None:
        self.prefixes, self.num_points = prefixes, num_points
        generator = torch.Generator().manual_seed(0)
        self.hash = torch.rand(1 << num_points, generator=generator, dtype=torch.float64)
        self.by_hash = [
            {round(sum(self.hash[mask].item() for mask in masks), 9): value for masks, value in row.items()}
            for row in prefixes
        ]

    def encode(self, num_datasets: int) -> TableEncoding:
        bits = 2.0 ** torch.arange(self.num_points, dtype=torch.float64)
        return TableEncoding(bits.view(1, -1, 1).expand(num_datasets, -1, -1), self.prefixes)

    def absorb(
        self, encoding: TableEncoding, dataset: Tensor, steps: Tensor, counts: Tensor, moments: Tensor
    ) -> Tensor:
        return moments

    def contribution(self, states: Tensor) -> Tensor:
        return self.hash[states.long()]

    def query(
        self, encoding: TableEncoding, dataset: Tensor, step: Tensor, pooled: Tensor, clusters: Tensor
    ) -> Tensor:
        return torch.stack([dataset.double(), step.double(), pooled.squeeze(-1)], -1)

    def join(self, query: Tensor, states: Tensor) -> Tensor:
        mask = states.squeeze(-1).long()
        joined = mask + 2 ** query[:, 1].long()
        return self._look_up(query, query[:, 2] - self.hash[mask] + self.hash[joined])

    def open(self, query: Tensor) -> Tensor:
        return self._look_up(query, query[:, 2] + self.hash[2 ** query[:, 1].long()])

    def _look_up(self, query: Tensor, total: Tensor) -> Tensor:
        rows = zip(query[:, 0].long().tolist(), total.tolist(), strict=True)
        return torch.tensor([self.by_hash[row][round(key, 9)] for row, key in rows], dtype=torch.float64)


class ExactGuide:
    """Visits the points in a random order and labels them with their exact conditional probabilities."""

    conditions = ()
    mixes_orders = False

    def __init__(self, model: object) -> None:
        self.model = model

    def posterior(self, data: Tensor, *, order: Tensor | None = None) -> SequentialPartition:
        batch, points = data.shape[:-2], data.shape[-2]
        flat = data.reshape(-1, *data.shape[-2:])
        visit = torch.rand(len(flat), points).argsort(-1) if order is None else order.reshape(-1, points)
        scorer = TableScorer([self._prefixes(one, own) for one, own in zip(flat, visit, strict=True)], points)
        dataset = torch.arange(len(flat)).view(batch)
        return SequentialPartition(scorer, scorer.encode(len(flat)), order=visit, dataset=dataset)

    def _prefixes(self, data: Tensor, order: Tensor) -> dict[tuple[int, ...], float]:
        partitions, log_probs = exact_posterior(self.model, data)
        labels = canonical(partitions[:, order])
        found: dict[tuple[int, ...], float] = {}
        for length in range(1, labels.shape[1] + 1):
            bits = 2 ** torch.arange(length)
            masks = torch.zeros(len(labels), length, dtype=torch.int64)
            masks.scatter_add_(1, labels[:, :length], bits.expand(len(labels), -1))
            rows, which = masks.sort(-1).values.unique(dim=0, return_inverse=True)
            totals = torch.zeros(len(rows), dtype=torch.float64).index_add_(0, which, log_probs.exp())
            for row, total in zip(rows.tolist(), totals.log().tolist(), strict=True):
                found[tuple(mask for mask in row if mask)] = total
        return found


class EnumeratedPosterior(PartitionDistribution):
    """A law over all partitions, one row of log-probabilities a data set."""

    def __init__(self, log_probs: Tensor, num_points: int) -> None:
        super().__init__(num_points, batch_shape=log_probs.shape[:-1], validate_args=False)
        self.log_probs, self.partitions = log_probs, enumerate_partitions(num_points)
        self.powers = num_points ** torch.arange(num_points - 1, -1, -1)
        self.keys = self.partitions @ self.powers

    def _sample(self, shape: torch.Size) -> Tensor:
        return self.sample_and_log_prob(shape)[0]

    def sample_and_log_prob(self, shape: Any = ()) -> tuple[Tensor, Tensor]:
        index = torch.distributions.Categorical(logits=self.log_probs).sample(torch.Size(shape))
        draws = self.partitions[index]
        return draws, self.log_prob(draws)

    def _log_prob(self, value: Tensor) -> Tensor:
        index = torch.searchsorted(self.keys, value @ self.powers)
        rows = self.log_probs.expand(*index.shape, -1)
        return rows.gather(-1, index.unsqueeze(-1)).squeeze(-1)


class EnumeratedGuide:
    """The exact posterior of ``believed``, raised to a power: exact if that is the model and the power 1."""

    conditions = ()
    mixes_orders = False

    def __init__(self, model: Any, *, believed: Any | None = None, power: float = 1.0) -> None:
        self.model, self.believed, self.power = model, believed or model, power

    def posterior(self, data: Tensor) -> EnumeratedPosterior:
        log_probs = exact_posterior(self.believed, data)[1]
        return EnumeratedPosterior((self.power * log_probs).log_softmax(-1), data.shape[-2])
