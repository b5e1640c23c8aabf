"""``compare`` and ``diagnose`` take the library's own objects as they take files and arrays."""

import numpy as np
import pytest
import torch
from pyro.infer import MCMC

from pyroclust import Analysis, Draws, compare, diagnose, read_table, to_arviz
from pyroclust.diagnostics import resample
from pyroclust.infer.mcmc import CollapsedGibbs
from pyroclust.models import gaussian2d
from pyroclust.partitions import canonical

LABELS = canonical(torch.from_numpy(np.random.default_rng(0).integers(3, size=(2, 200, 6))))
LOG_JOINT = np.random.default_rng(1).standard_normal((2, 200))
MINE = Draws(name="mine", assignments=LABELS.numpy(), log_joint=LOG_JOINT)


@pytest.mark.parametrize(
    "source",
    [
        LABELS,
        MINE,
        to_arviz(MINE),
        {"assignments": LABELS},
    ],
    ids=["tensor", "draws", "arviz", "samples by site"],
)
def test_diagnose_says_the_same_of_every_form(source):
    expected, found = diagnose(LABELS.numpy()), diagnose(source)
    np.testing.assert_array_equal(found.draws["first"].assignments, expected.draws["first"].assignments)
    assert found.verdict.level is expected.verdict.level
    estimates = (one.estimates["first"].assignments.tolist() for one in (found, expected))
    assert next(estimates) == next(estimates)


def test_diagnose_a_run_of_pyro_beside_one_of_ours():
    torch.manual_seed(0)
    data = torch.cat([torch.randn(4, 2), torch.randn(4, 2) + 8])
    kernel = CollapsedGibbs(gaussian2d())
    mcmc = MCMC(kernel, num_samples=200, warmup_steps=20, disable_progbar=True)
    mcmc.run(data)
    found = diagnose(mcmc, CollapsedGibbs(gaussian2d()).run(data, num_draws=200, num_chains=2, seed=0))
    assert [one.assignments.shape for one in found.draws.values()] == [(1, 200, 8), (2, 200, 8)]
    assert len({one.name for one in found.sources}) == 2


def test_diagnose_reads_files_as_it_is_told(tmp_path):
    for name, chain in zip(("one", "two"), LABELS.numpy(), strict=True):
        np.save(tmp_path / f"{name}.npy", chain)
    one, two, out = (tmp_path / name for name in ("one.npy", "two.npy", "out"))
    found = diagnose(one, chains=[two], burn_in=50, out=out)
    assert found.repeat.command == f"pyroclust diagnose {one} --burn-in 50 --chains {two}"
    assert Analysis.read(out).repeat == found.repeat
    np.testing.assert_array_equal(found.draws["first"].assignments, LABELS[:, 50:])
    with pytest.raises(ValueError, match="burn_in is given, but source is no file: leave it out"):
        diagnose(MINE, burn_in=50)
    with pytest.raises(ValueError, match="other_group is 'guide', but there is no second file"):
        diagnose(MINE, other_group="guide")
    with pytest.raises(TypeError, match="burnin"):
        diagnose(one, burnin=50)


def test_diagnose_refuses_what_holds_no_equally_weighted_draws():
    weighted = Draws(assignments=LABELS.numpy(), log_weights=LOG_JOINT)
    with pytest.raises(ValueError, match=r"equally weighted draws: give pyroclust.diagnostics.resample"):
        diagnose(weighted)
    assert diagnose(resample(weighted, 100, seed=0)).draws["first"].assignments.shape == (1, 100, 6)
    with pytest.raises(ValueError, match="the draws is of type Mixture, expected draws"):
        diagnose(gaussian2d())


def test_compare_takes_a_table_and_a_tensor():
    small = {"guide": "filter-nig1d", "num_draws": 20, "mcmc_draws": 20, "num_chains": 1, "warmup": 20}
    table = read_table("galaxies")
    expected = compare("galaxies", **small)
    assert repr(expected).startswith("Analysis(compare galaxies: ")
    for source in (table, torch.from_numpy(table.data)):
        found = compare(source, **small)
        for name in ("mcmc", "guide"):
            np.testing.assert_array_equal(found.draws[name].assignments, expected.draws[name].assignments)
    with pytest.raises(ValueError, match=r"columns is \['x'\], but source is the table galaxies"):
        compare(table, columns=["x"])
