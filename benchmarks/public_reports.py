"""Questions that users of other software asked in public, rebuilt as data, and what `pyroclust cluster` says.

    python benchmarks/public_reports.py [--only WORD ...]

Each report is described in words, with its address. Where the data were attached or in a picture, they are
simulated after the description. An answer is right where chains have converged, the likeliest number of
clusters is right, and, where groups are known, the partition has an adjusted Rand index of at least what the
case says. Where it is not right it must not be sure: the verdict is not Yes, or the 90 % interval has a right
number. All else is silently wrong. Reports that are not run again keep their rows in
benchmarks/results/public_reports.json; `python docs/reports.py` writes the table of docs/reports.md from it.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from kept import add_to_report
from rich.console import Console
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from pyroclust import Analysis, cluster, predict

RESULTS = Path(__file__).parent / "results" / "public_reports.json"
Made = tuple[pd.DataFrame, np.ndarray | None]
"""A table, and the group of each row where it is known."""


@dataclass(frozen=True)
class Report:
    """A question that was asked in public.

    Attributes:
        asked: what the user saw.
        address: where, below https://github.com/.
        data: what the data are, or how they were simulated.
        right: the right answer, and how it is known.
        numbers: of clusters that are right.
        make: builds the data.
        least: adjusted Rand index with the groups, from which an answer is right.
        also: what else must hold; returns what does not, in words.
        options: of `cluster`.
        changed: what was changed after we had seen the answer.
    """

    asked: str
    address: str
    data: str
    right: str
    numbers: tuple[int, ...]
    make: Callable[[], Made]
    least: float = 0.0
    also: Callable[[pd.DataFrame, Analysis], str] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    changed: str = ""


def frame(values: Any, names: str = "") -> pd.DataFrame:
    """Name the columns x1, x2, ... where they have no names."""
    values = np.asarray(values)
    return pd.DataFrame(values, columns=names.split() or [f"x{k + 1}" for k in range(values.shape[1])])


def normals(
    sizes: list[int], means: Any, sds: Any, *, seed: int = 0, digits: int = 12, names: str = ""
) -> Made:
    """Draw normal groups with independent columns."""
    rng, groups = np.random.default_rng(seed), np.repeat(np.arange(len(sizes)), sizes)
    means, sds = (np.asarray(one, float).reshape(len(sizes), -1) for one in (means, sds))
    return frame(rng.normal(means[groups], sds[groups]).round(digits), names), groups


def answers(sizes: list[int], probabilities: np.ndarray, *, seed: int = 0, first: int = 1) -> Made:
    """Draw answers from the probabilities ``(groups, items, levels)`` of groups."""
    rng, groups = np.random.default_rng(seed), np.repeat(np.arange(len(sizes)), sizes)
    below = probabilities.cumsum(-1)[groups]
    return frame((rng.random((*below.shape[:2], 1)) > below).sum(-1) + first), groups


def repeated(points: Any, times: int) -> Made:
    return frame(np.repeat(points, times, 0)), np.repeat(np.arange(len(points)), times)


def ten_points() -> Made:
    return repeated(np.random.default_rng(0).normal(size=(10, 2)).round(3), 50)


def parallel(ratio: float, angle: float) -> Made:
    """Draw two long groups, six short standard deviations apart."""
    table, groups = normals([300, 300], [[0, -3], [0, 3]], [[ratio, 1]] * 2)
    turn = np.radians(angle)
    return frame(table @ [[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]), groups


def curves() -> Made:
    """Draw three trends with noise that is partly the same from one time to the next."""
    rng, groups, hours = np.random.default_rng(0), np.repeat(np.arange(3), 20), np.linspace(0, 1, 24)
    noise = rng.normal(size=(60, 24))
    for k in range(1, 24):
        noise[:, k] = 0.5 * noise[:, k - 1] + 0.87 * noise[:, k]
    trends = np.stack([4 * hours, 4 - 4 * hours, 4 * np.sin(2 * np.pi * hours)])
    return frame(trends[groups] + noise, " ".join(f"t{k}" for k in range(1, 25))), groups


def cells() -> Made:
    """Draw eight groups in ten of fifty components whose variances fall as those of PCA do."""
    rng, sizes = np.random.default_rng(0), [600, 400, 300, 250, 200, 120, 80, 50]
    spread = 10 / np.arange(1, 51) ** 0.7
    means = rng.normal(size=(8, 50)) * spread * 3 * (np.arange(50) < 10)
    return normals(sizes, means, np.tile(spread, (8, 1)), names=" ".join(f"PC{k}" for k in range(1, 51)))


def blobs() -> Made:
    widths = [0.5, 0.8, 1.0, 1.2, 1.5, 0.6, 0.9, 1.1, 1.4, 2.0]
    points, groups = make_blobs(500, centers=10, cluster_std=widths, center_box=(-8, 8), random_state=0)
    return frame(points, "x y"), groups


def flags() -> Made:
    rng, flag = np.random.default_rng(0), np.repeat([1, 0], 500)
    middle, width = np.repeat([1, 2, 2, 3], 250), np.repeat([0.5, 0.25], 500)
    rows = np.column_stack([flag, 1 - flag, rng.normal(middle, width).round(1)])
    groups = np.append(np.repeat(np.arange(2), 500), 2)
    return frame(np.vstack([rows, [0, 1, -100]]), "id1 id2 val"), groups


def petals() -> Made:
    iris = load_iris()
    return frame(iris.data[:, 2:], "petal_length petal_width"), iris.target


def eight_classes() -> Made:
    rng = np.random.default_rng(0)
    yes = rng.choice([0.1, 0.9], size=(8, 20))
    return answers([125] * 8, np.stack([1 - yes, yes], -1), first=0)


def likert() -> Made:
    """Draw 15 answers of 1 to 5, of two classes, 0 where one is missing."""
    rng, groups = np.random.default_rng(0), np.repeat([0, 1], [800, 646])
    latent = rng.normal(size=(1446, 15)) + np.array([-0.6, 0.6])[groups, None]
    cut = np.digitize(latent, [-1.2, -0.4, 0.4, 1.2]) + 1
    return frame(
        np.where(rng.random(cut.shape) < 0.05, 0, cut), " ".join(f"q{k}" for k in range(1, 16))
    ), groups


def independent() -> Made:
    rng = np.random.default_rng(0)
    return answers([500], rng.dirichlet([3, 3, 3], size=(1, 8)))


def variants() -> Made:
    rng = np.random.default_rng(0)
    return frame(rng.binomial(2, [0.1, 0.2, 0.3, 0.4, 0.5, 0.5], size=(200, 6))), np.zeros(200, int)


def scores() -> Made:
    """Draw three profiles of eight whole-number scores, the last a count of at most nine values."""
    rng, groups = np.random.default_rng(0), np.repeat(np.arange(3), [300, 200, 95])
    means = np.array([[14, 10, 22, 8, 30, 12, 18], [20, 14, 16, 12, 22, 18, 13], [27, 19, 10, 17, 15, 25, 8]])
    rows = rng.normal(means[groups], 3.0).round().clip(0)
    return frame(np.column_stack([rows, rng.poisson(np.array([0.3, 1.0, 2.5])[groups]).clip(0, 8)])), groups


def stayed_equal() -> Made:
    rng = np.random.default_rng(0)
    return frame(np.append(rng.normal(size=100), np.full(10, 10.0))[:, None]), np.repeat([0, 1], [100, 10])


def purchasers() -> Made:
    married = ["single"] * 3 + ["married"] * 2 + ["single", "married", "divorced", "married", "divorced"]
    columns = {
        "age": [22, 25, 30, 38, 42, 47, 55, 62, 61, 90],
        "gender": list("MMFFFMMMMM"),
        "civil_status": married,
        "salary": [18000, 23000, 27000, 32000, 34000, 20000, 40000, 42000, 25000, 70000],
        "has_children": [False] * 3 + [True] * 2 + [False] * 4 + [True],
        "purchaser_type": ["low"] * 3 + ["heavy"] * 2 + ["low"] + ["medium"] * 3 + ["low"],
    }
    return pd.DataFrame(columns), None


def gaps() -> Made:
    """Take none to five of six cells from each row, as the report does."""
    table, groups = normals([300, 167], [[0] * 6, [1.8] * 6], [[1] * 6] * 2)
    rng = np.random.default_rng(1337)
    lost = rng.choice(6, len(table), p=[0.30, 0.20, 0.20, 0.15, 0.10, 0.05])
    order = rng.random(table.shape).argsort(1).argsort(1)
    return table.mask(order < lost[:, None]), groups


def half_labelled() -> Made:
    rng, groups = np.random.default_rng(0), np.repeat([0, 1], 50)
    values = np.column_stack([rng.normal(size=100), rng.normal(2.0 * groups)])
    return frame(values, "x y").assign(z_class=np.repeat([1.0, np.nan, 2.0, np.nan], 25)), groups


def mitochondria() -> Made:
    """Draw intact cells with many genes and few mitochondria, and broken ones, the other way round."""
    rng, groups = np.random.default_rng(0), np.repeat([0, 1], [880, 120])
    genes = np.exp(rng.normal(np.log([3000, 600])[groups], 0.3)).round()
    share = rng.normal(np.array([5, 25])[groups], np.array([1.5, 5])[groups]).clip(0.1).round(2)
    return frame(np.column_stack([genes, share]), "detected mito_percent"), groups


def same_after_minmax(table: pd.DataFrame, found: Analysis) -> str:
    scaled = (table - table.min()) / (table.max() - table.min())
    same = adjusted_rand_score(labels(cluster(scaled)), labels(found)) == 1
    return "" if same else "other labels on columns from 0 to 1"


def other_than_numbers(table: pd.DataFrame, found: Analysis) -> str:
    same = adjusted_rand_score(labels(cluster(table[["age", "salary"]])), labels(found)) == 1
    return "the clusters are those of the numbers" if same else ""


def same_predictions(table: pd.DataFrame, found: Analysis) -> str:
    """Compare new rows that are old ones, in another order, with what the draws say of the old ones."""
    order = np.random.default_rng(1).permutation(len(table))
    said = predict(found, table.iloc[order])
    estimate, draws = labels(found)[order], found.draws[found.reference.key].assignments
    partitions = draws.reshape(-1, draws.shape[-1])[:: max(draws.size // len(table) // 400, 1), order]
    together = partitions[:, :, None] == partitions[:, None, :]
    members = np.eye(estimate.max() + 1)[estimate]
    shares = ((together @ members) / together.sum(-1, keepdims=True)).mean(0)
    wrong = {
        "other labels": (said.clusters != estimate).mean() > 0.02,
        "probabilities that differ from co-assignment": np.abs(said.probabilities[:, :-1] - shares).max()
        > 0.1,
    }
    return ", ".join(words for words, fails in wrong.items() if fails)


def labels(found: Analysis) -> np.ndarray:
    return np.asarray(found.reference.estimate.assignments)


def by_bic(table: pd.DataFrame) -> int:
    """Return the number that BIC chooses for GaussianMixture as it is."""
    values = [GaussianMixture(k, random_state=0).fit(table).bic(table) for k in range(1, 7)]
    return int(np.argmin(values)) + 1


MADE = "the groups are those that were drawn"
FEW = "a doubt, where a covariance has more entries than there are rows; --family diagonal {}"
HDBSCAN, SKLEARN = "scikit-learn-contrib/hdbscan/issues/", "scikit-learn/scikit-learn/issues/"
STRANGE = [
    [0.36789608, 0.17779213, 0.83797550, 0.77753013],
    [0.36628222, 0.17353597, 0.83745314, 0.78465497],
    [0.37088317, 0.17572623, 0.84084779, 0.78386849],
    [0.36569396, 0.17433393, 0.83739746, 0.78440967],
    [0.36793751, 0.17673337, 0.84037548, 0.78139651],
    [0.36722952, 0.17239252, 0.83743829, 0.78435159],
    [0.88804066, 0.81364667, 0.99931133, 1.0],
    [0.36865044, 0.18000209, 0.83752632, 0.78532994],
    [0.36644703, 0.17631954, 0.83802074, 0.78327519],
]
REPORTS = {
    "two points": Report(
        "five components for two points give probabilities that cannot be used",
        SKLEARN + "7953",
        "two points, 500 times each",
        "2: there is nothing else",
        (2,),
        lambda: repeated([[0.0, 0.0], [1.0, 1.0]], 500),
        least=1,
    ),
    "two points, any numbers": Report(
        "the same, where values are not 0 and 1",
        SKLEARN + "7953",
        "(1.5, 2.25) and (3.7, 9.1), 500 times each",
        "2: there is nothing else",
        (2,),
        lambda: repeated([[1.5, 2.25], [3.7, 9.1]], 500),
        least=1,
        changed="it ended with an error of torch: a density without bound now means a fixed scale",
    ),
    "ten points": Report(
        "equal rows come into different clusters",
        HDBSCAN + "548",
        "ten points of two normal columns, 50 times each",
        "10, or a sentence that rows come again",
        (10,),
        ten_points,
        least=1,
    ),
    "one point": Report(
        "one point, repeated, is noise",
        HDBSCAN + "305",
        "one point of three columns, 600 times",
        "1, or a sentence: no column varies",
        (1,),
        lambda: repeated([[3.0, 1.5, 2.25]], 600),
    ),
    "minmax": Report(
        "columns from 0 to 1 give one cluster, standardised ones several",
        SKLEARN + "6694",
        "three normal groups of 100 in the plane",
        "the same 3 whatever the scale",
        (3,),
        lambda: normals([100] * 3, [[0, 0], [500, 2], [0, 5]], [[80, 0.6]] * 3),
        least=0.95,
        also=same_after_minmax,
    ),
    "predictions": Report(
        "predictions of the rows that were clustered have other labels",
        HDBSCAN + "163",
        "two normal groups of 60, 4 standard deviations apart",
        "the labels of the rows, whatever their order",
        (2,),
        lambda: normals([60, 60], [[0, 0], [4, 0]], [[1, 1]] * 2),
        least=0.8,
        also=same_predictions,
    ),
    **{
        f"parallel {ratio}:1, {angle} degrees": Report(
            "BIC of a mixture that k-means has begun chooses the wrong model, and says nothing",
            SKLEARN + "34845",
            f"two parallel groups of 300, {ratio}:1 long" + f", rotated by {angle} degrees" * bool(angle),
            f"2; {MADE}",
            (2,),
            lambda ratio=ratio, angle=angle: parallel(ratio, angle),
            least=0.95,
        )
        for ratio in (10, 30, 100)
        for angle in (0, 30)
    },
    "curves": Report(
        "can series with gaps be clustered in time?",
        "Labo-Lacourse/stepmix/issues/62",
        "60 curves of 24 time points, three trends, autocorrelated noise",
        f"3; {MADE}",
        (3,),
        curves,
        least=0.95,
        changed=FEW.format("gives 3"),
    ),
    "cells": Report(
        "one cluster, whatever the resolution",
        "satijalab/seurat/issues/2817",
        "2,000 cells x 50 components, eight groups of 50 to 600; --family diagonal",
        f"8; {MADE}",
        (8,),
        cells,
        least=0.95,
        options={"family": "diagonal"},
        changed="nothing; full covariances were stopped after 11 minutes (the command says what is left)",
    ),
    "blobs": Report(
        "a Dirichlet process mixture uses all the components that it is given",
        SKLEARN + "7729",
        "500 points in ten overlapping blobs of unequal width",
        f"10, or that it is not sure; {MADE}",
        (10,),
        blobs,
        least=0.8,
    ),
    "ten rows": Report(
        "ten rows should be one cluster; six of them are noise",
        HDBSCAN + "200",
        "ten normal rows x 23 columns",
        "1, as the user expects: ten rows of one law",
        (1,),
        lambda: normals([10], [[20_000] * 23], [[15_000] * 23]),
        changed=FEW.format("does not converge"),
    ),
    "zeros": Report(
        "equal rows and one other are all noise",
        HDBSCAN + "56",
        "0, 29 times, and 20",
        "2: the zeros, and the other",
        (2,),
        lambda: (frame([[0]] * 29 + [[20]]), np.append(np.zeros(29), 1)),
        least=1,
    ),
    "uniform": Report(
        "2 clusters and 58 rows of noise, where there is no cluster",
        HDBSCAN + "77",
        "100 rows x 20 uniform columns",
        "1: one law",
        (1,),
        lambda: (frame(np.random.default_rng(3).random((100, 20))), None),
    ),
    "five rows": Report(
        "why are all rows noise?",
        HDBSCAN + "224",
        "1 0 1 three times, 0 1 0 twice",
        "2: there are two patterns",
        (2,),
        lambda: (frame([[1, 0, 1], [0, 1, 0]] * 2 + [[1, 0, 1]]), np.array([0, 1, 0, 1, 0])),
        least=1,
    ),
    "outlier": Report(
        "all nine rows are noise; eight are alike",
        HDBSCAN + "492",
        "the nine rows x 4 columns of the report",
        "2: eight rows, and one apart, as the user expects",
        (2,),
        lambda: (frame(STRANGE), np.arange(9) == 6),
        least=1,
    ),
    "flags": Report(
        "scores of outliers are wrong where rows come again",
        "mhahsler/dbscan/issues/38",
        "two flags, one the reverse of the other; two normal groups each, of one decimal; one row at -100",
        "the flags apart, and the row at -100 alone",
        (3, 4, 5),
        flags,
    ),
    "three normals": Report(
        "two components seem to fit three",
        "pymc-devs/pymc/issues/1587",
        "900 values: means 100, 200 and 300, standard deviations 10, 20 and 30",
        f"3; {MADE}",
        (3,),
        lambda: normals([300] * 3, [100, 200, 300], [10, 20, 30]),
        least=0.9,
    ),
    "petals": Report(
        "three classes asked for, two predicted; BIC chooses five",
        "Labo-Lacourse/stepmix/issues/11",
        "petals of the irises, 150 x 2",
        "3 species, two of which overlap, or 2",
        (2, 3),
        petals,
        least=0.5,
    ),
    "one question": Report(
        "how many parameters has a model of one question?",
        "Labo-Lacourse/stepmix/issues/34",
        "200 answers to one question, three levels at random",
        "cannot be told from one question: 1, or not sure",
        (1,),
        lambda: answers([200], np.full((1, 1, 3), 1 / 3)),
    ),
    "eight classes": Report(
        "13 classes by a search, five of which no row is in",
        "Labo-Lacourse/stepmix/issues/60",
        "1,000 rows x 20 answers yes or no, eight classes",
        f"8; {MADE}",
        (8,),
        eight_classes,
        least=0.9,
    ),
    "answers 1 to 5": Report(
        "a class for 81 of 1,446 rows only",
        "hyunsooseol/snowRMM/issues/14",
        "1,446 x 15 answers of 1 to 5, two classes; said to be ordered, and 0 to be missing",
        f"2, and a class for each row; {MADE}",
        (2,),
        likert,
        least=0.9,
        options={
            "missing": [f"q{k}=0" for k in range(1, 16)],
            "kinds": {f"q{k}": "ordered" for k in range(1, 16)},
        },
    ),
    "no classes": Report(
        "2 to 6 classes are compared, never 1",
        "exploratory-io/exploratory_func/pull/1649",
        "500 rows x 8 independent answers of three levels",
        f"1; {MADE}",
        (1,),
        independent,
    ),
    "variants": Report(
        "BIC falls without end",
        "thibautjombart/adegenet/issues/291",
        "200 individuals x 6 variants, one population",
        f"1; {MADE}",
        (1,),
        variants,
    ),
    "scores": Report(
        "six profiles do not end in three hours",
        "data-edu/tidyLPA/issues/212",
        "595 people x 8 whole numbers, one with nine values; three profiles",
        f"3; {MADE}",
        (3,),
        scores,
        least=0.95,
    ),
    "athletes": Report(
        "ten hours without an end for 700 rows x 3 columns",
        "data-edu/tidyLPA/issues/205",
        "oxygen uptake, jump and grip of 350 men and 350 women",
        f"2; {MADE}",
        (2,),
        lambda: normals(
            [350, 350],
            [[45, 38, 48], [38, 28, 30]],
            [[6, 5, 7], [5, 4, 5]],
            digits=1,
            names="vo2max jump grip",
        ),
        least=0.85,
    ),
    "few rows": Report(
        "the log likelihood is positive, the covariance singular",
        SKLEARN + "8453",
        "20 rows x 10 columns near 300, one law",
        f"1; {MADE}",
        (1,),
        lambda: normals([20], [[300] * 10], [[80] * 10]),
        changed=FEW.format("does not converge"),
    ),
    "equal values": Report(
        "weights are not numbers where values are equal",
        "davidavdav/GaussianMixtures.jl/issues/21",
        "100 values N(0, 1), and 10.0 ten times",
        "2; as drawn",
        (2,),
        stayed_equal,
        least=1,
    ),
    "purchasers": Report(
        "categories change nothing beside numbers",
        "nicodv/kmodes/issues/161",
        "the ten rows x 6 columns of the report",
        "other clusters than by age and salary alone, as the user expects; how many is not known",
        (1, 2, 3, 4, 5),
        purchasers,
        also=other_than_numbers,
    ),
    "whole numbers": Report(
        "a covariance is singular on whole numbers",
        "pmelchior/pygmmis/issues/6",
        "300 whole numbers: means 7, 14 and 30, variances 2, 3 and 5",
        f"3; {MADE}",
        (3,),
        lambda: normals([100] * 3, [7, 14, 30], [2**0.5, 3**0.5, 5**0.5], digits=0),
        least=0.9,
    ),
    "gaps": Report(
        "profiles do not start where cells are missing",
        "cjvanlissa/tidySEM/issues/98",
        "467 rows x 6 columns, none to five cells of each missing, two profiles",
        f"2; {MADE}",
        (2,),
        gaps,
        least=0.6,
    ),
    "half labelled": Report(
        "a column of known classes is read as a measurement",
        "modal-inria/MixtComp/issues/7",
        "100 rows: noise, two groups 2 standard deviations apart, and the class of half of the rows",
        "2, or not sure; the class is no measurement",
        (2,),
        half_labelled,
        changed="a note names --partial-labels",
    ),
    "mitochondria": Report(
        "one component is left of two",
        "greenelab/miQC/issues/2",
        "1,000 cells: genes and share of mitochondria, 120 broken",
        f"2; {MADE}",
        (2,),
        mitochondria,
        least=0.9,
    ),
}


def judged(report: Report, found: Analysis, groups: np.ndarray | None, broken: str) -> str:
    """Say whether an answer is right, says itself that it is not sure, or is silently wrong."""
    said = found.in_words
    near = groups is None or not report.least or adjusted_rand_score(groups, labels(found)) >= report.least
    converged = not said.rely.startswith("Not yet")
    if said.num_clusters in report.numbers and near and converged and not broken:
        return "right"
    low, high = said.interval
    unsure = not said.rely.startswith("Yes") or any(low <= one <= high for one in report.numbers)
    return "not sure" if not broken and unsure else "silently wrong"


def measure(report: Report, **options: Any) -> dict[str, Any]:
    """Build the data, cluster them, and say what came out."""
    table, groups = report.make()
    begin = time.perf_counter()
    try:
        found = cluster(table, **report.options, **options)
    except ValueError as error:
        return {"judged": "refused", "said": str(error), "seconds": time.perf_counter() - begin}
    seconds, said = time.perf_counter() - begin, found.in_words
    broken = report.also(table, found) if report.also else ""
    return {
        "judged": judged(report, found, groups, broken),
        "how many": said.how_many,
        "interval": list(said.interval),
        "said": said.rely,
        "broken": broken,
        "sizes": list(said.sizes),
        "ARI": None if groups is None else round(adjusted_rand_score(groups, labels(found)), 3),
        "notes": list(found.notes),
        "seconds": round(seconds, 1),
    }


def main(
    only: Annotated[list[str] | None, typer.Option(help="Words in the names of reports.")] = None,
) -> None:
    """Run the reports, print and keep what came out."""
    console = Console(width=140)
    for name, report in REPORTS.items():
        if only is None or any(word in name for word in only):
            row = measure(report)
            if report.address.endswith("34845"):
                row["by BIC"] = by_bic(report.make()[0])
            console.print(name, row)
            add_to_report(RESULTS, {name: row})


if __name__ == "__main__":
    typer.run(main)
