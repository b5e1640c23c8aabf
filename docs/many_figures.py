"""Many data sets: what their verdicts are worth, and rates beside chains."""

from statistics import median

from benchmark_tables import Row, count, number, result, table

_MILLION, _OFF = 1_000_000, 0.15
_KINDS = {"model": "from the model", "tails": "heavier tails", "overlap": "clusters that overlap"}


def set_verdicts() -> str:
    """Return the section of the page of benchmarks on verdicts."""
    every = result("set_verdicts")
    shown = []
    for verdict in ("sure", "weights needed", "run chains"):
        for kind, words in _KINDS.items():
            some = [one for one in every if (one["verdict"], one["kind"]) == (verdict, kind)]
            if some:
                shown.append(
                    [verdict, words, str(len(some)), *map(_errors, _SOURCES, [some] * len(_SOURCES))]
                )
    head = (
        *("verdict", "data sets", "number", "2,000 draws without weights", "2,000 with weights"),
        *("100 draws without weights", "100 with weights"),
    )
    chains = max(one["between chains"] for one in every)
    return f"""## Verdicts of many data sets

`python benchmarks/set_verdicts.py`: data sets of 20 to 80 points, verdicts of 100 draws of `ncp-gaussian2d`,
and two long chains of each. The error is the largest difference of any P(K), or of the probability of any
pair of points; the chains themselves differ by {number(chains)} at most. Median error, and in brackets how
many data sets are off by more than {_OFF:g}.

{table(head, shown)}

Sure says that draws would do without weights: 2,000 of them show what the verdict speaks of, 100 have their
noise as well."""


_SOURCES = [(size, how) for size in ("of 2,000", "of 100") for how in ("plain", "weighted")]


def _errors(source: tuple[str, str], rows: list[Row]) -> str:
    found = [one[source[0]][source[1]] for one in rows]
    return f"{number(median(found), 3)} ({sum(one > _OFF for one in found)})"


def many_datasets() -> str:
    """Return the section of the page of benchmarks on rates."""
    rows = {(one["guide"], one["sets"], one["workers"]): one for one in result("many_datasets")}
    guides = dict.fromkeys(guide for guide, _, _ in rows)
    shown = [_row(guide, {key[1:]: one for key, one in rows.items() if key[0] == guide}) for guide in guides]
    head = (
        *("guide", "processor seconds a set", "chains", "seconds a set, one process", "one worker"),
        *("two workers", "process to two workers", "10,000 sets", "GiB at most"),
        *("a million: core hours", "GiB on disk"),
    )
    return f"""## Many data sets

`python benchmarks/many_datasets.py`: `cluster_many` with 100 draws of each data set of 100 points in two
dimensions, without chains, from the first data set to the page. Workers have a thread each. Chains are the
kernel of `pyroclust cluster` for the same model, as long as 100 effective draws of the slowest functional
take, burn-in included, in seconds of a core: a chain that is told beforehand how long it has to be. The
process that sends and writes takes a part of the second core beside one worker: two are compared with the
same loop in one process.

{table(head, shown)}

The draws of `ncp-gaussian2d` agree for long, and what they share is computed once: a step has 12 different
beginnings of 100 draws. Of `ncp-niw2d`, whose clusters overlap, it has 67, and each of these looks at all
points to come: there chains are first."""


def _row(guide: str, runs: dict[tuple[int, int | str], Row]) -> list[str]:
    def seconds(workers: int) -> float | None:
        found = [one["seconds"] / sets for (sets, of), one in sorted(runs.items(), key=str) if of == workers]
        return found[-1] if found else None

    alone, two, large = seconds(0), seconds(2), runs.get((10_000, 2))
    chains = next((one["seconds"] / sets for (sets, of), one in runs.items() if of == "chains"), None)
    whole = large or next(one for (_, of), one in runs.items() if of != "chains")
    each = whole["processor_seconds_of_sets"] / whole["sets"]
    most = max(one["MiB"] for one in runs.values() if "MiB" in one)
    return [
        f"`{guide}`" if guide != "default" else f"by default, `{whole['drawn_by']}`",
        *(number(value, 3) for value in (each, chains)),
        *(number(value, 4) for value in (alone, seconds(1), two)),
        number(alone / two) if alone and two else "",
        f"{count(large['seconds'])} s" if large else "",
        number(most / 1024),
        count(each * _MILLION / 3600),
        count(whole["MiB_on_disk"] / 1024 / whole["sets"] * _MILLION),
    ]
