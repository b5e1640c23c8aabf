"""Compare the posterior of the galaxies' partition by a guide and by MCMC, in one figure.

python examples/compare_galaxies.py --out galaxies.png
"""

import argparse
from pathlib import Path

from pyroclust import compare, plots
from pyroclust.diagnostics import dendrogram_order


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("galaxies.png"))
    parser.add_argument("--guide", help="name or folder of a guide; by default the one for one column")
    parser.add_argument("--draws", type=int, default=1000)
    arguments = parser.parse_args()
    result = compare("galaxies", guide=arguments.guide, num_draws=arguments.draws, mcmc_draws=arguments.draws)
    compared, summary = result.comparison, result.summary
    with plots.style():
        figure = plots.new_figure(12.0, 6.4)
        top, bottom = figure.subfigures(2, 1, height_ratios=(1, 1.15))
        velocity, counts = top.subplots(1, 2, width_ratios=(1.5, 1))
        original = compared.data * compared.scale + compared.location
        estimate = summary.estimate_mcmc
        plots.plot_clustering(
            original, estimate.assignments, estimate.uncertainty, ax=velocity, columns=compared.columns
        )
        velocity.set_title("82 galaxies, by the point estimate")
        found = summary.num_clusters
        plots.plot_num_clusters(found.values, {"guide": found.guide, "MCMC": found.mcmc}, ax=counts)
        order = dendrogram_order(summary.mcmc.co_assignment)
        guide, mcmc, difference = bottom.subplots(1, 3)
        plots.plot_co_assignment(summary.guide.co_assignment, order, ax=guide)
        plots.plot_co_assignment(summary.mcmc.co_assignment, order, ax=mcmc)
        plots.plot_co_assignment_difference(
            summary.guide.co_assignment, summary.mcmc.co_assignment, order, ax=difference
        )
        for ax, title in ((guide, "guide"), (mcmc, "MCMC"), (difference, "guide minus MCMC")):
            ax.set_title(title)
        figure.savefig(arguments.out, dpi=100)
    print(summary.verdict.sentence)
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
