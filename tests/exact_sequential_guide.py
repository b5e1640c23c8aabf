"""A sequential guide that looks ahead perfectly: the exact posterior of few points, read from a table."""

from dataclasses import dataclass

import torch
from torch import Tensor

from pyroclust.distributions.sequential.partition import SequentialPartition
from pyroclust.distributions.sequential.scorer import Scorer
from pyroclust.infer import exact_posterior
from pyroclust.partitions import canonical


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
