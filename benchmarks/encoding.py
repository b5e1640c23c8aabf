"""Images are encoded once a data set: draws a second of guides of images beside those of vectors.

    python benchmarks/encoding.py [--points 100] [--draws 500]

Untrained guides with the same light scorer, of width 48, on sixteen numbers a point: vectors as they are,
and what encoders make of images of 8 x 8 and 28 x 28 pixels and of waveforms. The points lie in eight groups.
Each round times all guides one after the other, so that a busy machine slows all of them; the median over
rounds is reported. The last result is in benchmarks/results/encoding.json.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import typer
from kept import write_report
from rich.console import Console
from torch import Tensor

from pyroclust.distributions import ChineseRestaurantPrior, NormalKnownVariance
from pyroclust.guides import NeuralClusteringProcess, light_scorer_for
from pyroclust.models import DeformedGlyphs, Mixture, SpikeWaveforms
from pyroclust.nn import ImageEncoder, RandomOrder, WaveformEncoder

RESULTS = Path(__file__).parent / "results" / "encoding.json"
DIM, GROUPS = 16, 8


def cases() -> dict[str, tuple[Any, Any]]:
    """Return models with encoders of their points, by name."""
    mixture = Mixture(ChineseRestaurantPrior(0.7), NormalKnownVariance(DIM))
    return {
        "vectors": (mixture, None),
        "images, 8 x 8": (DeformedGlyphs(8), ImageEncoder(8, 8, dim=DIM)),
        "images, 28 x 28": (DeformedGlyphs(28), ImageEncoder(28, 28, dim=DIM, channels=12)),
        "waveforms, 7 x 32": (SpikeWaveforms(), WaveformEncoder(7, 32, dim=DIM, width=24)),
    }


def grouped(shape: tuple[int, ...], num_points: int) -> Tensor:
    """Return points in groups, of any shape."""
    centres = torch.rand(GROUPS, *shape)
    return centres[torch.arange(num_points) % GROUPS] + 0.05 * torch.randn(num_points, *shape)


def seconds(run: Callable[[], object]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def main(points: int = 100, draws: int = 500, rounds: int = 7) -> None:
    """Time all guides and print draws a second, and how many times longer than vectors a draw takes."""
    torch.set_num_threads(1)
    runs: dict[str, Callable[[], object]] = {}
    for name, (model, encoder) in cases().items():
        torch.manual_seed(0)
        scorer = light_scorer_for(model, encoder=encoder, use_filter=False)
        guide = NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder()).eval()
        data = grouped(tuple(model.event_shape), points)
        runs[name] = lambda guide=guide, data=data: guide.posterior(data).sample((draws,))
    with torch.no_grad():
        for run in runs.values():
            run()
        found = {name: [] for name in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                found[name].append(seconds(run))
    medians = {name: float(np.median(one)) for name, one in found.items()}
    report = {
        name: {"draws a second": draws / one, "times vectors": one / medians["vectors"]}
        for name, one in medians.items()
    }
    for name, row in report.items():
        Console().print(f"{name:20} {row['draws a second']:8.0f} draws/s {row['times vectors']:6.2f} x")
    content = {"points": points, "draws": draws, "rows": report}
    write_report(RESULTS, content)


if __name__ == "__main__":
    typer.run(main)
