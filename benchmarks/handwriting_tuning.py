"""Fine-tuning on six classes of handwriting, tested on the four classes that nobody trained on.

    python benchmarks/handwriting_tuning.py [--number 100] [--explore] [--data digits] [--steps 400]

The guides of benchmarks/handwriting.py go on learning from the classes 0 to 5 of the first half of the
images, partitions from a Chinese restaurant process of concentration 0.7. All images of a data set are laid
in one of eight ways, turned by quarters and mirrored. With --replay every other data set is of glyphs, as in
the training before. The guides are tested on sets of the classes 6 to 9: of the first half with --explore, on
which the settings were chosen, of the second half otherwise. Beside them stand the guides as they were. The
last report is in benchmarks/results/handwriting_tuning.json.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import typer
from handwriting import DATA, GUIDES, ROOT, half, sets_of, summary
from rich.console import Console

from pyroclust import load_guide, save_guide
from pyroclust.distributions import ChineseRestaurantPrior
from pyroclust.files import replace_file
from pyroclust.guides import retarget
from pyroclust.infer import FitSettings, fit, simulate
from pyroclust.models import DeformedGlyphs, LabelledImages

RESULTS = Path(__file__).parent / "results" / "handwriting_tuning.json"
REPLAYED = 300
SEEN, UNSEEN = (0, 1, 2, 3, 4, 5), (6, 7, 8, 9)


def laid(images: np.ndarray, classes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Turn and mirror all images; each way is a collection of its own, for turned noughts are noughts."""
    both = [images, images[:, :, ::-1]]
    return [(np.rot90(one, turn, axes=(1, 2)), classes) for one in both for turn in range(4)]


def glyphs_of(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Simulate glyphs; those of one data set that are of one class have a label."""
    torch.manual_seed(0)
    images, classes = simulate(DeformedGlyphs(side), torch.empty(REPLAYED, 100, side, side))
    labels = classes + 100 * torch.arange(REPLAYED).unsqueeze(-1)
    return images.flatten(0, 1).numpy(), labels.flatten().numpy()


def tuned(name: str, *, steps: int, learning_rate: float, replay: bool) -> Path:
    """Train a guide further on the seen classes, or take the one that was; return its folder."""
    end = "-replay" if replay else ""
    folder = ROOT / "runs" / "handwriting" / f"tuned-{name}-{steps}-{learning_rate:g}{end}"
    if not (folder / "card.json").exists():
        images, classes = half(name, first=True)
        known = np.isin(classes, SEEN)
        collections = laid(images[known], classes[known])
        if replay:
            collections += [glyphs_of(images.shape[1])] * len(collections)
        model = LabelledImages(collections, prior=ChineseRestaurantPrior(0.7))
        guide = retarget(load_guide(GUIDES[name]), model)
        settings = FitSettings(steps=steps, learning_rate=learning_rate, warmup_steps=min(50, steps))
        fit(model, guide, settings=settings)
        save_guide(guide, folder)
    return folder


def main(
    number: int = 100,
    explore: bool = False,  # noqa: FBT001, FBT002
    data: str = "",
    steps: int = 400,
    learning_rate: float = 3e-4,
    replay: bool = False,  # noqa: FBT001, FBT002
) -> None:
    """Fine-tune, measure, and print one table a data set."""
    torch.set_num_threads(1)
    report = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in [data] if data else list(DATA):
        folder = tuned(name, steps=steps, learning_rate=learning_rate, replay=replay)
        after = summary(sets_of(name, str(folder), number, explore=explore, among=UNSEEN))
        before = summary(sets_of(name, GUIDES[name], number, explore=explore, among=UNSEEN))
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
                "replay": replay,
            }
            replace_file(RESULTS, (json.dumps(report, indent=1) + "\n").encode())


if __name__ == "__main__":
    typer.run(main)
