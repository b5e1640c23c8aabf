"""Tables of labels that lie the other way, tables of pairs, chains in several files, burn-in."""

import numpy as np
import pandas as pd
import pytest

from pyroclust import read_draws

RNG = np.random.default_rng(0)
POINTS, DRAWS = 60, 40
BASE = RNG.integers(0, 4, POINTS)
LABELS = np.where(RNG.random((DRAWS, POINTS)) < 0.1, RNG.integers(0, 4, (DRAWS, POINTS)), BASE) + 1


def csv(tmp_path, values, **beside):
    path = tmp_path / "draws.csv"
    pd.DataFrame(values, **beside).to_csv(path, index=False)
    return path


def test_points_in_rows_are_turned_and_said(tmp_path):
    right = read_draws(csv(tmp_path, LABELS, columns=[f"p{i}" for i in range(POINTS)]))
    turned = read_draws(csv(tmp_path, LABELS.T, columns=[f"V{i}" for i in range(DRAWS)]))
    assert np.array_equal(right.assignments, turned.assignments)
    assert turned.point_names is None
    assert "one draw a column" in " ".join(turned.notes)
    as_it_lies = read_draws(csv(tmp_path, LABELS.T), transpose=False)
    assert as_it_lies.assignments.shape == (1, POINTS, DRAWS)
    np.save(tmp_path / "draws.npy", LABELS.T)
    assert read_draws(tmp_path / "draws.npy").assignments.shape == (1, DRAWS, POINTS)


def test_what_may_be_either_is_refused(tmp_path):
    # Names of clusters that mean nothing from draw to draw, and no consensus.
    labels = np.array([RNG.permutation(12)[RNG.choice(3, 50, p=[0.7, 0.2, 0.1])] for _ in range(50)])
    with pytest.raises(ValueError, match=r"50 draws of 50 points.*--transpose"):
        read_draws(csv(tmp_path, labels))
    assert read_draws(csv(tmp_path, labels), transpose=True).assignments.shape == (1, 50, 50)


def test_uncertain_draws_stay_as_they_are(tmp_path):
    for labels in (RNG.integers(0, 3, (50, 60)), np.where(RNG.random((DRAWS, POINTS)) < 0.5, BASE, 0)):
        assert read_draws(csv(tmp_path, labels)).assignments.shape[1:] == labels.shape


@pytest.mark.parametrize("times", [1, 2000])
def test_tables_of_pairs_are_no_draws(tmp_path, times):
    together = (BASE[:20, None] == BASE[:20]) * times
    with pytest.raises(ValueError, match="how often two of 20 points"):
        read_draws(csv(tmp_path, together))


def test_several_files_are_chains_and_burn_in_is_left_out(tmp_path):
    paths = []
    for chain in range(3):
        path = tmp_path / f"chain{chain}.csv"
        pd.DataFrame(np.roll(LABELS, chain, 0)).to_csv(path, index=False)
        paths.append(path)
    draws = read_draws(paths, burn_in=10)
    assert draws.assignments.shape == (3, DRAWS - 10, POINTS)
    assert "first 10 draws" in " ".join(draws.notes)
    with pytest.raises(ValueError, match="burn_in is 40"):
        read_draws(paths, burn_in=40)
    pd.DataFrame(LABELS[:-1]).to_csv(paths[0], index=False)
    with pytest.raises(ValueError, match="cut the longer ones"):
        read_draws(paths)


def test_what_cannot_be_is_said(tmp_path):
    (tmp_path / "draws.csv").write_text("lp__,a,b,c\n-0.5,1,2,0\n-1.5,1,2,0\n")
    with pytest.raises(ValueError, match="column 'lp__', one number a draw"):
        read_draws(tmp_path / "draws.csv", transpose=True)
    with pytest.raises(ValueError, match="holds 1 missing or infinite label"):
        read_draws(pd.DataFrame({"a": ["x", None, "y"], "b": ["x", "x", "y"]}))
