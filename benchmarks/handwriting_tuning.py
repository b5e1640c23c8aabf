"""Fine-tuning on six classes of handwriting, tested on the four classes that nobody trained on.

    python benchmarks/handwriting_tuning.py [--number 100] [--explore] [--data digits] [--steps 400]

The guides of benchmarks/handwriting.py go on learning from the classes 0 to 5 of the first half of the
images: 48 collections in which every class is bent by a field of its own, in two variants, and all images are
turned by quarters and mirrored alike (models.bent_classes), partitions from a Chinese restaurant process of
concentration 0.7. Every other data set is of glyphs, as in the training before. The guides are tested on sets
of the classes 6 to 9: of the first half with --explore, on which the settings were chosen, of the second half
otherwise. Beside them stand the guides as they were. The last report is in
benchmarks/results/handwriting_tuning.json.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import typer
from handwriting import DATA, GUIDES, ROOT, half, sets_of, summary
from kept import write_report
from rich.console import Console

from pyroclust import load_guide, save_guide
from pyroclust.distributions import ChineseRestaurantPrior
from pyroclust.guides import retarget
from pyroclust.infer import FitSettings, fit, simulate
from pyroclust.models import DeformedGlyphs, LabelledImages, bent_classes

RESULTS = Path(__file__).parent / "results" / "handwriting_tuning.json"
COLLECTIONS, REPLAYED = 48, 6
SEEN, UNSEEN = (0, 1, 2, 3, 4, 5), (6, 7, 8, 9)


def replayed(side: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Simulate glyphs; those of one data set that are of one class have a label."""
    torch.manual_seed(0)
    images, classes = simulate(DeformedGlyphs(side), torch.empty(REPLAYED * COLLECTIONS, 100, side, side))
    labels = classes + 100 * torch.arange(len(classes)).unsqueeze(-1)
    sets = zip(images.flatten(0, 1).chunk(COLLECTIONS), labels.flatten().chunk(COLLECTIONS), strict=True)
    return [(one.numpy(), own.numpy()) for one, own in sets]


def tuned(name: str, *, steps: int, learning_rate: float) -> Path:
    """Train a guide further on the seen classes, or take the one that was; return its folder."""
    folder = ROOT / "runs" / "handwriting" / f"tuned-{name}-{steps}-{learning_rate:g}"
    if not (folder / "card.json").exists():
        images, classes = half(name, first=True)
        known = np.isin(classes, SEEN)
        own = bent_classes(images[known], classes[known], collections=COLLECTIONS)
        model = LabelledImages(own + replayed(images.shape[1]), prior=ChineseRestaurantPrior(0.7))
        guide = retarget(load_guide(GUIDES[name]), model)
        settings = FitSettings(
            steps=steps, learning_rate=learning_rate, warmup_steps=min(50, steps), averaging=0.99
        )
        fit(model, guide, settings=settings)
        save_guide(guide, folder)
    return folder


def main(
    number: int = 100,
    explore: bool = False,  # noqa: FBT001, FBT002
    data: str = "",
    steps: int = 400,
    learning_rate: float = 2e-4,
) -> None:
    """Fine-tune, measure, and print one table a data set."""
    torch.set_num_threads(1)
    report = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in [data] if data else list(DATA):
        folder = tuned(name, steps=steps, learning_rate=learning_rate)
        after, before = (
            summary(sets_of(name, guide, number, explore=explore, among=UNSEEN))
            for guide in (str(folder), GUIDES[name])
        )
        scores = after["scores"] | {"guide as it was": before["scores"]["guide"]}
        Console(width=160).print(name, pd.DataFrame(scores).T.round(3).to_string())
        excess = [one["mean excess of K"] for one in (after, before)]
        Console().print(f"K too large by {excess[0]:.2f}, before by {excess[1]:.2f}")
        if not explore:
            report[name] = {
                "after": after,
                "before": before,
                "steps": steps,
                "learning_rate": learning_rate,
            }
            write_report(RESULTS, report)


if __name__ == "__main__":
    typer.run(main)
