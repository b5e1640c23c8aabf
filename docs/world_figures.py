"""The parts of the page of benchmarks on points that are no rows of columns: images, graphs and spikes."""

from benchmark_tables import Row, count, number, result, signed, table


def images() -> str:
    """Say how guides of glyphs do on handwriting."""
    found = result("handwriting")
    names = [name for name in ("digits", "mnist") if name in found]
    titles = {"digits": "digits, 8 x 8", "mnist": "MNIST, 28 x 28"}
    rows = [
        [name, *(_with_error(found[one]["scores"][name], "ari") for one in names)]
        for name in found[names[0]]["scores"]
    ]
    rows.append(["guide: clusters too many", *(signed(found[one]["mean excess of K"]) for one in names)])
    return f"""## Handwriting

`python benchmarks/handwriting.py`: adjusted Rand index (standard error) of guides that were trained on glyphs
of fonts, with [images of handwriting](images.md): {found[names[0]]["sets"]} sets of 20 to 100. The guides are
not told the number of classes, all others are.

{table(("method", *(titles[one] for one in names)), rows)}"""


def graphs() -> str:
    """Say how block models do on simulated graphs."""
    found = result("graphs")
    rows = [
        [name, _with_error(one, "ami"), "" if one["seconds"] is None else count(one["seconds"])]
        for name, one in found["rows"].items()
    ]
    return f"""## Graphs

`python benchmarks/graphs.py`: adjusted mutual information (standard error) with the blocks of
{found["graphs"]} [simulated graphs](graphs.md) of 50 to 300 nodes.

{table(("method", "AMI", "seconds a graph"), rows)}"""


def spikes() -> str:
    """Say how the guide of spikes does on recordings of its own simulator and of another."""
    own, other = result("spikes"), result("spike_recordings")
    sizes = list(own["rows"])
    rows = [
        [name, *(_with_error(own["rows"][size][name], "ami") for size in sizes)]
        for name in own["rows"][sizes[0]]
    ]
    low, high = other["spikes"]
    return f"""## Spikes

`python benchmarks/spikes.py`: adjusted mutual information (standard error) with the neurons of
[recordings](spikes.md) of the guide's own simulator, {own["sets"]} of each size.

{table(("method", *(f"{int(size):,} spikes" for size in sizes)), rows)}

`python benchmarks/spike_recordings.py`: {other["recordings"]} recordings of spikeinterface's generator
(version {other["spikeinterface"]}), of {other["neurons"][0]} to {other["neurons"][1]} neurons and {low:,} to
{high:,} spikes, band-passed; nine of them unfiltered as well.

{recordings()}"""


def recordings() -> str:
    """Return the table of methods on the recordings of spikeinterface, the best first."""
    found = sorted(result("spike_recordings")["methods"].items(), key=lambda one: -one[1]["ami"])
    rows = [
        [
            name,
            _with_error(one, "ami"),
            number(one["ari"], 3),
            number(one["distance to the number"], 1),
            f"{100 * one['well detected']:.0f} %",
            number(one["ami by kind"]["unfiltered"], 3),
            number(one["seconds"], 1),
        ]
        for name, one in found
    ]
    head = ("method", "AMI", "ARI", "units off by", "well detected", "AMI, unfiltered", "seconds")
    return table(head, rows)


def _with_error(found: Row, name: str) -> str:
    return f"{number(found[name], 3)} ({number(found['error'], 3)})"
