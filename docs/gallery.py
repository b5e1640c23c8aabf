"""Draw every picture of pyroclust.plots on real posteriors, and write the page that explains them.

python docs/gallery.py

writes docs/gallery/*.png and docs/gallery.md, in about two minutes.
"""

import argparse
import tempfile
from io import BytesIO
from pathlib import Path

from gallery_parts import checks, one_source  # noqa: F401  (their pictures add themselves)
from gallery_parts.picture import PICTURES, Picture
from gallery_parts.posteriors import prepare
from PIL import Image

from pyroclust import plots

SECTIONS = (
    "One posterior",
    "Images and waveforms",
    "Graphs",
    "Estimates",
    "Convergence",
    "Two sources",
    "Calibration",
    "Other methods",
    "Training",
)


def page(pictures: list[Picture]) -> str:
    """Write the page: sections, and for each picture its image, how to read it and the call."""
    lines = [
        "# Gallery",
        "",
        "Every picture that `pyroclust.plots` draws, made by `python docs/gallery.py`. Functions take Axes",
        "and return Axes; `with plots.style():` around them gives the look. Posteriors have `data`, MCMC",
        "`draws` (chains, draws, points), draws of a `guide` (draws, points) and a point `estimate`:",
        "`galaxies` are velocities of 82 galaxies, with the guide `ncp-nig1d`, and `few` every seventh of",
        "them; `iris` are the petals of 150 flowers, with `ncp-niw2d`, and `flowers` all their four columns,",
        "with `ncp-niw4d`. Calibration is that of `ncp-nig1d` on data sets of 30 points of its model:",
        "`truth` are the partitions that they were simulated from, `simulated` its draws (draws, data sets,",
        "points); `near` is what `pyroclust.calibrate_near` says of the galaxies; `digits` and `spikes` are",
        "`points` with an `estimate` and how `unsure` each is, and so is `novel`, a graph, by MCMC of a",
        "stochastic block model. What belongs neither to",
        "`plots` nor to `diagnostics` is defined in `docs/gallery_parts`.",
    ]
    for section in SECTIONS:
        lines += ["", f"## {section}"]
        for one in (one for one in pictures if one.section == section):
            title = one.name.replace("_", " ").capitalize().replace("ecdf", "ECDF")
            lines += ["", f"### {title}", "", f"![{title}](gallery/{one.name}.png)", "", one.words]
            lines += ["", "```python", one.code, "```"]
    return "\n".join([*lines, ""])


MOST_BYTES = 100_000


def small_png(content: bytes, path: Path) -> None:
    """Write a PNG; where it is large, with a palette of 256 colours, which halves it."""
    if len(content) < MOST_BYTES:
        path.write_bytes(content)
    else:
        Image.open(BytesIO(content)).convert("RGB").quantize(256).save(path, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument(
        "--only", nargs="*", help="names of pictures; all by default, which also writes the page"
    )
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--simulations", type=int, default=300)
    parser.add_argument("--steps", type=int, default=400)
    arguments = parser.parse_args()
    folder = arguments.out / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        seen = prepare(
            Path(scratch),
            num_draws=arguments.draws,
            num_simulations=arguments.simulations,
            steps=arguments.steps,
        )
    chosen = [one for one in PICTURES if arguments.only is None or one.name in arguments.only]
    with plots.style():
        for one in chosen:
            small_png(plots.png_bytes(one.draw(seen), dpi=100), folder / f"{one.name}.png")
    if arguments.only is None:
        (arguments.out / "gallery.md").write_text(page(PICTURES), encoding="utf-8")
    print(f"written: {len(chosen)} pictures in {folder}")


if __name__ == "__main__":
    main()
