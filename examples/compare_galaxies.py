"""Compare the posterior of the number of galaxy clusters by a guide and by MCMC, in one figure.

python examples/compare_galaxies.py --out galaxies.png
"""

import argparse
from pathlib import Path

from matplotlib.figure import Figure

from pyroclust import compare


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("galaxies.png"))
    parser.add_argument("--guide", help="name or folder of a guide; by default the one for one column")
    parser.add_argument("--draws", type=int, default=1000)
    arguments = parser.parse_args()
    result = compare("galaxies", guide=arguments.guide, num_draws=arguments.draws, mcmc_draws=arguments.draws)
    counts = result.summary.num_clusters
    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    bars = {result.comparison.guide_name: counts.guide, "weighted": counts.corrected, "MCMC": counts.mcmc}
    for i, (name, probabilities) in enumerate(bars.items()):
        axes.bar(counts.values + 0.27 * (i - 1), probabilities, width=0.27, label=name)
    axes.set(xlabel="clusters", ylabel="posterior probability", title="82 galaxies", xticks=counts.values)
    axes.legend(frameon=False)
    figure.savefig(arguments.out, dpi=110)
    print(result.summary.verdict.sentence)
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
