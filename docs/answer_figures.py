"""The part of the page of benchmarks on how long an answer takes."""

from benchmark_tables import count, number, result, table


def answer() -> str:
    """Say what commands cost by table, and what they find."""
    found = result("answer")
    rows = [
        [
            name,
            number(one["allowed"], 0),
            number(one["processor_seconds"], 1),
            number(one["seconds"], 1),
            count(one["mib"]),
            one["verdict"],
            str(one["clusters"]),
            one["rely"],
        ]
        for name, one in found["rows"].items()
    ]
    head = (
        "table, command",
        "allowed to draws, s",
        "processor seconds",
        "wall",
        "MiB",
        "verdict",
        "clusters",
        "may I rely on it?",
    )
    said = [
        f"{name}: {' to '.join(number(least, 0) for least in one['expected'])} s, "
        f"{one['processor_seconds']:.0f} s"
        for name, one in found["rows"].items()
        if one["expected"]
    ]
    expected = (
        f" Commands that may take more than a minute say so before; expected and taken: {'; '.join(said)}."
        if said
        else ""
    )
    chains = [
        [name.removeprefix("seconds, "), f"{one['N']:,} x {one['D']}"]
        + [number(one[figure], 0) for figure in ("starts", "named", "took")]
        for name, one in result("kinds_of_columns").items()
        if name.startswith("seconds, ")
    ]
    kinds = table(("columns", "rows x columns", "starts, s", "named", "taken"), chains)
    repeats = {one["repeats"] for one in found["rows"].values()}
    runs = (
        "One run each, so that what comes first may have waited for machine code"
        if repeats == {1}
        else f"Medians of {min(repeats)} to {max(repeats)} runs"
    )
    return f"""## How long an answer takes

`python benchmarks/answer.py`: each row is a process of its own, from the command to the report on disk, the
start of Python included, machine code there already, but for the row that is the first; `fit` is that of
`pyroclust.sklearn.PartitionPosterior`, without imports. {runs} ({found["machine"]["cores"]} cores that also
did other work). What is allowed is what the defaults allow the draws: chains and, for `compare`, three
seconds of a guide; code has to be loaded, and a report written, besides.{expected}

{table(head, rows)}

After a second chains name the seconds of their first round, and what they may take at most where they go on;
who waits is told where that is more than a minute. `python benchmarks/kinds_of_columns.py --seconds`: four
chains of 2,250 sweeps on simulated tables, `wide` ones of which have full covariances; starts come before.

{kinds}"""
