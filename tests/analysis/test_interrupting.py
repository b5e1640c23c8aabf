"""Ctrl-C keeps what was drawn."""

import json

import pytest

from pyroclust import cluster, compare
from pyroclust.analysis import chains
from pyroclust.infer.mcmc.chains import Chains
from pyroclust.report import saving

DRAWS = 250


def stopping(monkeypatch: pytest.MonkeyPatch, *, at: int) -> None:
    """Let a round of chains be interrupted; those that look for starts do not count."""
    rounds, draw = [], Chains.draw

    def drawn(self: Chains, num_draws: int, **options: int) -> object:
        rounds.extend([options] * (num_draws == DRAWS))
        if len(rounds) == at:
            raise KeyboardInterrupt
        return draw(self, num_draws, **options)

    monkeypatch.setattr(Chains, "draw", drawn)
    monkeypatch.setattr(chains, "have_converged_well", lambda rows: False)


def test_ctrl_c_between_rounds_of_chains_keeps_the_last_whole_one(monkeypatch, tmp_path):
    stopping(monkeypatch, at=2)
    found = compare("galaxies", mcmc_draws=DRAWS, num_chains=2, out=tmp_path / "out")
    assert found.interrupted
    assert found.draws.keys() == {"mcmc"}
    assert found.draws["mcmc"].assignments.shape == (2, DRAWS, 82)
    assert "Interrupted during the step 'mcmc'" in found.notes[-1]
    assert (tmp_path / "out" / "assignments.csv").exists()


def test_ctrl_c_before_anything_was_drawn_ends_with_nothing(monkeypatch, tmp_path):
    stopping(monkeypatch, at=1)
    with pytest.raises(KeyboardInterrupt):
        compare("galaxies", mcmc_draws=DRAWS, num_chains=2, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_ctrl_c_while_the_files_are_written_keeps_what_was_drawn(monkeypatch, tmp_path):
    pressed = []

    def rendered(page: object) -> str:
        pressed.append(page)
        if len(pressed) == 1:
            raise KeyboardInterrupt
        return render_page(page)

    render_page = saving.render_page
    monkeypatch.setattr(saving, "render_page", rendered)
    found = cluster("galaxies", mcmc_draws=20, num_chains=2, warmup=10, out=tmp_path / "out")
    assert found.interrupted
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["interrupted"] is True
