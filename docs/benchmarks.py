"""Write docs/benchmarks.md from the results of the benchmarks and the certificates of the shelf.

    python docs/benchmarks.py

No figure of the page is typed by hand: each is read from a file in ``benchmarks/results`` or from the card
of a guide. Run a benchmark again, then this.
"""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median

from answer_figures import answer
from benchmark_tables import Row, count, listed, number, result, signed, table
from convergence_figures import convergence
from familiarity_figures import familiarity
from many_figures import many_datasets, set_verdicts
from refined_figures import refined
from world_figures import graphs, images, spikes

from pyroclust import list_guides

PAGE = Path(__file__).parent / "benchmarks.md"
SIZES = (20, 50, 100, 300)


def filled(part: str) -> str:
    """Break the lines of paragraphs; tables, lists, headings and pictures stay as they are."""
    paragraphs = part.split("\n\n")
    return "\n\n".join(
        one if one[0] in "|-#!" else textwrap.fill(one, 110, break_long_words=False, break_on_hyphens=False)
        for one in paragraphs
    )


def certificates() -> dict[str, Row]:
    return {card.name: dict(card.certificate) for card in list_guides() if card.certificate}


def efficiencies(certificate: Row) -> dict[int, float]:
    return {row["num_points"]: row["median_efficiency"] for row in certificate["sampled"]}


def gains(certificate: Row) -> dict[int, float]:
    return {row["num_points"]: row["mean_difference"] for row in certificate["truth"]}


def shelf_row(name: str, certificate: Row, beside: Row) -> list[str]:
    efficiency, gain, order = efficiencies(certificate), gains(certificate), certificate["order"]
    kl = [number(certificate["exact"][0]["mean_kl"], 3), number(beside.get("mean KL"), 3)]
    return [
        f"`{name}`",
        " / ".join(kl).removesuffix(" / "),
        " / ".join(number(efficiency.get(size)) for size in SIZES),
        " / ".join(number(beside.get(f"efficiency {size}")) for size in SIZES) if beside else "none",
        " / ".join(signed(gain.get(size)) for size in SIZES),
        f"{number(order['median'])} ({number(order['baseline_median'])})",
        "passes" if certificate["verdict"]["passed"] else "reference",
    ]


SHELF_HEAD = (
    "guide",
    "KL at N = 8, guide / filter",
    "efficiency of the guide, N = 20 / 50 / 100 / 300",
    "efficiency of the filter, same N",
    "log q above the filter, same N",
    "order (filter)",
    "certificate",
)


def shelf() -> str:
    found, filters = certificates(), {row["guide"]: row for row in result("filters")}
    names = [name for name in found if name in filters]
    rows = [shelf_row(name, found[name], filters[name]) for name in names]
    largest = max(SIZES)
    level = [
        f"`{name}` ({number(efficiencies(found[name])[largest])} against "
        f"{number(filters[name][f'efficiency {largest}'])})"
        for name in names
        if efficiencies(found[name])[largest] < 1.25 * filters[name][f"efficiency {largest}"]
    ]
    failed = [
        f"`{name}`: "
        + "; ".join(one["what"] for one in found[name]["verdict"]["findings"] if not one["passed"])
        for name in names
        if not found[name]["verdict"]["passed"]
    ]
    errors = [found[name]["reliability"]["ece"] for name in names]
    sets = filters[names[0]][f"data sets {largest}"]
    beside_filter = f"At {largest} points ({sets} data sets) " + (
        "the efficiency of the filter is as good as the guide's, or within a quarter of it, on "
        f"{listed(level)}: look-ahead then buys log q of the truth and less dependence on the order, and no "
        "effective draws."
        if level
        else "every guide of the table has a better efficiency than the filter, by more than a quarter."
    )
    return f"""## Guides on the shelf

Each guide carries a certificate, measured on fresh data sets of its own model; `pyroclust check NAME`
measures it anew. **KL**: mean divergence to the exact posterior over all partitions of 8 points, in nats.
**Efficiency**: share of the draws that importance weights leave, median over data sets; 1 would be the exact
posterior. **Log q**: mean log-probability of the true partition above that of the exact no-look-ahead filter,
in nats. **Order**: by how much q changes with the order of the points (standard deviation over mean). The
filter has no weights and needs no training; its figures are measured on the same data sets
(`python benchmarks/filters.py`).

{table(SHELF_HEAD, rows)}

{beside_filter}

Guides marked *reference* fail a test of their certificate. They are there to compare with, and are never
chosen by default. They fail:

{chr(10).join(f"- {one}" for one in failed)}

Pair probabilities, stated against observed on 500 data sets of 30 points, are off by
{number(min(errors), 3)} to
{number(max(errors), 3)} on average for the guides of the table."""


def one_world() -> str:
    found = certificates()
    beside = next(row for row in result("filters") if row["guide"] == "ncp-gaussian2d")
    names = ("ncp", "ccx", "ccp", "acps", "acp", "ncp-published")
    what = (
        "NCP, light scorer",
        "clusterwise with a mixture: exact log q",
        "CCP, Gaussian latents",
        "ACP-S, discrete latents, foresight",
        "ACP, discrete latents, foresight",
        "NCP, published scorer, 40,000 steps",
    )
    rows = []
    for name, text in zip(names, what, strict=True):
        cells = shelf_row(f"{name}-gaussian2d", found[f"{name}-gaussian2d"], {})
        rows.append([text, *cells[:3], *cells[4:]])
    filter_row = ["exact filter", "", number(beside["mean KL"], 3)]
    filter_row += [" / ".join(number(beside[f"efficiency {size}"]) for size in SIZES), "", "", "no training"]
    head = ("network", "guide", "KL at N = 8", "efficiency, N = 20 / 50 / 100 / 300", *SHELF_HEAD[4:])
    return f"""## Networks on one world

The same model (`gaussian2d`, well separated clusters) for every network. Log q of CCP is estimated, so that
its efficiencies are those of estimated weights; all others are exact.

{table(head, [*rows, filter_row])}

CCP with Gaussian latents does not pass: at many points its weights have heavy tails and its log q falls
behind the filter's. Discrete latents have exact log q and smaller divergences, and with foresight (what the
exact filter says of who belongs with the anchor) they pass; at 300 points they fall behind the filter as
well. docs/real_data.md has what was tried."""


def averaged(rows: Sequence[Row], name: str, digits: int) -> str:
    values = [row[name] for row in rows if name in row]
    return number(mean(values), digits) if values else ""


def ablation() -> str:
    results = result("ablation-overlap2d")
    variants = list(dict.fromkeys(row["variant"] for row in results))
    rows = []
    for variant in variants:
        same = [row for row in results if row["variant"] == variant]
        gain = " / ".join(averaged(same, f"gain {size}", 2) for size in SIZES[:3])
        efficiency = " / ".join(averaged(same, f"efficiency {size}", 2) for size in SIZES[:3])
        rows.append([variant, averaged(same, "KL 8", 3), efficiency.replace(" /  / ", ""), gain])
    head = ("overlap2d", "KL, N = 8", "efficiency, N = 20 / 50 / 100", "log q above the filter, same N")
    beside = next(row for row in result("filters") if row["guide"] == "ncp-overlap2d")
    efficiency = " / ".join(number(beside[f"efficiency {size}"]) for size in SIZES[:3])
    rows.append(["exact filter, other data sets", number(beside["mean KL"], 3), efficiency, "0"])
    clusterwise = [
        [
            one["variant"],
            number(one["mean KL"], 3),
            number(one["efficiency 20"]),
            number(one["efficiency 50"]),
        ]
        for one in result("clusterwise_ablation")
    ]
    return f"""## What an ingredient is worth

`python benchmarks/ablation.py`: {results[0]["steps"]:,} training steps, means of
{len({r["seed"] for r in results})} seeds.

{table(head, rows)}

`python benchmarks/clusterwise_ablation.py`: {result("clusterwise_ablation")[0]["steps"]} steps on
`gaussian2d`, one seed.

{table(("clusterwise", "mean KL", "efficiency, N = 20", "N = 50"), clusterwise)}"""


def orders() -> str:
    rows = [
        [
            one["variant"],
            str(one["mixed"]),
            number(one["order 20"]),
            number(one["KL 8"], 3),
            f"{number(one['efficiency 20'])} / {number(one['efficiency 50'])}",
            number(one["gain 50"]),
        ]
        for one in result("orders")
    ]
    head = ("trained with", "orders mixed", "order", "KL, N = 8", "efficiency, N = 20 / 50", "log q, N = 50")
    return f"""## Several visiting orders

`guide.mixed(4)` is the exact mixture over four visiting orders. `python benchmarks/orders.py`: overlap2d,
{result("orders")[0]["steps"]:,} training steps. The price is proportional for log q; draws hardly cost more.

{table(head, rows)}"""


def real_data() -> str:
    rows = [
        [
            one["data"],
            f"`{one['guide']}`",
            " / ".join(number(one[name]) for name in ("TV of K", "TV weighted", "TV noise")),
            " / ".join(number(one[name]) for name in ("largest co-assignment", "co weighted", "co noise")),
            number(one["efficiency"], 3),
            number(one["Pareto k"]),
            number(one["s/effective draw"] / one["s/effective MCMC"], 1),
        ]
        for one in result("real_data")["rows"]
    ]
    head = (
        "data",
        "guide",
        "total variation of K: drawn / weighted / MCMC noise",
        "largest co-assignment difference, same",
        "efficiency",
        "Pareto k",
        "seconds an effective draw, over those of MCMC",
    )
    found = {(one["data"], one["guide"]): one for one in result("real_data")["rows"]}
    iris, galaxies = found["iris", "ncp-niw2d"], found["galaxies", "ncp-nig1d"]
    slower = [one["s/effective draw"] / one["s/effective MCMC"] for one in (galaxies, iris)]
    return f"""## Real data, beside MCMC

`python benchmarks/real_data.py`: {result("real_data")["draws"]:,} draws of the guide against collapsed
Gibbs chains
on the same model.

{table(head, rows)}

**Do not trust `ncp-niw2d` on iris** (Pareto k {number(iris["Pareto k"])}, a co-assignment probability off by
{number(iris["largest co-assignment"])}); the report of `pyroclust compare iris` says so. On these conjugate
models
compiled Gibbs sampling is also faster: {slower[0]:.0f} times in seconds an effective draw on the galaxies,
{slower[1]:.0f} times on iris. What a guide adds is independent draws with their log-probabilities, an
estimate of the evidence, no chain to watch, and the same small price for every further data set."""


def training() -> str:
    steps = {one["step of"]: one for one in result("training")["rows"]}
    head = ("a training step of", "seconds", "data sets a second", "times the published formulation")
    rows = [
        [name, number(one["seconds"], 3), count(one["data sets/s"]), number(one["speed"], 1)]
        for name, one in steps.items()
    ]
    again = []
    for name in dict.fromkeys(one["recipe"] for one in result("recipes")["rows"]):
        same = [one for one in result("recipes")["rows"] if one["recipe"] == name]
        kl = [one["KL"] for one in same]
        share = [one["share of the filter's KL"] for one in same]
        again.append(
            [
                f"`{name}`",
                str(len(same)),
                f"{min(kl):.4f} to {max(kl):.4f}",
                f"{min(share):.2f} to {max(share):.2f}",
                " / ".join(averaged(same, f"efficiency {size}", 2) for size in SIZES),
            ]
        )
    recipe = (
        "recipe",
        "seeds",
        "KL, N = 8",
        "share of the filter's KL",
        "efficiency, N = 20 / 50 / 100 / 300",
    )
    return f"""## Training

`python benchmarks/training.py`: 64 data sets of 5 to 100 points in six orders, one core.

{table(head, rows)}

`python benchmarks/recipes.py`: recipes trained again from other seeds.

{table(recipe, again)}"""


def speed() -> str:
    draws = result("draws")
    rows = [
        [
            f"`{one['guide']}`, {one['points']} points",
            *(count(one[f"guide: {what}"]) for what in ("draws/s", "known/s")),
            f"{one['guide: share']:.2f}",
            *(count(one[f"{kind}: s to 1,000"]) for kind in ("guide", "filter", "chains")),
        ]
        for one in draws["rows"]
    ]
    at_once = [
        [f"`{one['guide']}`", f"{one['sets']:,}", count(one["seconds"]), count(one["processor seconds"])]
        for one in draws["sets"]
    ]
    without = [
        [
            f"`{one['guide']}`",
            count(one["guide: s for 1,000"]),
            *(
                (
                    count(one["chains: s to 1,000"]),
                    f"{one['pairs: mean difference']:.3f}"
                    + (f", at most {one['pairs: worst set']:.2f}" if "pairs: worst set" in one else ""),
                )
                if "chains: s to 1,000" in one
                else ("no kernel can run", "")
            ),
        ]
        for one in draws["unweighted"]
    ]
    head = "draws a second", "known partitions", "effective share", "1,000 effective: guide", "filter", "MCMC"
    many: dict[str, dict[int, Row]] = {}
    for one in result("many_points")["rows"]:
        many.setdefault(one["guide"], {})[one["N"]] = one
    sizes = sorted({size for found in many.values() for size in found})
    speeds = [
        [f"`{name}`", *(count(found[size]["draws/s"]) if size in found else "" for size in sizes)]
        for name, found in many.items()
    ]
    return f"""## Draws a second

`python benchmarks/draws.py`: one core, processor time. Draws come with their log-probabilities; known
partitions are scored. Seconds to 1,000 effective draws of a new data set (medians): of a guide and of the
exact filter by their weights, of chains by the functional with fewest, burn-in and checks included.

{table(("guide", *head), rows)}

`python benchmarks/draws.py --sets {draws["sets"][0]["sets"]}`: a hundred draws of each of many data sets in
one call, {draws["sets"][0]["threads"]} cores.

{table(("guide", "data sets", "seconds", "processor seconds"), at_once)}

`python benchmarks/draws.py --unweighted`: models whose partitions have no probability that could weigh draws.
Student-t clusters, and skewed ones that the benchmark writes as two Pyro programs (`PyroComponent`), are not
conjugate: a guide of each is trained for four minutes, chains keep the parameters of clusters. Curved
clusters are a Pyro program of one's own, spikes are only simulated. The last column is the mean absolute
difference of co-assignment probabilities of guide and chains (median over data sets). Where it is large,
chains have about 15 effective draws of the 1,000 that they kept: which is wrong there is not known.

{table(("guide", "1,000 draws, seconds", "MCMC: 1,000 effective", "pairs"), without)}

`python benchmarks/many_points.py`: draws alone, by number of points.

{table(("guide", *(f"{size:,} points" for size in sizes)), speeds)}"""


def large_tables() -> str:
    found = result("large_tables")
    rows = [
        [
            f"{one['table']}, {one['N']:,}",
            one["method"] if one["rows"] is None else f"{one['method']} {one['rows']:,}",
            number(one["seconds"], 1),
            f"{number(min(one['chains']), 1)} to {number(max(one['chains']), 1)}",
            number(one["variation"], 2),
            f"{1000 * one['pairs']:.2f}",
            number(one["adjusted_rand"], 3),
        ]
        for one in found["rows"]
    ]
    head = (
        "table, rows",
        "method",
        "processor seconds",
        "K by chain",
        "error of P(K)",
        "of pairs, 1/1000",
        "Rand",
    )
    return f"""## Ways to large tables

`python benchmarks/large_tables.py`: total variation of P(K) and mean absolute error of pair probabilities of
200 rows, against long chains of smaller tables; adjusted Rand index of draws with the simulated labels
({found["machine"]}).

{table(head, rows)}"""


def warped() -> str:
    found = result("warped")
    rows = []
    for name, one in found["adjusted_rand"].items():
        difference = found["differences"].get(name)
        paired = f"{difference['all'][0]:+.3f} ± {difference['all'][1]:.3f}" if difference else ""
        rows.append([name, *(number(one[part][0], 3) for part in ("all", "to_4", "above_4")), paired])
    errors = {name: one["expected_calibration_error"] for name, one in found["calibration"].items()}
    head = ("method", "all", "1 to 4 clusters", "5 to 8 clusters", "the guide's lead, paired")
    stated = "; ".join(f"{number(error, 3)} ({name})" for name, error in errors.items())
    return f"""## Curved clusters without a likelihood

`python benchmarks/warped.py`: adjusted Rand index to the truth, {found["points"]} points,
{found["datasets_per_K"]} data
sets for each number of clusters from 1 to 8. The guide was trained on up to 4 clusters and is not told K.

{table(head, rows)}

Its pair probabilities are off on average by {stated}."""


def estimates() -> str:
    found = [one for one in result("point_estimates")["searches"] if one["draws"] == "posterior"]
    largest = max(one["N"] for one in found)
    rows = [
        [
            one["loss"],
            one["search"],
            number(one["expected loss"], 4),
            str(one["K"]),
            number(one["seconds"], 1),
        ]
        for one in found
        if one["N"] == largest
    ]
    heavy = max(result("point_estimates")["co_assignment"], key=lambda one: one["draws"] * one["points"] ** 2)
    head = ("loss", "search", "expected loss", "clusters", "seconds")
    return f"""## Point estimates

`python benchmarks/point_estimates.py`: 1,000 draws of {largest:,} points,
{result("point_estimates")["machine"]["threads"]} threads.

{table(head, rows)}

Co-assignments of {heavy["draws"]:,} draws of {heavy["points"]:,} points take {heavy["seconds"]:.0f} s."""


def mcmc() -> str:
    found = result("mcmc")
    rows = [
        [one["data"], one["sampler"], count(one["ess_per_second"])] for one in found["effective draws of K"]
    ]
    sweeps = [
        [one["sampler"], f"{one['num_points']:,}", count(one["sweeps_per_second"])] for one in found["sweeps"]
    ]
    vague = [one for one in result("split_merge")["clusters"] if one["setting"] == "vague"]
    stuck = [
        [
            one["kernel"],
            *(number(value) for value in one["mean"].values()),
            count(one["ess_clusters_per_second"]),
        ]
        for one in vague
    ]
    starts = [f"mean K from {name}" for name in vague[0]["mean"]]
    return f"""## MCMC

`python benchmarks/mcmc.py`, one core.

{table(("data", "kernel", "effective draws of K a second"), rows)}

{table(("sampler", "points", "sweeps a second"), sweeps)}

Where Gibbs sticks (`python benchmarks/split_merge.py`, 1,000 points;
{result("split_merge")["settings"]["vague"]}), the
answer of Gibbs alone depends on its start:

{table(("kernel", *starts, "effective draws of K a second"), stuck)}

![Traces of the number of clusters from three starts, with and without split-merge](split_merge.png)

{proposals()}"""


def proposals() -> str:
    rows, ratios = [], []
    results = result("guide_proposal")
    cases = list(dict.fromkeys(one["case"] for one in results))
    kernels = list(dict.fromkeys(one["kernel"] for one in results))
    for case in cases:
        speeds = {
            kernel: [
                one["ess_per_second"] for one in results if (one["case"], one["kernel"]) == (case, kernel)
            ]
            for kernel in kernels
        }
        rows.append(
            [case, str(len(speeds[kernels[0]])), *(count(median(speeds[kernel])) for kernel in kernels)]
        )
        ratios.append(speeds)
    gibbs, guided, split = (ratios[0][kernel] for kernel in kernels)
    against_gibbs = [a / b for a, b in zip(guided, gibbs, strict=True)]
    ahead = [a / b for a, b in zip(split, guided, strict=True)]
    return f"""### Guide proposals

`python benchmarks/guide_proposal.py`: a guide's draws as proposals of an exact chain. Median effective draws
of K a second:

{table(("case", "data sets", *kernels), rows)}

On posteriors with two modes guide proposals give {median(against_gibbs):.0f} times the effective draws of
*plain Gibbs*
(median; {min(against_gibbs):.1f} to {max(against_gibbs):.0f} by data set). Split-merge moves give
{round(min(ahead), -1):.0f} to {round(max(ahead), -1):.0f} times
those of *guide proposals* on the same data sets, and need no training: try `SplitMerge` first. Where Gibbs
moves freely, guide proposals cost more than they save."""


def evidence() -> str:
    methods = ("bridge sampling", "importance sampling", "annealing over the points")
    rows = []
    for one in result("evidence"):
        every = {found["method"]: found for found in one["estimates"]}
        stated = one["stated"]
        known = stated["method"] is not None
        rows.append(
            [
                f"{one['table']}, N = {one['points']}",
                f"{number(one['truth'])} ± {number(one['truth_error'])}",
                f"{number(stated['estimate'])} ± {number(stated['error'])}" if known else "unknown",
                signed(stated["z"]) if known else "",
                *(f"{number(every[name]['estimate'])} ± {number(every[name]['error'])}" for name in methods),
                " and ".join(f"{number(value)} ± {number(error) or '?'}" for value, error in one["smc"]),
            ]
        )
    head = ("table", "truth", "stated", "z", *methods, "sequential Monte Carlo, two seeds")
    return f"""## The log evidence

`python benchmarks/evidence.py`: the truth is the predictive decomposition in two orders of the points, with
eight long chains before every point. What is stated follows one rule
(`diagnostics.evidence_headline`): bridge sampling counts up to a standard error of 0.3 nats, importance
sampling below a Pareto k of 0.7, and where neither does, annealing over the points is run. Errors of
estimates that do not count are shown here all the
same; z is of what is stated.

{table(head, rows)}

Where a guide is far from the posterior, as on the cars, importance sampling lies many of its own standard
errors too low. So does sequential Monte Carlo, whose islands then spread more than 2 nats, so that it gives
no standard error (shown as ?)."""


def page() -> str:
    """Return the whole page."""
    parts = (
        shelf,
        one_world,
        ablation,
        orders,
        real_data,
        refined,
        convergence,
        familiarity,
        training,
        speed,
        answer,
        large_tables,
        many_datasets,
        set_verdicts,
        warped,
        images,
        graphs,
        spikes,
        estimates,
        mcmc,
        evidence,
    )
    head = """# Benchmarks

Written by `python docs/benchmarks.py` from `benchmarks/results/*.json` and the cards of the shelf: change
those, not this page. Timings are from one machine with two cores that also did other work; ratios within a
table mean more than the figures themselves."""
    return "\n\n".join([head, *(filled(part()) for part in parts)]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
