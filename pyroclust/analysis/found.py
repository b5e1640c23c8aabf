"""What a comparison leaves for later: its points, the draws that are its answer, and its model."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import xarray as xr

from pyroclust.data.kinds import Kind
from pyroclust.infer.mcmc.parameters_of_draws import parameters_of_draws
from pyroclust.models.predictive import PosteriorPredictive, shares_of_clusters
from pyroclust.models.sampled_predictive import NewPoints, SampledPredictive
from pyroclust.results.comparison import ROWS_FILE
from pyroclust.results.comparison_result import ComparisonResult
from pyroclust.saving.models import build_model

__all__ = ["Found", "answer_draws", "companions_in"]

# Slice moves are dear.
_MOST_WITH_PARAMETERS = 100
_ESTIMATES = ("answer", "mcmc", "guide")
_GROUPS = {"refined": "refined", "guide": "guide", "weighted": "guide"}


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a comparison leaves for later: its points, its draws and its model.

    Attributes:
        data: as the model saw them, ``(N, D)``.
        location: subtracted from each column, ``(D,)``.
        scale: divided by afterwards, ``(D,)``.
        columns: D names.
        draws: that are the answer, ``(S, N)``.
        log_weights: of the draws, ``(S,)``, where they are weighted; ``None`` otherwise.
        estimate: the point estimate of the report, ``(N,)``.
        described: what builds the model again.
        drawn_by: what the draws are, in words.
        kinds: of the columns; nothing where all are numbers.
        levels: their categories.
        row_names: of the old rows.
        source: what reports call the table.
        labels: reference labels of the old rows; ``None`` where there are none.
        is_constrained: whether something was known of the rows.
    """

    data: np.ndarray
    location: np.ndarray
    scale: np.ndarray
    columns: tuple[str, ...]
    kinds: tuple[Kind, ...]
    levels: tuple[tuple[str, ...], ...]
    draws: np.ndarray
    log_weights: np.ndarray | None
    estimate: np.ndarray
    described: Mapping[str, Any] | None
    drawn_by: str
    row_names: tuple[str, ...]
    source: str
    labels: np.ndarray | None
    is_constrained: bool

    @classmethod
    def at(cls, source: "ComparisonResult | str | PathLike[str]") -> "Found":
        """Take it from a result or a folder."""
        return cls.in_folder(Path(source)) if isinstance(source, str | PathLike) else cls.of(source)

    @classmethod
    def of(cls, result: ComparisonResult) -> "Found":
        """Take it from a result.

        Args:
            result: what :func:`pyroclust.compare` returned.

        Raises:
            ValueError: if its model has no predictive density.
        """
        found = cls.drawn(result)
        if found.described is None or result.comparison.shape is not None:
            raise ValueError(_without(result.comparison.model_name))
        return found

    @classmethod
    def drawn(cls, result: ComparisonResult) -> "Found":
        """Take it from a result, whatever its model.

        Args:
            result: what :func:`pyroclust.compare` returned.

        Raises:
            ValueError: if it has no draws of what its answer is.
        """
        drawn = result.comparison
        answer = getattr(result.summary, "answer", None)
        name = "mcmc" if answer is None else answer.value
        refined = getattr(drawn, "refined", None)
        every = {
            "refined": None if refined is None else refined.draws,
            "guide": getattr(drawn, "guide", None),
            "weighted": getattr(drawn, "guide", None),
            "mcmc": getattr(drawn, "mcmc", None),
        }
        draws = every[name] or every["guide"]
        if draws is None:
            raise ValueError(f"source has no draws of {name}, expected some")
        ratio = None
        if name == "weighted" and draws.log_joint is not None and draws.log_prob is not None:
            ratio = (draws.log_joint - draws.log_prob).reshape(-1)
        return cls(
            data=drawn.data,
            location=drawn.location,
            scale=drawn.scale,
            columns=drawn.columns,
            kinds=drawn.kinds,
            levels=drawn.levels,
            draws=draws.assignments.reshape(-1, len(drawn.data)),
            log_weights=ratio,
            estimate=_first(result.summary.estimates).assignments,
            described=drawn.model_description,
            drawn_by=draws.name,
            row_names=result.table.row_names,
            source=drawn.source,
            labels=drawn.true_labels,
            is_constrained=drawn.knowledge is not None,
        )

    @classmethod
    def in_folder(cls, folder: Path) -> "Found":
        """Read it from the folder of a comparison.

        Args:
            folder: that :func:`pyroclust.compare` wrote.

        Raises:
            ValueError: if it holds none, or one whose model has no predictive density.
        """
        try:
            summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
            name = summary.get("answer") or "mcmc"
            with xr.open_dataset(folder / "draws.nc", group="observed_data", engine="h5netcdf") as read:
                observed = read.load()
            group = _GROUPS.get(name, "posterior")
            with xr.open_dataset(folder / "draws.nc", group=group, engine="h5netcdf") as read:
                posterior = read.load()
            # Names and labels stay as they are written: 01, NA.
            text = {"row": str, "label": str}
            rows = pd.read_csv(folder / ROWS_FILE, dtype=text, keep_default_na=False, na_values=[""])
        except (OSError, ValueError, AttributeError) as error:
            raise ValueError(
                f"folder '{folder}' holds no comparison (draws.nc and summary.json) that can be read; run "
                "pyroclust compare with --out first"
            ) from error
        if "model" not in observed.attrs or summary.get("points") != "rows":
            raise ValueError(_without(summary.get("model", "of the folder")))
        draws, ratio = posterior["assignments"].values, None
        clusters = {name: rows[f"{name}_cluster"] for name in _ESTIMATES if f"{name}_cluster" in rows}
        if name == "weighted":
            ratio = (posterior["log_joint"].values - posterior["log_prob"].values).reshape(-1)
        return cls(
            data=observed["data"].values,
            location=observed["location"].values,
            scale=observed["scale"].values,
            columns=tuple(map(str, observed["column"].values)),
            kinds=tuple(map(Kind, json.loads(observed.attrs.get("kinds", "[]")))),
            levels=tuple(map(tuple, json.loads(observed.attrs.get("levels", "[]")))),
            draws=draws.reshape(-1, draws.shape[-1]),
            log_weights=ratio,
            estimate=_first(clusters).to_numpy(),
            described=json.loads(observed.attrs["model"]),
            drawn_by=str(posterior.attrs.get("sampler", group)),
            row_names=tuple(rows["row"]),
            source=str(observed.attrs.get("source", "table")),
            labels=_labels_of(rows),
            is_constrained=summary.get("constraints") is not None,
        )

    def new_points(self, num_draws: int, rng: np.random.Generator) -> NewPoints:
        """Return the law of a new point, whatever the family.

        Where it is not conjugate, the parameters of the clusters of each draw come from slice moves.

        Args:
            num_draws: most draws.
            rng: chooses them, and draws parameters.

        Raises:
            ValueError: if the model is no mixture of rows.
        """
        assert self.described is not None
        model = build_model(self.described)
        if getattr(model, "is_conjugate", True):
            return self.predictive(num_draws, rng)
        number = min(num_draws, _MOST_WITH_PARAMETERS)
        draws = torch.from_numpy(self.draws[self.some(number, rng)])
        data = torch.from_numpy(self.data)
        parameters = parameters_of_draws(model, data, draws, generator=rng)
        return SampledPredictive(model, data, draws, parameters=parameters)

    def predictive(self, num_draws: int, rng: np.random.Generator) -> PosteriorPredictive:
        """Return the law of a new point in closed form, over some of the draws.

        Args:
            num_draws: most draws.
            rng: chooses them where they are weighted.

        Raises:
            ValueError: if the model has no predictive density.
        """
        assert self.described is not None
        model = build_model(self.described)
        if not getattr(model, "is_conjugate", False):
            raise ValueError(_without(model.name))
        draws = torch.from_numpy(self.draws[self.some(num_draws, rng)])
        return PosteriorPredictive(model, torch.from_numpy(self.data), draws)

    def some(self, number: int, rng: np.random.Generator) -> np.ndarray:
        """Choose draws: by their weights, or at equal distances.

        Args:
            number: most draws.
            rng: chooses them where they are weighted.
        """
        if self.log_weights is not None:
            return rng.choice(len(self.draws), number, p=_normalised(self.log_weights))
        return np.linspace(0, len(self.draws) - 1, min(number, len(self.draws))).round().astype(int)


def answer_draws(result: ComparisonResult) -> tuple[np.ndarray, np.ndarray]:
    """Return the draws that are the answer of a comparison, or those of MCMC, and the point estimate.

    Weighted draws are resampled.

    Args:
        result: what :func:`pyroclust.compare` returned.

    Shape:
        output: ``(S, N)`` and ``(N,)`` canonical labels.
    """
    found = Found.drawn(result)
    return found.draws[found.some(len(found.draws), np.random.default_rng(0))], found.estimate


def companions_in(draws: np.ndarray, partition: np.ndarray) -> np.ndarray:
    """Return how the companions that each row has in the draws are divided among the clusters of a partition.

    Cost O(S N J), memory O(S N).

    Args:
        draws: canonical labels.
        partition: canonical labels of J clusters.

    Shape:
        draws: ``(S, N)``; partition: ``(N,)``; output: ``(N, J)``, rows sum to 1.

    Example:
        >>> companions_in(np.array([[0, 0, 1], [0, 1, 1]]), np.array([0, 0, 1])).tolist()
        [[1.0, 0.0], [0.75, 0.25], [0.25, 0.75]]
    """
    labels = torch.from_numpy(draws)
    counts = torch.zeros(len(labels), int(labels.max()) + 2, dtype=torch.float64)
    counts.scatter_add_(1, labels, torch.ones_like(labels, dtype=torch.float64))
    shares = shares_of_clusters(labels, counts, torch.from_numpy(partition))
    # One cluster at a time: all of them at once would take S N J numbers.
    columns = [one.gather(1, labels).mean(0) for one in shares.unbind(-1)[:-1]]
    found: np.ndarray = torch.stack(columns, -1).numpy()
    return found


def _labels_of(rows: pd.DataFrame) -> np.ndarray | None:
    if "label" not in rows:
        return None
    return np.array([None if pd.isna(one) else str(one) for one in rows["label"]], dtype=object)


def _first(estimates: Mapping[str, Any]) -> Any:
    """Return the point estimate whose clusters reports show."""
    found = next((estimates[name] for name in _ESTIMATES if name in estimates), None)
    if found is None:
        raise ValueError("source has no point estimate, so that there are no clusters to belong to")
    return found


def _normalised(log_weights: np.ndarray) -> np.ndarray:
    weights: np.ndarray = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


def _without(model: str) -> str:
    return (
        f"model {model} has no predictive density of such points, expected rows of columns under a mixture, "
        "conjugate where cells are missing or rows are added: compare with --family niw or nig"
    )
