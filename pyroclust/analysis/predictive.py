"""The predictive law of the draws that are the answer of an analysis, in memory or in its folder."""

from os import PathLike
from typing import Any

import numpy as np
import torch

from pyroclust.infer.mcmc.parameters_of_draws import parameters_of_draws
from pyroclust.models.predictive import PosteriorPredictive
from pyroclust.models.sampled_predictive import NewPoints, SampledPredictive
from pyroclust.results.analysis import Analysis
from pyroclust.saving.models import build_model

__all__ = ["analysis_of", "new_points_law", "predictive_law", "some_draws"]

# Slice moves are dear.
_MOST_WITH_PARAMETERS = 100


def analysis_of(source: "Analysis | str | PathLike[str]") -> Analysis:
    """Return an analysis that has a model of rows, itself or from its folder."""
    found = Analysis.read(source) if isinstance(source, str | PathLike) else source
    if found.model is None or found.data is None:
        raise ValueError(
            "source holds draws without a model, expected what pyroclust compare or cluster found"
        )
    if found.model.description is None or found.data.shape is not None:
        raise ValueError(_without(found.model.name))
    if found.reference.summary.estimate is None:
        raise ValueError("source has no point estimate, so that there are no clusters to belong to")
    return found


def some_draws(found: Analysis, number: int) -> torch.Tensor:
    """Return at most so many of the draws that are the answer, at equal distances, ``(S, N)``."""
    flat = found.reference.draws.flat
    chosen = np.linspace(0, len(flat) - 1, min(number, len(flat))).round().astype(int)
    return torch.from_numpy(flat[chosen])


def predictive_law(found: Analysis, num_draws: int) -> PosteriorPredictive:
    """Return the law of a new point in closed form, over some of the draws."""
    model, data = _model_of(found), found.data
    assert data is not None
    if not getattr(model, "is_conjugate", False):
        raise ValueError(_without(model.name))
    return PosteriorPredictive(model, torch.from_numpy(data.values), some_draws(found, num_draws))


def new_points_law(found: Analysis, num_draws: int, rng: np.random.Generator) -> NewPoints:
    """Return the law of a new point, whatever the family.

    Where it is not conjugate, the parameters of the clusters of each draw come from slice moves.
    """
    model, points = _model_of(found), found.data
    if getattr(model, "is_conjugate", True):
        return predictive_law(found, num_draws)
    assert points is not None
    draws = some_draws(found, min(num_draws, _MOST_WITH_PARAMETERS))
    data = torch.from_numpy(points.values)
    parameters = parameters_of_draws(model, data, draws, generator=rng)
    return SampledPredictive(model, data, draws, parameters=parameters)


def _model_of(found: Analysis) -> Any:
    assert found.model is not None
    assert found.model.description is not None
    return build_model(found.model.description)


def _without(model: str) -> str:
    return (
        f"model {model} has no predictive density of such points, expected rows of columns under a mixture, "
        "conjugate where cells are missing or rows are added: compare with --family niw or nig"
    )
