"""What a posterior says of what was not seen: the clusters of new rows, and missing cells."""

from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from pyroclust.core.machine import single_precision
from pyroclust.core.messages import range_in_words
from pyroclust.core.numbers import check_count
from pyroclust.core.random_state import seeded
from pyroclust.data import Table
from pyroclust.data.datasets import Source, read_new_rows
from pyroclust.diagnostics.likeness import Likeness, likeness
from pyroclust.diagnostics.limits import written_p
from pyroclust.distributions.protocols import takes_missing
from pyroclust.infer.mcmc.parameters import parameters_of_draws
from pyroclust.models import PosteriorPredictive
from pyroclust.models.predictive import NewPoints, SampledPredictive
from pyroclust.results.analysis import Analysis
from pyroclust.results.data import AnalysedData, ColumnOfMissing, MissingCells
from pyroclust.saving.models import build_model

_OLD_ROWS, _FEWEST_OLD_ROWS, _MOST_PATTERNS = 300, 30, 20
# Slice moves are dear.
_MOST_WITH_PARAMETERS = 100


@dataclass(frozen=True)
class Prediction:
    """What a posterior says of M new rows."""

    row_names: tuple[str, ...]
    # Of the J clusters of the point estimate, and of a new one last, (M, J + 1); rows sum to 1.
    probabilities: NDArray[np.float64]
    # Log predictive density of each row in nats, in the units of the columns, (M,).
    log_density: NDArray[np.float64]
    likeness: Likeness  # where the densities lie among those of old rows, each left out of its cluster
    sizes: NDArray[np.int64]  # rows of the clusters of the point estimate, (J,)
    notes: tuple[str, ...] = ()  # sentences on what was left out

    def __repr__(self) -> str:
        """Return how many rows there are, and how many are new."""
        return f"Prediction({len(self.row_names)} rows, {int(self.is_new.sum())} of them in a new cluster)"

    @property
    def clusters(self) -> NDArray[np.int64]:
        """The most probable cluster of each row, J for a new one."""
        return self.probabilities.argmax(-1)

    @property
    def typicality(self) -> NDArray[np.float64]:
        """Share of old rows, each left out, that are no more likely than each new one, ``(M,)``."""
        return self.likeness.typicality

    @property
    def is_new(self) -> NDArray[np.bool_]:
        """Whether a row is in no cluster that there is, more probably than in any one of them."""
        return self.clusters == len(self.sizes)

    @property
    def warning(self) -> str | None:
        """Say that the new rows are unlike the old ones; ``None`` where nothing says so."""
        if not self.likeness.is_unlike:
            return None
        return (
            "The new rows are unlike those that were clustered: half of them are less likely than "
            f"{1 - np.median(self.typicality):.0%} of the old rows (rank test, "
            f"{written_p(self.likeness.p_value)}). Probabilities of clusters hold only for rows from the "
            "same source: if these are from another, compare all rows anew."
        )

    def frame(self) -> pd.DataFrame:
        """Return one row a new row: most probable cluster, all probabilities, log density, typicality."""
        clusters = [*(str(k + 1) for k in range(len(self.sizes))), "new"]
        columns: dict[str, Any] = {
            "row": list(self.row_names),
            "cluster": [clusters[one] for one in self.clusters],
            **{f"probability_{name}": self.probabilities[:, at] for at, name in enumerate(clusters)},
            "log_density": self.log_density,
            "typicality": self.typicality,
        }
        return pd.DataFrame(columns)


@single_precision()
def predict(
    source: "Analysis | str | PathLike[str]",
    new: Source,
    *,
    num_draws: int = 400,
    aggregate: str | None = None,
    refuse_unseen: bool = False,
    seed: int = 0,
    **reading: Any,
) -> Prediction:
    r"""Say to which clusters of a comparison new rows belong, and whether they are like the old ones.

    .. math:: P(j \mid x^*) = \frac{\sum_s \sum_k p(c^* = k, x^* \mid c^{(s)}, x) \, |k \cap j| / |k|}
        {\sum_s p(x^* \mid c^{(s)}, x)}

    Averaged over the draws that are the answer of the comparison, or those of MCMC where none passed. New
    rows are put on the scale of the old ones. Cost O(S K D) a row.

    Args:
        source: what :func:`pyroclust.compare` returned, or the folder that it wrote.
        new: rows with the same columns, as :func:`pyroclust.read_table` takes them; other columns are left
            out.
        num_draws: most draws S that are averaged over; 100 where the family is not conjugate, for which the
            parameters of clusters are drawn by slice moves.
        aggregate: column that says what each new row is of: its rows become one.
        refuse_unseen: refuse a category that no row had; by default its cell is taken as missing.
        seed: of which draws and old rows these are.
        **reading: how a text file is read, as :func:`pyroclust.read_table` says.

    Raises:
        ValueError: if the folder holds no comparison, its model has no predictive density, or a column is
            missing.

    Example:
        >>> import numpy as np
        >>> from pyroclust import cluster
        >>> old = np.concatenate([np.zeros(10), np.ones(10)]) + np.linspace(0, 0.1, 20)
        >>> analysis = cluster(old, mcmc_draws=50, num_chains=2, warmup=50)
        >>> predict(analysis, [0.05, 1.05]).clusters
        array([0, 1])
    """
    check_count("num_draws", num_draws)
    analysis, data, model = analysis_of(source)
    rng, clusters = np.random.default_rng(seed), analysis.reference.estimate
    assert clusters is not None
    law = _new_points_law(analysis, data, model, num_draws=num_draws, rng=rng)
    beside = {"aggregate": aggregate, "refuses_unseen": refuse_unseen}
    table = rows_like(data, new, model, **beside, **reading)
    points = torch.from_numpy((table.data - data.points.location) / data.points.scale)
    estimate = torch.tensor(clusters.assignments)
    times = 1 if data.table.weights is None else data.table.weights
    every = np.repeat(np.arange(len(data.values)), times)
    old = torch.from_numpy(rng.permutation(every)[:_OLD_ROWS])
    with torch.no_grad():
        probabilities = law.cluster_probs(points, estimate).numpy()
        density = law.log_prob(points).numpy()
        alike = _likeness(law, points, density, old)
    notes = [*table.notes, f"Clusters are those of {analysis.reference.draws.name}."]
    if limits := analysis.about.get("clusters"):
        notes.append(
            f"The old rows have {range_in_words(tuple(limits))}, as was given; a new row may be in one more."
        )
    rely = str(analysis.about.get("rely") or "")
    # Probabilities are no surer than the answer that they are taken from.
    if analysis.verdict.answer is None or rely.startswith("With care"):
        notes.append(f"May these probabilities be relied on? {rely or analysis.verdict.sentence}")
    return Prediction(
        row_names=table.row_names,
        probabilities=probabilities,
        log_density=density - ~np.isnan(table.data) @ np.log(data.points.scale),
        likeness=alike,
        sizes=analysis.reference.sizes,
        notes=tuple(notes),
    )


def _likeness(law: NewPoints, points: torch.Tensor, density: np.ndarray, old: torch.Tensor) -> Likeness:
    """Compare densities of new rows with those of old ones, of the same cells each."""
    # Densities of fewer cells are larger: where some are missing, each row has its share of old rows that are
    # no more likely in its own cells, and these shares are compared with even ones.
    lost = points.isnan()
    if not bool(lost.any()):
        return likeness(density, law.log_prob_left_out(old).numpy())
    patterns, which = torch.unique(lost, dim=0, return_inverse=True)
    # Every pattern of missing cells costs as much as all old rows do; of many these are fewer.
    old = old[: max(_FEWEST_OLD_ROWS, _OLD_ROWS * _MOST_PATTERNS // max(_MOST_PATTERNS, len(patterns)))]
    shares = np.empty(len(density))
    for place, hidden in enumerate(patterns):
        own = (which == place).numpy()
        usual = law.log_prob_left_out(old, hidden=hidden).numpy()
        shares[own] = np.searchsorted(np.sort(usual), density[own], side="right") / len(usual)
    near = likeness(shares, (np.arange(len(old)) + 1.0) / len(old))
    return replace(near, typicality=shares)


def missing_cells(
    source: "Analysis | str | PathLike[str]", *, num_draws: int = 400, seed: int = 0
) -> MissingCells:
    r"""Draw the missing cells of a table that was clustered from their posterior.

    .. math:: c \sim p(c \mid x), \qquad \theta_k \sim p(\theta_k \mid x_k), \qquad x_{id} \sim
        F_d(\theta_{c_i})

    A row whose cluster is in doubt is drawn from several. Columns are independent given the cluster, and so
    a cell learns from the others of its row by way of the clusters alone. Cost O(S N D).

    Args:
        source: what :func:`pyroclust.compare` returned, or the folder that it wrote.
        num_draws: most draws of the partition, one value of each cell from each.
        seed: of these draws.

    Raises:
        ValueError: if no cell is missing, or the folder holds no comparison of rows of columns.

    Example:
        >>> from pyroclust import cluster
        >>> rows = np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0) + np.linspace(0, 0.1, 40).reshape(20, 2)
        >>> rows[0, 1] = np.nan
        >>> analysis = cluster(rows, mcmc_draws=50, num_chains=2, warmup=50)
        >>> cells = missing_cells(analysis)
        >>> cells
        MissingCells(1 cells in 1 column(s), by merge-split+gibbs)
        >>> bool(cells.columns[0].interval[1, 0] < 0.8)
        True
    """
    check_count("num_draws", num_draws)
    analysis, data, model = analysis_of(source)
    values, points, table = data.values, data.points, data.clustered
    gaps = np.isnan(values)
    lost = data.clustered.imputable
    if not lost.any():
        raise ValueError("source has no missing cell that has a law, expected a table with some")
    law = predictive_law(analysis, data, model, num_draws=num_draws)
    with seeded(seed), torch.no_grad():
        draws = law.sample_missing().numpy()[:, lost[gaps]]
    rows, places = np.nonzero(lost)
    columns = tuple(
        ColumnOfMissing(
            points.columns[d],
            data.clustered.kinds[d],
            data.clustered.levels[d],
            rows[places == d],
            draws[:, places == d] * points.scale[d] + points.location[d],
            table.data[~gaps[:, d], d],
        )
        for d in np.unique(places)
    )
    return MissingCells(columns, analysis.row_names, analysis.reference.draws.name)


def analysis_of(source: "Analysis | str | PathLike[str]") -> tuple[Analysis, AnalysedData, Any]:
    """Return an analysis that has a model of rows, itself or from its folder, the rows, and the model."""
    analysis = Analysis.read(source) if isinstance(source, str | PathLike) else source
    if analysis.model is None or analysis.data is None:
        raise ValueError(
            "source holds draws without a model, expected what pyroclust compare or cluster found"
        )
    if analysis.data.shape is not None:
        raise ValueError(
            f"source has {analysis.data.shape}, which have no predictive density here, expected rows of "
            "columns"
        )
    if analysis.model.description is None:
        raise ValueError(_no_predictive_density(analysis.model.name))
    if analysis.reference.estimate is None:
        raise ValueError("source has no point estimate, so that there are no clusters to belong to")
    model, weights = build_model(analysis.model.description), analysis.data.table.weights
    return analysis, analysis.data, model if weights is None else model.weighted(weights)


def rows_like(data: AnalysedData, new: Source, model: Any, **reading: Any) -> Table:
    """Read new rows with the columns of others, and refuse missing cells that a model cannot take."""
    table = read_new_rows(new, data.clustered, **reading)
    if table.has_missing and not takes_missing(model):
        raise ValueError(
            f"new has missing cells, which model {model.name} cannot take: leave these rows out, or "
            "compare with --family nig and rows of which some cells are missing"
        )
    return table


def some_draws(analysis: Analysis, number: int) -> torch.Tensor:
    """Return at most so many of the draws that are the answer, at equal distances, ``(S, N)``."""
    flat = analysis.reference.draws.flat
    chosen = np.linspace(0, len(flat) - 1, min(number, len(flat))).round().astype(int)
    return torch.from_numpy(flat[chosen])


def predictive_law(
    analysis: Analysis, data: AnalysedData, model: Any, *, num_draws: int
) -> PosteriorPredictive:
    """Return the law of a new point in closed form, over some of the draws."""
    if not getattr(model, "is_conjugate", False):
        raise ValueError(_no_predictive_density(model.name))
    return PosteriorPredictive(model, torch.from_numpy(data.values), some_draws(analysis, num_draws))


def _new_points_law(
    analysis: Analysis, data: AnalysedData, model: Any, *, num_draws: int, rng: np.random.Generator
) -> NewPoints:
    """Return the law of a new point; where parameters do not integrate out, those of slice moves."""
    if getattr(model, "is_conjugate", True):
        return predictive_law(analysis, data, model, num_draws=num_draws)
    draws = some_draws(analysis, min(num_draws, _MOST_WITH_PARAMETERS))
    points = torch.from_numpy(data.values)
    parameters = parameters_of_draws(model, points, draws, generator=rng)
    return SampledPredictive(model, points, draws, parameters=parameters)


def _no_predictive_density(model: str) -> str:
    return (
        f"model {model} has no predictive density of such points, expected rows of columns under a mixture, "
        "conjugate where cells are missing or rows are added: compare with --family niw or nig"
    )
