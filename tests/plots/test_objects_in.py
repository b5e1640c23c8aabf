"""Pictures of draws take what samplers return."""

import numpy as np
import pytest
import torch

from pyroclust import plots
from pyroclust.diagnostics import distance_rhat
from pyroclust.partitions import Draws, canonical
from pyroclust.plots.style import new_figure

LABELS = canonical(torch.from_numpy(np.random.default_rng(0).integers(3, size=(2, 60, 6))))
DATA = np.arange(6.0)[:, None]


@pytest.mark.parametrize("draws", [LABELS, Draws(assignments=LABELS.numpy())], ids=["tensor", "draws"])
def test_pictures_of_a_sampler_s_draws(draws):
    panels = new_figure(6, 4).subplots(2, 2).ravel()
    plots.plot_two_samples(draws, draws, ax=panels[0], seed=0)
    plots.plot_partition_map(draws, draws, ax=panels[1], seed=0)
    plots.plot_partition_draws(DATA, draws, axes=panels[2:3])
    plots.plot_distances(draws, distance_rhat(draws, seed=0), axes=panels[3:])
    assert all(ax.has_data() for ax in panels)
    with pytest.raises(ValueError, match=r"draws(_a)? is of type int"):
        plots.plot_two_samples(3, draws, ax=panels[0], seed=0)
