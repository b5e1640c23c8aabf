"""Where guides err: clusters opened, closed and filled, early or late, by size.

    python benchmarks/where_guides_err.py [NAME ...] [--seed 5600]

Given data and earlier decisions, the next decision of a simulated partition is a draw of the exact posterior.
So over many data sets as many clusters open, as many points join and as many rounds take all that is left as
an exact guide expects, whether or not there is a likelihood; the difference is the guide's error. At seven
points all partitions are enumerated, and the divergence of a guide is the sum of those of its decisions. The
last results are kept in benchmarks/results/where_guides_err.json.
"""

import json
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from matplotlib.figure import Figure
from torch import Tensor

from pyroclust import load_guide, plots
from pyroclust.core.random_state import pyro_seeded
from pyroclust.distributions.clusterwise_partition import ForcedClusters
from pyroclust.distributions.protocols import data_shape, is_of_graphs
from pyroclust.distributions.sequential.scorer import ForcedSteps
from pyroclust.guides import (
    ClusterwiseClusteringProcess,
    DeepAmortizedClustering,
    NeuralClusteringProcess,
    PredictiveFilter,
)
from pyroclust.guides.exact_filters import exact_filter
from pyroclust.infer import exact_posterior, simulate
from pyroclust.nn import RandomOrder
from pyroclust.partitions import canonical

RESULTS = Path(__file__).parent / "results" / "where_guides_err.json"
PICTURE = Path(__file__).parents[1] / "docs" / "where_guides_err.png"
NAMES = (
    "ncp-sbm",
    "acp-sbm",
    "ncp-spikes",
    "acp-spikes",
    "dac-mog",
    "dac-warped",
    "ccp-gaussian2d",
    "ncp-published-gaussian2d",
    "settransformer-mog4",
)
# Within the sizes of their training.
SIZES = {
    "dac-mog": (50, 100, 300),
    "dac-warped": (50, 100, 300),
    "ncp-published-gaussian2d": (10, 30, 100),
    "settransformer-mog4": (100, 300),
}
# Points left for a round.
LEFT = (1, 2, 5, 10, 20, 50, 100, 1000)
DRAWS, PARTICLES, ENUMERATED = 49, 32, 7
_BINS = 10


def at_once(points: int) -> int:
    return max(1, 3000 // points)


def in_visiting_order(guide: Any, data: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return data sets and labels, not canonical, in the order in which the guide visits them."""
    if isinstance(guide.order, RandomOrder):
        return data, labels
    order = guide.order(data)
    return data.gather(1, order.unsqueeze(-1).expand_as(data)), labels.gather(1, order)


def one_order(guide: Any, data: Tensor) -> Any:
    """Return the posterior for points in the order in which they stand."""
    if isinstance(guide, NeuralClusteringProcess | PredictiveFilter):
        guide = guide.mixed(1)
    return guide.posterior(data, order=torch.arange(data.shape[1]))


def steps_of(guide: Any, data: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Score the decisions of partitions of one data set each, or of as many of each data set as there are.

    Shape:
        data: ``(B, N, ...)``; labels: ``(B S, N)`` canonical; output: probability that a cluster is opened,
            whether one is, and the log-probabilities of that and of the label given that, ``(B S, N - 1)``.
    """
    law = one_order(guide, data)
    dataset = torch.arange(len(data)).repeat_interleave(len(labels) // len(data))
    steps = ForcedSteps.of(labels)
    joined, opened = law.scorer.forced_logits(law.encoding, dataset, steps)
    table = steps.table(joined, opened).double().log_softmax(-1)
    new = table.gather(-1, steps.clusters.unsqueeze(-1)).squeeze(-1)
    taken = table.gather(-1, labels[:, 1:].reshape(-1, 1)).squeeze(-1)
    opens = labels[:, 1:].reshape(-1) == steps.clusters
    old = torch.log1p(-new.exp().clamp(max=1 - 1e-15))
    decision = torch.where(opens, new, old)
    shape = len(labels), labels.shape[1] - 1
    return tuple(one.view(shape) for one in (new.exp(), opens, decision, taken - decision))  # type: ignore[return-value]


def rounds_of(guide: Any, data: Tensor, labels: Tensor, *, with_sizes: bool = True) -> dict[str, Tensor]:
    """Score the rounds of partitions: what is left, what joins, what the guide says of both.

    Shape:
        data: ``(B, N, ...)``; labels: ``(B S, N)`` canonical; output: one entry a round in which there is
            something to decide.
    """
    law = one_order(guide, data)
    dataset = torch.arange(len(data)).repeat_interleave(len(labels) // len(data))
    order = torch.arange(data.shape[1]).expand(len(data), -1)[dataset]
    forced = ForcedClusters(
        law.scorer,
        law.encoding,
        dataset=dataset,
        order=order,
        labels=labels,
        num_particles=PARTICLES,
        constraints=None,
    )
    found: dict[str, list[Tensor]] = {}

    def note(**entries: Tensor) -> None:
        for name, value in entries.items():
            found.setdefault(name, []).append(value)

    for block, (step, joined) in zip(forced.blocks, forced.steps, strict=True):
        if not step.others.shape[1]:
            continue
        memberships = law.scorer.law(law.encoding, step)
        note(
            row=forced.row[block],
            cluster=forced.cluster[block],
            left=step.mask.sum(-1),
            log_prob=memberships.estimate(joined, PARTICLES)[0],
        )
        if not with_sizes:
            continue
        draws = torch.stack([memberships.draw()[0].sum(-1) for _ in range(DRAWS)]).double()
        size = joined.sum(-1)
        left = step.mask.sum(-1)
        below = (draws < size).double().sum(0) + torch.rand(len(size)) * ((draws == size).sum(0) + 1)
        last = memberships.estimate(step.mask, PARTICLES)[0].exp()
        note(
            size=size.double(),
            expected=draws.mean(0),
            rank=below / (DRAWS + 1),
            all=(size == left).double(),
            expected_all=last,
        )
    whole = {name: torch.cat(values) for name, values in found.items()}
    return {name: one[whole["left"] > 0] for name, one in whole.items()}


def mean_and_error(values: Any) -> list[float]:
    values = np.asarray(values, dtype=float)
    return [float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))]


def numbers_of_clusters(guide: Any, data: Tensor, labels: Tensor) -> dict[str, Any]:
    """Compare numbers of clusters of draws with those of the truth, and rank the latter among the former."""
    true = labels.amax(-1).numpy() + 1
    draws = torch.cat(
        [guide.posterior(some).sample((DRAWS,)).amax(-1) + 1 for some in data.split(at_once(data.shape[1]))],
        1,
    ).numpy()
    ties = (draws == true).sum(0) + 1
    rank = ((draws < true).sum(0) + np.random.default_rng(0).random(len(true)) * ties) / (DRAWS + 1)
    excess = draws.mean(0) - true
    expected = np.rint(draws.mean(0))
    return {
        "datasets": len(true),
        "truth": float(true.mean()),
        "excess": mean_and_error(excess),
        "rank": mean_and_error(rank),
        "ranks": np.histogram(rank, bins=_BINS, range=(0, 1))[0].tolist(),
        # By what the guide expects: data sets that are chosen by the truth would err with any guide.
        "excess by K": {
            int(k): [*mean_and_error(excess[expected == k]), int((expected == k).sum())]
            for k in np.unique(expected)
            if (expected == k).sum() >= 10
        },
    }


def sequential_row(guide: Any, data: Tensor, labels: Tensor) -> dict[str, Any]:
    """Sum openings expected less openings, and nats of both kinds of decision, over quarters of the steps."""
    data, labels = in_visiting_order(guide, data, labels)
    labels = canonical(labels)
    size = at_once(data.shape[1])
    parts = [steps_of(guide, *both) for both in zip(data.split(size), labels.split(size), strict=True)]
    chance, opens, opening, membership = (torch.cat(some) for some in zip(*parts, strict=True))
    filter_opening = filter_membership = None
    if guide.model.is_conjugate and not is_of_graphs(guide.model):
        exact = exact_filter(guide.model)
        parts = [steps_of(exact, *both) for both in zip(data.split(size), labels.split(size), strict=True)]
        _, _, filter_opening, filter_membership = (torch.cat(some) for some in zip(*parts, strict=True))
    rows = []
    for some in torch.arange(labels.shape[1] - 1).tensor_split(4):
        row = {
            "steps": [int(some[0]) + 1, int(some[-1]) + 1],
            "openings": opens[:, some].double().sum(-1).mean().item(),
            "excess": mean_and_error((chance - opens.double())[:, some].sum(-1)),
            "opening nats": opening[:, some].sum(-1).mean().item(),
            "membership nats": membership[:, some].sum(-1).mean().item(),
        }
        if filter_opening is not None:
            row["opening gain"] = mean_and_error((opening - filter_opening)[:, some].sum(-1))
            row["membership gain"] = mean_and_error((membership - filter_membership)[:, some].sum(-1))
        rows.append(row)
    return {"nats": mean_and_error((opening + membership).sum(-1)), "quarters": rows}


def clusterwise_row(guide: Any, data: Tensor, labels: Tensor) -> dict[str, Any]:
    """Compare what rounds expect with what happens, by the number of points left and by round."""
    data, labels = in_visiting_order(guide, data, labels)
    labels = canonical(labels)
    size = at_once(data.shape[1])
    parts = [rounds_of(guide, *both) for both in zip(data.split(size), labels.split(size), strict=True)]
    every = {name: torch.cat([part[name] for part in parts]).numpy() for name in parts[0]}

    def row(chosen: np.ndarray) -> dict[str, Any]:
        some = {name: one[chosen] for name, one in every.items()}
        return {
            "rounds": int(chosen.sum()) / len(labels),
            "size": float(some["size"].mean()),
            "excess of size": mean_and_error(some["expected"] - some["size"]),
            "last": float(some["all"].mean()),
            "excess of last": mean_and_error(some["expected_all"] - some["all"]),
            "nats": float(some["log_prob"].sum()) / len(labels),
            "ranks of size": np.histogram(some["rank"], bins=_BINS, range=(0, 1))[0].tolist(),
        }

    edges = pairwise(LEFT)
    left = {f"{low} to {high - 1}": (every["left"] >= low) & (every["left"] < high) for low, high in edges}
    rounds = {str(k + 1): every["cluster"] == k for k in range(6)}
    return {
        "nats": float(every["log_prob"].sum()) / len(labels),
        "by points left": {name: row(some) for name, some in left.items() if some.sum() > 30},
        "by round": {name: row(some) for name, some in rounds.items() if some.sum() > 30},
    }


def log_shares(keys: np.ndarray, log_p: np.ndarray) -> np.ndarray:
    """Return for every partition the log-probability of all those with the same key, ``(B, P)``."""
    _, group = np.unique(keys, axis=0, return_inverse=True)
    group = group.reshape(-1)
    total = np.zeros((len(log_p), group.max() + 1))
    np.add.at(total.T, group, np.exp(log_p).T)
    return np.log(np.maximum(total[:, group], 1e-300))


def enumerated(guide: Any, datasets: int) -> dict[str, Any]:
    """Divide the divergence from enumerated posteriors among the decisions."""
    model = guide.model
    data, labels = simulate(model, torch.empty(datasets, *data_shape(model, ENUMERATED)))
    data, _ = in_visiting_order(guide, data, labels)
    partitions, log_p = exact_posterior(model, data)
    law, number = log_p.exp().numpy(), partitions.amax(-1).numpy()
    sequential = isinstance(guide, NeuralClusteringProcess)
    split = _by_step if sequential else _by_round
    decisions, log_q = split(guide, data, partitions, log_p.numpy())
    drawn = np.exp(log_q)
    by_number = np.eye(ENUMERATED)[number]
    exact_k, guide_k = law @ by_number, drawn @ by_number
    levels = np.arange(1, ENUMERATED + 1)
    return {
        "datasets": datasets,
        "KL": mean_and_error((law * (log_p.numpy() - log_q)).sum(-1)),
        "total variation of K": mean_and_error(
            np.abs(exact_k - guide_k / guide_k.sum(-1, keepdims=True)).sum(-1) / 2
        ),
        "excess of K": mean_and_error((guide_k / guide_k.sum(-1, keepdims=True) - exact_k) @ levels),
        "decisions": decisions,
    }


def _by_step(
    guide: Any, data: Tensor, partitions: Tensor, log_p: np.ndarray
) -> tuple[list[dict[str, Any]], np.ndarray]:
    shape = len(data), len(partitions), ENUMERATED - 1
    parts = [steps_of(guide, some, partitions.repeat(len(some), 1)) for some in data.split(4)]
    opening, membership = (torch.cat([part[k] for part in parts]).view(shape).numpy() for k in (2, 3))
    labels, law, rows = partitions.numpy(), np.exp(log_p), []
    for step in range(1, ENUMERATED):
        before, after = log_shares(labels[:, :step], log_p), log_shares(labels[:, : step + 1], log_p)
        opens = labels[:, step] > labels[:, :step].max(-1)
        kind = log_shares(np.column_stack([labels[:, :step], opens]), log_p)
        rows.append(
            {
                "step": step,
                "opening": mean_and_error((law * (kind - before - opening[..., step - 1])).sum(-1)),
                "membership": mean_and_error((law * (after - kind - membership[..., step - 1])).sum(-1)),
                "excess": mean_and_error(
                    (
                        law
                        * (
                            np.where(
                                opens, np.exp(opening[..., step - 1]), 1 - np.exp(opening[..., step - 1])
                            )
                            - opens
                        )
                    ).sum(-1)
                ),
            }
        )
    return rows, (opening + membership).sum(-1)


def _by_round(
    guide: Any, data: Tensor, partitions: Tensor, log_p: np.ndarray
) -> tuple[list[dict[str, Any]], np.ndarray]:
    labels, law = partitions.numpy(), np.exp(log_p)
    log_q = np.zeros((*log_p.shape, ENUMERATED))
    for place, some in enumerate(data.split(1)):
        found = rounds_of(guide, some, partitions, with_sizes=False)
        log_q[place, found["row"].numpy(), found["cluster"].numpy()] = found["log_prob"].numpy()
    rows = []
    for k in range(ENUMERATED - 1):
        there = labels.max(-1) >= k
        before = log_shares(np.where(labels < k, labels, -1), log_p) if k else np.zeros_like(log_p)
        # Partitions that have ended before are prefixes of their own, in which nothing is decided.
        after = log_shares(np.where(labels <= k, labels, -1), log_p)
        exact = np.where(there, after - before, 0.0)
        alone = np.zeros_like(log_p)
        for point in range(1, ENUMERATED):
            left = there & (labels[:, point] >= k) & ((labels[:, :point] == k).any(-1))
            kind = log_shares(
                np.column_stack([np.where(labels < k, labels, -1), labels[:, point] == k, there]), log_p
            )
            whole = log_shares(np.column_stack([np.where(labels < k, labels, -1), there]), log_p)
            alone += np.where(left, kind - whole, 0.0)
        rows.append(
            {
                "round": k + 1,
                "divergence": mean_and_error((law * (exact - np.where(there, log_q[..., k], 0.0))).sum(-1)),
                "of independent memberships": mean_and_error((law * (exact - alone)).sum(-1)),
            }
        )
    return rows, log_q.sum(-1)


@torch.no_grad()
def measure(name: str, *, seed: int, sizes: tuple[int, ...], datasets: int) -> dict[str, Any]:
    """Return all figures of a guide."""
    torch.set_num_threads(1)
    guide = load_guide(name)
    found: dict[str, Any] = {"K": {}, "decisions": {}}
    for points in sizes:
        with pyro_seeded(seed, points):
            number = max(60, int(datasets * min(1.0, 30 / points)))
            data, labels = simulate(guide.model, torch.empty(number, *data_shape(guide.model, points)))
            found["K"][points] = numbers_of_clusters(guide, data, labels)
            if isinstance(guide, NeuralClusteringProcess):
                found["decisions"][points] = sequential_row(guide, data, labels)
            elif isinstance(guide, ClusterwiseClusteringProcess | DeepAmortizedClustering):
                found["decisions"][points] = clusterwise_row(guide, data, labels)
        print(name, points, json.dumps(found["K"][points]), flush=True)
    if guide.model.has_likelihood:
        with pyro_seeded(seed, 0):
            found["enumerated"] = enumerated(guide, 40)
    return found


def picture(found: dict[str, Any]) -> Figure:
    """Draw errors of the number of clusters by size, its ranks, openings and last rounds, and divergences."""
    figure = plots.new_figure(13, 8)
    number, ranks, exact, openings, last, key = figure.subplots(2, 3).flat
    for place, (name, one) in enumerate(found.items()):
        color = f"C{place}"
        sizes = [int(size) * 1.02**place for size in one["K"]]
        mean, error = zip(*(row["excess"] for row in one["K"].values()), strict=True)
        number.errorbar(sizes, mean, np.multiply(2, error), marker="o", label=name, color=color)
        row = one["K"].get("30") or next(iter(one["K"].values()))
        even = np.linspace(0, 1, _BINS + 1)
        ranks.plot(even, np.cumsum([0, *row["ranks"]]) / sum(row["ranks"]) - even, color=color)
        for size, part in one["decisions"].items():
            if int(size) not in (30, 50, 100):
                continue
            line = {"color": color, "marker": ".", "linestyle": "--" if size == "100" else "-"}
            if "quarters" in part:
                openings.plot(range(1, 5), [row["excess"][0] for row in part["quarters"]], **line)
            else:
                rows = part["by points left"]
                least = [int(key.split(" ")[0]) for key in rows]
                last.plot(least, [-row["excess of last"][0] for row in rows.values()], **line)
        if "enumerated" in one:
            parts = one["enumerated"]["decisions"]
            names = {"opening", "membership", "divergence"}
            total = [sum(row[name][0] for name in names & row.keys()) for row in parts]
            exact.semilogy(range(1, len(total) + 1), np.maximum(total, 1e-4), marker="o", color=color)
    for ax in (number, ranks, openings, last):
        ax.axhline(0, color="grey", linewidth=0.8)
    number.set(xscale="log", xlabel="points", title="Clusters of draws less those of the truth")
    ranks.set(xlabel="rank", ylabel="ECDF less uniform", title="Rank of true K, 30 or 50 points")
    openings.set(
        xlabel="quarter of the steps", xticks=range(1, 5), title="Openings too many (dashed: 100 points)"
    )
    last.set(xscale="log", xlabel="points left, at least", title="Last rounds missed (dashed: 100 points)")
    exact.set(xlabel="step or round", title=f"Nats from the exact posterior, {ENUMERATED} points")
    key.set_axis_off()
    key.legend(*number.get_legend_handles_labels(), loc="center", frameon=False)
    return figure


def main(
    names: Annotated[list[str] | None, typer.Argument()] = None,
    seed: int = 5600,
    datasets: int = 400,
    out: Path = RESULTS,
) -> None:
    """Measure guides and keep the figures beside those of others."""
    for name in names or NAMES:
        found = measure(name, seed=seed, sizes=SIZES.get(name, (10, 30, 100, 300)), datasets=datasets)
        kept = json.loads(out.read_text()) if out.is_file() else {}
        kept[name] = found
        out.write_text(json.dumps(kept, indent=1) + "\n")
    with plots.style():
        PICTURE.write_bytes(plots.png_bytes(picture(json.loads(out.read_text()))))


if __name__ == "__main__":
    typer.run(main)
