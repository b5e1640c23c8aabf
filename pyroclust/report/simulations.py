"""What simulations of the guide's model say: of the guide, of the data, and about calibration."""

from matplotlib.figure import Figure

from pyroclust import plots
from pyroclust.calibration import LocalCalibration
from pyroclust.diagnostics import Familiarity
from pyroclust.diagnostics.simulations.witnesses import Witnesses
from pyroclust.diagnostics.verdicts.findings import witnesses_finding
from pyroclust.report.parts import FigureTable, Paragraph, Picture, Section
from pyroclust.report.words import functional_title, interval, number, numbers, p_value
from pyroclust.results.analysis import Analysis

__all__ = ["calibration_section", "familiarity_section", "witnesses_section"]


def witnesses_section(found: Analysis, witnesses: Witnesses) -> Section:
    """Show each figure of the guide's weights on the data beside those on simulations."""
    rows = tuple(
        (row.name, *numbers((row.value, row.median, row.bad)), p_value(row.p_value)) for row in witnesses.rows
    )
    table = FigureTable(
        f"The guide drew {witnesses.num_draws:,} partitions of {witnesses.num_points:,} rows of the data, "
        f"and as many of each of {witnesses.num_simulations:,} data sets of as many points that its model "
        "simulates. A small p says that its weights are worse here than there. A large one says that they "
        "are no worse, not that the guide is right: it is wrong on some simulations too.",
        ("", "here", "median of simulations", "worst 5 % of simulations", "p"),
        rows,
    )
    gist = witnesses_finding(witnesses).sentence
    return Section("Does the guide do as well here as on simulations", (table,), gist=gist)


def familiarity_section(found: Analysis, familiarity: Familiarity) -> Section:
    """Show where each summary of the data lies among simulated ones."""
    picture = Picture(
        lambda figure: plots.plot_familiarity(familiarity, ax=figure.subplots()),
        size=(9, 1.6 + 0.28 * len(familiarity.rows)),
        alternative=f"Each of {len(familiarity.rows)} summaries of the data among those of "
        f"{familiarity.num_simulations} simulations; overall p = {number(familiarity.overall)}.",
        caption="One line a summary of the data, its mark where it lies among simulations of the "
        "guide's model, whose middle 90 % are the band. Crosses outside say what is unusual: the "
        "guide has seen little of that kind. Marks inside do not say that the model or guide is right "
        "here: that the weights, the orders and the comparison with MCMC tell.",
    )
    table = FigureTable(
        "Summaries of the data as the guide saw them, and 90 % of the simulations.",
        ("", "data", "simulations", "p"),
        tuple(
            (row.name, number(row.value), interval(row.low, row.high), p_value(row.p_value))
            for row in familiarity.rows
        ),
    )
    warning = () if familiarity.warning is None else (Paragraph(familiarity.warning),)
    gist = familiarity.warning or f"Nothing unusual: p = {number(familiarity.overall)}"
    return Section("Summary statistics of the rows, among simulations", (*warning, picture, table), gist=gist)


def calibration_section(found: Analysis, local: LocalCalibration) -> Section:
    """Show ranks, coverage and reliability on the simulations nearest to the data."""
    calibration = local.calibration
    words = (
        f"Of {local.num_simulations:,} data sets that the guide's model simulates, these are the "
        f"{calibration.num_datasets} most like the data by the distances between rows and the location and "
        f"spread of the columns: at most {number(local.radius, 2)} away, where half of all simulations are "
        f"{number(local.median_distance, 2)} or more away. Their true partitions are known. A guide that is "
        "right on average over them may still be wrong on this very table."
    )
    others = {name: p for name, p in calibration.p_values.items() if name != "functionals"}
    every = {functional_title(row.name): row.p_value for row in calibration.sbc.rows} | others
    table = FigureTable(
        "p-values: small ones say that the truth is not like one more draw.",
        ("", "p"),
        tuple((name, p_value(p)) for name, p in every.items()),
    )
    parts = (Paragraph(words), _picture(local), table)
    return Section("Is the guide calibrated near these data", parts, gist=local.verdict.sentence)


def _picture(found: LocalCalibration) -> Picture:
    calibration = found.calibration
    pairs = calibration.reliability
    ranks = {row.name: row.counts for row in calibration.sbc.rows}

    def draw(figure: Figure) -> None:
        grid = figure.add_gridspec(1 if pairs is None else 2, 2)
        plots.plot_rank_ecdf(ranks, ax=figure.add_subplot(grid[0, 0 if pairs is None else slice(None)]))
        plots.plot_coverage(calibration.coverage, ax=figure.add_subplot(grid[-1, 1 if pairs is None else 0]))
        if pairs is not None:
            plots.plot_reliability(pairs, ax=figure.add_subplot(grid[1, 1]))

    return Picture(
        draw,
        size=(9, 7 if pairs is not None else 3.4),
        alternative="Ranks of the true partitions among the guide's draws, coverage of credible balls "
        f"and reliability of pair probabilities, over {calibration.num_datasets} simulations near the "
        f"data; p = {p_value(calibration.p_value)}.",
        caption="Above: lines that leave the grey band belong to functionals whose true value is too "
        "often low (the line above zero) or high among the draws. Below left: credible balls of each "
        "level should hold the truth that often; dots under the band mean a guide that is too sure. "
        "Below right: of the pairs with probability p, a share p should be together.",
    )
