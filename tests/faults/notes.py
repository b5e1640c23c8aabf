"""Tables that are read, and what has to be said of them; names in what is written."""

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
from faults.cases import Case, of_family
from faults.tables import no, noted, numbers, table

from pyroclust import cluster, read_table
from pyroclust.data import standardise
from pyroclust.partitions import Draws
from pyroclust.results.analysis import Analysis
from pyroclust.results.data import AnalysedData
from pyroclust.results.files import csv_text

_, gives, _ = of_family("tables")


ODD_NAMES = ["row", "label", "guide_cluster", "row (given)", "=a", "-b", "@c", " d ", 'e"f', "g;h"]


def notes_first(folder: Path) -> str:
    """See that each note is told before chains run."""
    (folder / "t.csv").write_text(
        "id;survey weight;p;q;r\n" + "".join(f"{9 * k};0,{8 + k % 2};1.{k:03d},5;{k}%;a\n" for k in range(30))
    )
    told: list[str] = []
    found = cluster("t.csv", mcmc_draws=10, num_chains=1, warmup=10, progress=told.append, decimal=",")
    assert found.data is not None
    notes = found.data.table.notes
    assert len(notes) > 4, notes
    assert told[: len(notes)] == list(notes)
    assert told[len(notes)].startswith("running"), told
    return f"{len(notes)} notes"


def written_names(folder: Path) -> str:
    """Read back what is written of columns that are called as ours."""
    frame = pd.DataFrame(np.arange(20.0).reshape(2, 10), columns=ODD_NAMES).assign(kind=["=x", " y"])
    points = read_table(frame, label="kind")
    draws = {name: Draws(assignments=np.array([[[0, 1], [0, 1], [0, 0]]])) for name in ("mcmc", "guide")}
    found = Analysis(command="compare", data=AnalysedData(points, standardise(points)), draws=draws)
    text = csv_text(found.frame())
    by_csv = list(csv.reader(io.StringIO(text, newline="")))
    by_pandas = pd.read_csv(io.StringIO(text, newline=""))
    assert by_csv[0] == list(by_pandas.columns), "read differently"
    assert len({*by_csv[0]}) == len(by_csv[0]) == len(by_csv[1]), f"names come twice: {by_csv[0]}"
    assert not any(cell.lstrip().startswith(("=", "@", "-b")) for row in by_csv for cell in row), text
    (folder / "a.csv").write_text(text)
    ours = read_table(folder / "a.csv", label="label")
    assert ours.labels is not None
    assert ours.labels.tolist() == ["'=x", " y"]
    np.testing.assert_array_equal(ours.data[:, 4:14], frame[ODD_NAMES])
    return ", ".join(by_csv[0])


CASES = [
    noted("a last row of totals, named", ",a\nx,1.5\ny,2.5\nTotal,4.0\n", "“Total”, was read as a point"),
    noted("a last row of totals, in a column", "n,a\nx,1.5\ny,2.5\nSum:,4\n", "“Sum:”", columns=["a"]),
    noted("a last row of means, as a label", "k,a\nx,1.5\ny,2.5\nmean,2\n", "“mean”", label="k"),
    noted(
        "-999 among small numbers", "a,b\n.5,1\n-999,2\n.25,3.5\n.75,4\n", "missing values, and were read as"
    ),
    noted(
        "dates without marks",
        "d,a\n20200131,.5\n20200201,.7\n20200131,1\n20210101,2\n",
        "'d': its numbers are dates",
    ),
    noted(
        "letters in two forms in labels", "x,k\n1.5,\u00e9\n2,e\u0301\n4,a\n", "are two classes", label="k"
    ),
    noted("invisible characters in labels", "x,k\n1.5,a\u200b\n2,a\n4,b\n", "are two classes", label="k"),
    noted("two spaces in labels", "x,k\n1.5,a  b\n2,a b\n4,b\n", "are two classes", label="k"),
    noted("a class called ?", "x,k\n1.5,?\n2,b\n4,b\n", "“?” is the name of a class", label="k"),
    noted("one class only", "x,k\n1.5,a\n2,a\n4,a\n", "all labels are the same one, “a”", label="k"),
    gives(
        "a column whose letters have another form",
        lambda: table("e\u0301t\u00e9,b\n1.5,2\n2.5,3\n", columns=["\u00e9t\u00e9"]).data.tolist(),
        [[1.5], [2.5]],
    ),
    no(
        "names of columns in the middle",
        "a,b\n1.5,2\na,b\n2.5,3\n",
        "names of its columns come again in row 2",
    ),
    numbers("a bar at both ends of lines", "|a|b|\n|1.5|2|\n|2.5|3|\n", [[1.5, 2.0], [2.5, 3.0]]),
    Case("tables", "a table of which much is to be said", "all of it, before the chains run", notes_first),
    no("a note below the rows", "a,b\n1.5,2\n2.5,3\n\nSource: us\n", "if it is a title or a note, remove it"),
    noted(
        "six columns that are left out",
        "x,"
        + ",".join("abcdef")
        + "\n"
        + "".join(f"{k * 0.37:.2f},t{k},u{k},v{k},w{k},s{k},r{k}\n" for k in range(9)),
        "'d': every row has a text of its own; and 'e', 'f'.",
        kinds={},
    ),
    Case(
        "tables",
        "columns called row, label and guide_cluster, written",
        "every name once, read back alike by three readers",
        written_names,
    ),
]
