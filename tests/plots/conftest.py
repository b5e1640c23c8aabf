"""Axes to draw on."""

import pytest

from pyroclust import plots


@pytest.fixture
def ax():
    return plots.new_figure(6, 4).subplots()
