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
    found = compare("galaxies", guide=arguments.guide, num_draws=arguments.draws, mcmc_draws=arguments.draws)
    guide, mcmc = (found.summary(name) for name in ("guide", "mcmc"))
    with plots.style():
        figure = plots.new_figure(12.0, 6.4)
        top, bottom = figure.subfigures(2, 1, height_ratios=(1, 1.15))
        velocity, counts = top.subplots(1, 2, width_ratios=(1.5, 1))
        data, estimate = found.data, mcmc.estimate
        plots.plot_clustering(
            data.shown, estimate.assignments, estimate.uncertainty, ax=velocity, columns=data.shown_columns
        )
        velocity.set_title("82 galaxies, by the point estimate")
        values, shares = found.num_clusters()
        plots.plot_num_clusters(values, {"guide": shares["guide"], "MCMC": shares["mcmc"]}, ax=counts)
        order = dendrogram_order(mcmc.co_assignment)
        left, middle, right = bottom.subplots(1, 3)
        plots.plot_co_assignment(guide.co_assignment, order, ax=left)
        plots.plot_co_assignment(mcmc.co_assignment, order, ax=middle)
        plots.plot_co_assignment_difference(guide.co_assignment, mcmc.co_assignment, order, ax=right)
        for ax, title in ((left, "guide"), (middle, "MCMC"), (right, "guide minus MCMC")):
            ax.set_title(title)
        figure.savefig(arguments.out, dpi=100)
    print(found.verdict.sentence)
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
