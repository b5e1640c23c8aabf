"""Properties of the names of pyroclust itself: draws as containers, guides in folders, diagnoses."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from properties.calls import Call
from properties.hostile import any_labels, finite

import pyroclust
from pyroclust import models
from pyroclust.guides import PredictiveFilter

MODEL = models.gaussian2d()


def _arviz(*, source: Any) -> dict[str, np.ndarray]:
    found = pyroclust.to_arviz({"assignments": source})
    return {"assignments": found.posterior["assignments"].to_numpy()}


def same_labels(found: dict[str, np.ndarray], *, source: Any) -> None:
    """What goes in comes out, as chains of draws, up to the names of the clusters."""
    source = np.asarray(source)
    source = source.reshape(-1, *source.shape[-2:])
    labels = found["assignments"]
    assert labels.shape == source.shape
    together = source[..., :, None] == source[..., None, :]
    assert np.array_equal(labels[..., :, None] == labels[..., None, :], together)


def _kept(*, data: Any) -> torch.Tensor:
    guide = PredictiveFilter(MODEL, num_orders=2)
    with tempfile.TemporaryDirectory() as folder:
        pyroclust.save_guide(guide, Path(folder, "guide"))
        kept = pyroclust.load_guide(Path(folder, "guide"))
    return torch.stack([_log_prob(one, data) for one in (guide, kept)])


def _log_prob(guide: Any, data: Any) -> torch.Tensor:
    torch.manual_seed(0)
    law = guide.posterior(data)
    return law.log_prob(torch.zeros(law.num_points, dtype=torch.int64))


def kept(found: torch.Tensor, **_: Any) -> None:
    """A guide that is loaded says what the saved one said."""
    assert torch.equal(found[0], found[1])


def _named(*, name: str) -> str:
    return type(pyroclust.load_guide(name)).__name__


CALLS = [
    Call(
        "to_arviz",
        _arviz,
        st.fixed_dictionaries({"source": any_labels(2, 5, 4)}),
        same_labels,
        one_form=True,
    ),
    Call("save_guide", _kept, st.fixed_dictionaries({"data": finite(3, 2, extreme=False)}), kept),
    Call("load_guide", _named, st.fixed_dictionaries({"name": st.just("ncp-gaussian2d")})),
]
