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
from pyroclust.models.predictive import PosteriorPredictive
from pyroclust.models.sampled_predictive import NewPoints, SampledPredictive
from pyroclust.results.comparison import ROWS_FILE
from pyroclust.results.comparison_result import ComparisonResult
from pyroclust.saving.models import build_model

__all__ = ["Found", "answer_draws"]

# Slice moves are dear.
_MOST_WITH_PARAMETERS = 100
_ESTIMATES = ("answer", "mcmc", "guide")
_GROUPS = {"refined": "refined", "guide": "guide", "weighted": "guide"}


@dataclass(frozen=True)
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
            drawn.data,
            drawn.location,
            drawn.scale,
            drawn.columns,
            drawn.kinds,
            drawn.levels,
            draws.assignments.reshape(-1, len(drawn.data)),
            ratio,
            _first(result.summary.estimates).assignments,
            drawn.model_description,
            draws.name,
            result.table.row_names,
            drawn.source,
            drawn.true_labels,
            drawn.knowledge is not None,
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
            rows = pd.read_csv(folder / ROWS_FILE)
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
            observed["data"].values,
            observed["location"].values,
            observed["scale"].values,
            tuple(map(str, observed["column"].values)),
            tuple(map(Kind, json.loads(observed.attrs.get("kinds", "[]")))),
            tuple(map(tuple, json.loads(observed.attrs.get("levels", "[]")))),
            draws.reshape(-1, draws.shape[-1]),
            ratio,
            _first(clusters).to_numpy(),
            json.loads(observed.attrs["model"]),
            str(posterior.attrs.get("sampler", group)),
            tuple(map(str, rows["row"])),
            str(observed.attrs.get("source", "table")),
            _labels_of(rows),
            summary.get("constraints") is not None,
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
