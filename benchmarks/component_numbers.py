"""How many components? The exact posterior under Cluster-PFN's prior, and how near amortized guides come.

    python benchmarks/component_numbers.py [GUIDE] [--sets 100] [--dim 2] [--mean-precision 0.1]

Data sets are simulated from `models.few_components`: one to ten components, 100 to 500 points, the number of
components kept. Its posterior given the data is found by eight chains of merge-split and Gibbs moves, each
draw of a partition giving that of the number of components in closed form; chains from starts far apart must
agree, and are run again, twice as long, where they do not. No method that knows the prior names the right
number more often than the mode of this posterior does.

For the posterior, the guide's own draws, the same weighted, and the exact filter stand how often their mode
is right, their mean log-probability of the right number, and the total variation to the posterior. One result
a set is kept in runs/component_numbers, the last report is in benchmarks/results/component_numbers.json.
"""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from kept import kept, weights_of, write_report
from rich.console import Console
from torch import Tensor

from pyroclust import load_guide
from pyroclust.guides import PredictiveFilter
from pyroclust.guides.base import retarget
from pyroclust.infer import simulate
from pyroclust.infer.mcmc.named_kernels import default_kernel
from pyroclust.models import few_components

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "component_numbers"
RESULT = Path(__file__).parent / "results" / "component_numbers.json"
FEWEST, MOST = 100, 500
CHAINS, SWEEPS, MOST_SWEEPS = 8, 1000, 2000
AGREED = 0.05
DRAWS = 1000


def simulated(model: Any, seed: int) -> tuple[Tensor, int]:
    """Draw a data set, and its number of components given its partition: a draw of both from the prior."""
    torch.manual_seed(seed)
    size = int(torch.randint(FEWEST, MOST + 1, ()))
    data, labels = (one[0] for one in simulate(model, torch.empty(1, size, model.component.dim)))
    law = model.prior.log_components(labels.amax(-1) + 1, size).exp()
    return data.double(), int(torch.multinomial(law, 1)) + 1


def numbers_of(model: Any, draws: Tensor, weights: np.ndarray | None = None) -> np.ndarray:
    """Average the posterior of the number of components over draws of the partition."""
    given = model.prior.log_components(draws.amax(-1) + 1, draws.shape[-1]).exp().numpy()
    return np.average(given, axis=0, weights=weights)


def posterior(model: Any, points: Tensor, seed: int) -> dict[str, Any]:
    """Return the posterior of the number of components, and how far two halves of the chains are apart.

    Chains that do not agree are run again, twice as long.
    """
    kernel, sweeps = default_kernel(model), SWEEPS
    while True:
        half = sweeps // 2
        found = kernel.run(points, num_draws=half, warmup=half, num_chains=CHAINS, seed=seed, progress=False)
        labels = torch.from_numpy(found.assignments)
        halves = [numbers_of(model, labels[one::2].flatten(0, 1)) for one in (0, 1)]
        apart = float(0.5 * np.abs(halves[0] - halves[1]).sum())
        if apart <= AGREED or sweeps >= MOST_SWEEPS:
            return {"law": np.mean(halves, 0).tolist(), "apart": apart, "sweeps": sweeps}
        sweeps *= 2


def measure(model: Any, guide: Any, *, seed: int) -> dict[str, Any]:
    """Compare all ways on one data set."""
    points, number = simulated(model, seed)
    found: dict[str, Any] = {"N": len(points), "number": number, "posterior": posterior(model, points, seed)}
    for name, one in (("guide", guide), ("filter", PredictiveFilter(model))):
        if one is None:
            continue
        torch.manual_seed(seed)
        with torch.no_grad():
            draws, log_q = one.posterior(points.float()).sample_and_log_prob((DRAWS,))
        weights = (model.log_joint(points, draws) - log_q).softmax(0).numpy()
        found[name] = {"law": numbers_of(model, draws).tolist()}
        found[f"{name}, weighted"] = {"law": numbers_of(model, draws, weights).tolist()}
    return found


def figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of all sets together."""
    truth = np.array([one["number"] for one in rows]) - 1
    exact = np.array([one["posterior"]["law"] for one in rows])
    report: dict[str, Any] = {
        "sets": len(rows),
        "sets whose chains differ by more than .05": int(
            sum(one["posterior"]["apart"] > AGREED for one in rows)
        ),
        "expected accuracy of the posterior's mode": round(float(exact.max(1).mean()), 3),
    }
    agreed = np.array([one["posterior"]["apart"] <= AGREED for one in rows])
    for name in rows[0]:
        if name in ("N", "number"):
            continue
        law = np.array([one[name]["law"] for one in rows])
        short = _log_of_truth(exact, truth) - _log_of_truth(law, truth)
        report[name] = {
            "accuracy": round(float((law.argmax(1) == truth).mean()), 3),
            "off by one at most": round(float((np.abs(law.argmax(1) - truth) <= 1).mean()), 3),
            "log p of the truth": round(float(_log_of_truth(law, truth).mean()), 3),
            "less than the posterior's": _with_error(short),
            "less where chains agree": _with_error(short[agreed]),
            "total variation": round(float(0.5 * np.abs(law - exact).sum(1).mean()), 3),
        }
    return report


def _log_of_truth(law: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return np.log(law[np.arange(len(law)), truth] + 1e-4)


def _with_error(values: np.ndarray) -> list[float]:
    return [round(float(one), 3) for one in (values.mean(), values.std() / len(values) ** 0.5)]


def main(
    guide: Annotated[str, typer.Argument()] = "",
    *,
    sets: int = 100,
    dim: int = 2,
    mean_precision: float = 0.1,
    first_seed: int = 0,
) -> None:
    """Measure all sets, and print and write the report."""
    torch.set_num_threads(1)
    model = few_components(dim, mean_precision=mean_precision)
    # A guide of another prior has the filter of this one.
    loaded = retarget(load_guide(guide), model) if guide else None
    folder = RUNS / f"{dim}-{mean_precision:g}-{weights_of(loaded) if loaded is not None else 'no-guide'}"
    rows = [
        kept(folder / f"{seed}.json", partial(measure, model, loaded, seed=seed))
        for seed in range(first_seed, first_seed + sets)
    ]
    report = {"guide": guide, "dim": dim, "mean precision": mean_precision, **figures(rows)}
    Console(width=160).print(report)
    write_report(RESULT.with_stem(f"component_numbers-{dim}-{mean_precision:g}"), report)


if __name__ == "__main__":
    typer.run(main)
