"""More rows: the draws that went on against the exact posterior, the evidence, files, and what is refused."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import torch

from pyroclust import compare, predict, update
from pyroclust.analysis.updating import _with_old_rows_as_drawn
from pyroclust.cli import main
from pyroclust.guides.anchored_guide import ContinuedDraws
from pyroclust.infer import exact_posterior, log_evidence, refine
from pyroclust.models import gaussian2d, table_mixture

QUICK = {"guide": "none", "mcmc_draws": 100, "num_chains": 2, "warmup": 100, "kinds": {"calls": "count"}}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    kinds = np.arange(30) % 2
    frame = pd.DataFrame({"x": rng.normal(4 * kinds, 1), "word": np.array(["low", "high"])[kinds]})
    frame["calls"], frame["paid"] = rng.poisson(3, 30) * (np.arange(30) != 9), np.array(["no", "yes"])[kinds]
    frame.loc[[3, 8], ["x", "word"]] = [None, None]
    return frame.astype({"x": float})


@pytest.fixture(scope="module")
def old(frame, tmp_path_factory):
    return compare(frame, **QUICK, out=tmp_path_factory.mktemp("update") / "old")


@pytest.fixture(scope="module")
def new():
    frame = pd.DataFrame({"word": ["low", None, "high"], "x": [0.0, 4.0, None], "paid": ["no", None, "yes"]})
    return frame.assign(calls=3)


@pytest.fixture(scope="module")
def more(old, new):
    return update(old, new, num_draws=100)


def test_weights_and_sweeps_give_the_exact_posterior_of_all_rows_and_the_evidence_of_the_new_ones():
    model = table_mixture(numbers=1, count_means=[1.0], yes_no=1, levels=[2], missing=True)
    torch.manual_seed(0)
    data = torch.cat([torch.randn(7, 1).double(), torch.randint(2, (7, 3)).double()], -1)
    data[1, 0] = data[5, 2] = torch.nan
    old, before = exact_posterior(model, data[:4])
    draws = old[torch.multinomial(before.exp(), 4000, replacement=True)]
    every, exact = exact_posterior(model, data)
    evidence = float(log_evidence(model, data) - log_evidence(model, data[:4]))
    code = {tuple(one): at for at, one in enumerate(every.tolist())}
    for sweeps in (0, 10):
        guide = ContinuedDraws(model, draws)
        found, record = refine(model, guide, data, num_draws=8_000, proposals=2, sweeps=sweeps, seed=1)
        times = np.bincount([code[tuple(one)] for one in found.flat.tolist()], minlength=len(every))
        assert 0.5 * np.abs(times / times.sum() - exact.exp().numpy()).sum() < 0.1
        assert all(one.estimate == pytest.approx(evidence, abs=0.05) for one in record.evidences)


def test_rows_are_added_to_a_result_and_to_its_folder(old, new, more, tmp_path, capsys):
    rows = more.frame()
    assert list(rows["row"])[-3:] == ["new 1", "new 2", "new 3"]
    assert rows["word"].iloc[-3:].fillna("none").tolist() == ["low", "none", "high"]
    assert more.verdict.level.value == "not confirmed"
    assert not more.failures
    assert "3 rows were added to 30" in " ".join(more.notes)
    clusters = rows["cluster"].to_numpy()
    assert clusters[-3] == clusters[0]
    assert clusters[-1] == clusters[1]
    new.to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(SystemExit) as end:
        main(["update", str(old.folder), str(tmp_path / "new.csv"), "--draws", "50", "--quiet", "--json"])
    assert not end.value.code
    assert json.loads(capsys.readouterr().out)["num_points"] == 33
    written = old.folder.with_name("old-updated")
    assert {path.name for path in written.iterdir()} >= {"report.html", "draws.nc", "summary.json"}
    assert len(predict(written, new).probabilities) == 3
    assert len(update(written, new, num_draws=20).frame()) == 36


def test_the_same_seed_gives_the_same_draws(old, new, more):
    again = update(old, new, num_draws=100)
    np.testing.assert_array_equal(again.draws["refined"].assignments, more.draws["refined"].assignments)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"word": ["none"]}, "'word' holds 'none', which no row had that was clustered"),
        ({"x": [np.inf]}, "'x' holds 1 infinite values"),
    ],
)
def test_what_cannot_be_is_refused(frame, old, change, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        update(old, frame.head(1).assign(**change), refuse_unseen=True)


def test_new_rows_of_a_large_table_are_drawn_exactly_given_the_labels_of_old_ones():
    model = gaussian2d()
    data = torch.tensor([[0.0, 0], [0.5, 0], [9, 0], [9, 1], [4, 0], [4.5, 0], [20, 0]], dtype=torch.float64)
    labels = torch.tensor([0, 0, 1, 1])
    every, log_prob = exact_posterior(model, data)
    given = (every[:, :4] == labels).all(-1)
    exact = log_prob[given].softmax(-1).numpy()
    assert 0.05 < exact.max() < 0.95
    found, record = _with_old_rows_as_drawn(model, labels.expand(400, -1), data, seed=0)
    code = {tuple(one): at for at, one in enumerate(every[given].tolist())}
    times = np.bincount([code[tuple(one)] for one in found.flat.tolist()], minlength=len(exact))
    assert 0.5 * np.abs(times / times.sum() - exact).sum() < 0.1
    assert record.sweeps == 16
    np.testing.assert_allclose(
        found.log_joint[0, 0], float(model.log_joint(data, torch.from_numpy(found.flat[:1])))
    )


def test_rows_are_added_to_a_large_table_whose_rows_stay(old, new, monkeypatch):
    monkeypatch.setattr("pyroclust.analysis.updating._MOST_MOVED", 20)
    more = update(old, new, num_draws=60)
    labels = more.draws["refined"].assignments
    assert labels.shape == (1, 60, 33)
    before = old.draws["mcmc"].flat
    kept = before[np.linspace(0, len(before) - 1, 60).round().astype(int)]
    np.testing.assert_array_equal(labels[0, :, :30], kept)
    assert "The old rows keep the labels" in " ".join(more.notes)
    assert not more.failures
    rows = more.frame()["cluster"].to_numpy()
    assert (rows[-3], rows[-1]) == (rows[0], rows[1])
    again = update(old, new, num_draws=60)
    np.testing.assert_array_equal(again.draws["refined"].assignments, labels)
