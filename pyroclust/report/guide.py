"""A guide's draws: weights, visiting orders, evidence, refining; what simulations of its model say of it."""

from typing import Any

from matplotlib.figure import Figure

from pyroclust import plots
from pyroclust.calibration import LocalCalibration
from pyroclust.diagnostics import Familiarity, evidence_headline
from pyroclust.diagnostics.findings import weight_quality_finding
from pyroclust.diagnostics.likeness import WeightQuality
from pyroclust.diagnostics.limits import MAX_BRIDGE_ERROR, MAX_EVIDENCE_SPREAD, MAX_PARETO_K
from pyroclust.report.parts import (
    YES_OR_NO,
    FigureTable,
    Paragraph,
    Picture,
    Section,
    functional_title,
    interval,
    number,
    numbers,
    p_value,
    seconds,
)
from pyroclust.results.analysis import Analysis
from pyroclust.results.step_results import Evidence, Orders, Weighting

_PARTS = {
    "draw": "drawing",
    "weigh": "weighing",
    "prepare": "preparing the chains",
    "sweep": "sweeps",
    "look": "looking whether they settled",
    "score": "scoring for the evidence",
}


def weights_section(analysis: Analysis, weighting: Weighting) -> Section:
    log_weights = weighting.log_weights
    worth = f"{len(log_weights):,} draws are worth {number(weighting.effective_draws, 0)} exact ones"
    picture = Picture(
        lambda figure: plots.plot_log_weights(log_weights, ax=figure.subplots()),
        size=(9, 2.8),
        alternative=f"Histogram of the log importance weights of the guide's draws; {worth}.",
        caption="A perfect guide has all its weight at the dashed line. Draws to the "
        f"right stand for many that the guide should have made. The {worth}. Weights see only where the "
        "guide went: a mode that it never visits does not show here, but above.",
    )
    return Section("The guide's importance weights", (picture,), gist=worth)


def orders_section(analysis: Analysis, orders: Orders) -> Section:
    """Show the mean number of clusters and the log evidence by each visiting order alone."""
    counts = orders.num_clusters
    figures = {"mean number of clusters": counts}
    figures |= {} if orders.log_evidence is None else {"log evidence, nats": orders.log_evidence}
    by_order = zip(*(one.by_order.tolist() for one in figures.values()), strict=True)
    rows = [(str(place), *numbers(row, 2)) for place, row in enumerate(by_order, 1)]
    rows += [
        ("standard deviation", *numbers((one.spread for one in figures.values()), 2)),
        ("by chance", *numbers((one.by_chance for one in figures.values()), 2)),
        ("p", *(p_value(one.p_value) for one in figures.values())),
    ]
    table = FigureTable(
        "What the guide's draws say by each visiting order alone, as drawn. The posterior does not depend on "
        "the order: what differs by more than chance is the guide's error. Weights and sweeps remove it.",
        ("order", *figures),
        tuple(rows),
        "By visiting order",
    )
    low, high = numbers((counts.by_order.min(), counts.by_order.max()), 2)
    gist = f"Mean numbers of clusters from {low} to {high} by order, as drawn"
    return Section("Does the visiting order matter", (table,), gist=gist)


def evidence_section(analysis: Analysis, evidence: Evidence) -> Section:
    """Show the estimates of log p(data), or log p(data, constraints), which is stated, and why none is."""
    headline = evidence_headline(evidence.estimates)
    gist = f"Unknown: {headline.reason}"
    if headline.best is not None:
        gist = f"{number(headline.estimate, 2)} nats, standard error {number(headline.error, 2)}"
    what = "data" if analysis.constraints is None else "data, constraints"
    second = "the refined draws" if "refined" in analysis.draws else "MCMC"
    table = FigureTable(
        f"Log evidence log p({what}) in nats. Importance sampling takes the draws of the guide alone, "
        f"reciprocal importance sampling those of {second} alone, bridge sampling both; annealing "
        "lets the kernel of MCMC follow the posterior as points are added, tempering as powers of the "
        "likelihood rise to one, several times over. Importance "
        f"sampling counts below a Pareto k of {MAX_PARETO_K:g}, bridge sampling up to a standard error of "
        f"{MAX_BRIDGE_ERROR:g}, annealing and tempering where repetitions spread at most "
        f"{MAX_EVIDENCE_SPREAD:g} nats; one that does not count has no standard error. Reciprocal importance "
        "sampling never counts.",
        ("", "nats", "standard error", "Pareto k", "spread", "counts"),
        tuple(
            (
                str(one.method),
                number(one.estimate, 2),
                number(one.error, 2) if one.is_reliable else "–",
                *numbers((one.pareto_k, one.spread), 2),
                YES_OR_NO[one.is_reliable],
            )
            for one in evidence.estimates
        ),
        "Log evidence, nats",
    )
    return Section("The log evidence", (table,), gist=gist)


def refining_section(analysis: Analysis, refinement: Any) -> Section:
    proposals, kept = f"{refinement.proposals.num_draws:,}", f"{refinement.num_ancestors:,}"
    weights, resampled = [], ""
    if refinement.proposals.log_joint is not None:
        resampled = "resampled by their weights, then "
        weights = [
            ("efficiency of their weights", number(refinement.efficiency)),
            ("Pareto k of their weights", number(refinement.pareto_k, 2)),
        ]
    figures = FigureTable(
        f"The guide's draws, {resampled}moved by {refinement.kernel} until nothing moved.",
        ("", "the refined draws"),
        (
            ("proposals", proposals),
            *weights,
            ("different proposals that were kept", kept),
            ("draws", f"{analysis.draws['refined'].num_draws:,}"),
            ("sweeps of each", f"{refinement.sweeps:,}"),
            ("settled", YES_OR_NO[refinement.settled]),
            ("largest nested R-hat", number(refinement.nested_rhat)),
            ("effective draws", number(refinement.effective_draws, 0)),
        ),
        "Refining",
    )
    looks = FigureTable(
        "What was seen of the draws as they went: a small p says that something still moved since the look "
        "before, and a nested R-hat well above 1 that draws of one proposal are still alike.",
        ("sweeps", "p", "moved most", "by", "nested R-hat", "effective draws"),
        tuple(
            (
                f"{look.sweeps:,}",
                p_value(look.p_value),
                functional_title(look.moved) if look.moved else "–",
                *numbers((look.change, look.nested_rhat)),
                number(look.effective_draws, 0),
            )
            for look in refinement.rounds
        ),
    )
    times = FigureTable(
        "Seconds of each part. The cost of the refined draws is that of drawing, weighing and sweeps.",
        ("", "seconds"),
        tuple((_PARTS.get(part, part), seconds(value)) for part, value in refinement.seconds.items()),
    )
    settled = "Settled" if refinement.settled else "Not settled"
    gist = f"{settled} after {refinement.sweeps:,} sweeps from {kept} of {proposals} proposals"
    return Section("The refined draws", (figures, looks, times), gist=gist)


def witnesses_section(analysis: Analysis, witnesses: WeightQuality) -> Section:
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
    gist = weight_quality_finding(witnesses).sentence
    return Section("Does the guide do as well here as on simulations", (table,), gist=gist)


def familiarity_section(analysis: Analysis, familiarity: Familiarity) -> Section:
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


def calibration_section(analysis: Analysis, local: LocalCalibration) -> Section:
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
    parts = (Paragraph(words), _calibration_picture(local), table)
    return Section("Is the guide calibrated near these data", parts, gist=local.verdict.sentence)


def _calibration_picture(local: LocalCalibration) -> Picture:
    calibration = local.calibration
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
