"""Many data sets: what their verdicts are worth."""

from statistics import median

from benchmark_tables import Row, number, result, table

_OFF = 0.15
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
