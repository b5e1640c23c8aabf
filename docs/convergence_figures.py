"""The part of the page of benchmarks on what the convergence of chains is worth."""

from benchmark_tables import count, number, result, table

from pyroclust.diagnostics.limits import GOOD_ESS, GOOD_RHAT, MAX_RHAT, MIN_ESS

_GRADES = {
    "well": f"yes: R-hat at most {GOOD_RHAT:g}, {GOOD_ESS:.0f} effective draws",
    "roughly": f"roughly: at most {MAX_RHAT:g}, {MIN_ESS:.0f} draws",
    "no": "no",
}


def convergence() -> str:
    """Say how far chains are off where R-hat calls them converged."""
    found = result("convergence")
    limit, tables = found["wrong above"], found["tables"].values()
    settled = sum(one["halves"] <= found["settled"] for one in tables)
    widths = [one["D"] for one in tables]
    rows = [
        [
            _GRADES[one["grade"]],
            count(one["looks"]),
            number(one["mean"], 3),
            number(one["95 %"], 3),
            number(one["largest"], 3),
            f"{one['wrong']:,}",
        ]
        for one in found["grades"]
    ]
    head = (
        "have chains converged?",
        "looks",
        "mean of the largest error",
        "in 95 %",
        "in all",
        f"above {limit:g}",
    )
    return f"""### What convergence is worth

`python benchmarks/convergence.py`: four chains of the default kernel, from starts as those of `compare`, on
{len(found["tables"])} real tables of {min(widths)} to {max(widths)} columns and 30 to 200 rows, which a rule
chose before anything was run; {found["seeds"]} seeds each, looked at after 250, 500, 1,000, ... sweeps. The
largest error of a co-assignment probability, against long chains whose halves agree to
{number(found["settled"])} ({settled} of the tables), by the answer of the verdict to whether the chains have
converged.

{table(head, rows)}

The limits are those of Vehtari et al. (2021). {limit:g} is what refined draws may be off where a verdict
trusts them."""
