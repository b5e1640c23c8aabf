import pickle
import signal

import numpy as np
import pandas as pd
import pyro
import pytest
import torch
from pyro.infer import MCMC

from pyroclust.distributions import ChineseRestaurantPrior, ConjugateComponent, NormalKnownVariance
from pyroclust.infer.mcmc import (
    CollapsedGibbs,
    CompanionNUTS,
    Compose,
    OneCluster,
    Overdispersed,
    Singletons,
    SplitMerge,
    assignments,
)
from pyroclust.infer.mcmc.compiled_kernel import CompiledTransition
from pyroclust.models import Mixture, companion, gaussian2d, nig_mixture, overlap2d
from pyroclust.partitions import is_canonical
from pyroclust.partitions.constraints import Constraints


def run_mcmc(kernel, data, **options):
    mcmc = MCMC(kernel, num_samples=30, warmup_steps=2, disable_progbar=True, **options)
    mcmc.run(data)
    return mcmc


@pytest.fixture
def data():
    torch.manual_seed(0)
    return 2 * torch.randn(25, 2)


def test_sites(data):
    samples = run_mcmc(CollapsedGibbs(gaussian2d()), data).get_samples()
    assert sorted(samples) == ["assignments", "log_joint", "num_clusters"]
    assert samples["assignments"].shape == (30, 25)
    samples = run_mcmc(CollapsedGibbs(nig_mixture(2)), data).get_samples()
    assert sorted(samples) == ["assignments", "concentration", "log_joint", "num_clusters"]
    assert (samples["concentration"] > 0).all()
    assert torch.equal(samples["num_clusters"], samples["assignments"].amax(-1) + 1)


def test_kernel_returns_integers_and_one_float(data):
    kernel = CollapsedGibbs(gaussian2d())
    kernel.setup(0, data)
    params = kernel.sample(kernel.initial_params)
    assert params["assignments"].dtype == torch.int64
    assert params["num_clusters"].dtype == torch.int64
    assert params["log_joint"].dtype == torch.float64
    assert is_canonical(params["assignments"])
    assert kernel.transforms == {}
    assert kernel.diagnostics() == {"divergences": []}


def test_seeds_of_pyro_decide(data):
    kernel, found = CollapsedGibbs(nig_mixture(2)), []
    for seed in (5, 5, 6):
        pyro.set_rng_seed(seed)
        found.append((assignments(run_mcmc(kernel, data)), kernel.run(data, num_draws=5).assignments))
    assert all(np.array_equal(*pair) for pair in zip(found[0], found[1], strict=True))
    assert not any(np.array_equal(*pair) for pair in zip(found[0], found[2], strict=True))


def test_chains_of_one_run_differ(data):
    draws = CollapsedGibbs(overlap2d(), init=OneCluster()).run(data, num_draws=50, num_chains=3, seed=0)
    assert draws.assignments.shape == (3, 50, 25)
    assert draws.log_joint.shape == (3, 50)
    assert not draws.parameters
    assert not np.array_equal(draws.assignments[0], draws.assignments[1])
    assert draws.seconds > 0
    assert draws.seconds_compile > 0


@pytest.mark.filterwarnings("ignore:num_chains=")
def test_sequential_chains_are_independent_and_reset(data):
    torch.manual_seed(1)
    num_chains = torch.multiprocessing.cpu_count() + 1
    kernel = CollapsedGibbs(overlap2d(), init=Singletons())
    labels = assignments(run_mcmc(kernel, data, num_chains=num_chains))
    assert labels.shape == (num_chains, 30, 25)
    assert len({chain.numpy().tobytes() for chain in labels}) == num_chains
    smaller = assignments(run_mcmc(kernel, data[:9]))
    assert smaller.shape == (1, 30, 9)


def test_parallel_workers_return_canonical_labels(data, monkeypatch):
    monkeypatch.setattr("torch.multiprocessing.cpu_count", lambda: 3)
    torch.manual_seed(2)
    labels = assignments(run_mcmc(CollapsedGibbs(gaussian2d()), data, num_chains=2, mp_context="fork"))
    assert labels.shape == (2, 30, 25)
    assert not torch.equal(labels[0], labels[1])


def test_kernel_can_be_pickled(data):
    kernel = CollapsedGibbs(nig_mixture(2), init=Singletons())
    kernel.setup(0, data)
    copy = pickle.loads(pickle.dumps(kernel))
    assert torch.equal(
        kernel.sample(kernel.initial_params)["assignments"], copy.sample(copy.initial_params)["assignments"]
    )


def test_foreign_params_move_the_chain():
    """A kernel composed with others continues from their partition; its own would not split in a sweep."""
    torch.manual_seed(3)
    model = Mixture(ChineseRestaurantPrior(0.7), NormalKnownVariance(2, 1e8))
    groups = torch.tensor([0, 1]).repeat_interleave(30)
    data = torch.randn(60, 2) + 6 * groups.unsqueeze(-1)
    kernel = CollapsedGibbs(model, init=OneCluster())
    kernel.setup(0, data)
    own = kernel.sample(kernel.initial_params)
    assert own["num_clusters"] == 1
    moved = kernel.sample(dict(own, assignments=groups))
    assert torch.equal(moved["assignments"], groups)
    assert moved["log_joint"].item() == pytest.approx(model.log_joint(data, groups).item())


def test_initial_params_of_mcmc_start_the_chains(data):
    start = torch.arange(25).expand(1, -1)
    kernel = CollapsedGibbs(gaussian2d())
    run_mcmc(kernel, data, initial_params={"assignments": start[0]})
    kernel.initial_params = {"assignments": start[0]}
    kernel.setup(0, data)
    assert torch.equal(kernel.initial_params["assignments"], start[0])
    kernel.setup(0, data)
    assert kernel._first_params == {}


def test_overdispersed_starts_span_the_range():
    starts = Overdispersed()(200, 4, generator=np.random.default_rng(0))
    clusters = [len(set(row)) for row in starts.tolist()]
    assert clusters == sorted(clusters)
    assert clusters[0] <= 4
    assert clusters[3] >= 40


def test_labels_as_init(data):
    start = torch.arange(25)
    for init in (start, start.expand(3, -1)):
        kernel = CollapsedGibbs(gaussian2d(), init=init)
        kernel.setup(0, data)
        assert torch.equal(kernel.initial_params["assignments"], start)


def test_rows_before_the_first_that_is_visited_stay(data):
    model, start = gaussian2d(), torch.arange(25) % 4
    draws = CollapsedGibbs(model, begin=20, init=start).run(data, num_draws=50, seed=0).assignments[0]
    assert (draws[:, :20] == start[:20].numpy()).all()
    assert (draws[:, 20:] != draws[0, 20:]).any()
    with pytest.raises(ValueError, match="begin is -1, expected at least 0"):
        CollapsedGibbs(model, begin=-1)
    with pytest.raises(ValueError, match="begin is 25, expected less than 25"):
        CollapsedGibbs(model, begin=25).run(data, num_draws=1)
    with pytest.raises(ValueError, match="begin is 20, and model has constraints"):
        CollapsedGibbs(model.under(Constraints.of(25, must_link=[(0, 4)])), begin=20)


BAD_DATA = {
    r"data has shape \(5, 3\), expected one data set \(N, 2\)": torch.zeros(5, 3),
    r"data has shape \(4, 5, 2\)": torch.zeros(4, 5, 2),
    r"data has shape \(5,\)": torch.zeros(5),
    "data has 1 points, expected at least 2": torch.zeros(1, 2),
    "data holds 1 nan": torch.tensor([[0.0, float("nan")], [0.0, 0.0]]),
    "data holds 2 nan or infinite": torch.tensor([[0.0, float("inf")], [0.0, -float("inf")]]),
}


@pytest.mark.parametrize(("message", "bad"), BAD_DATA.items(), ids=range(len(BAD_DATA)))
def test_bad_data(message, bad):
    kernel = CollapsedGibbs(gaussian2d())
    with pytest.raises(ValueError, match=message):
        kernel.run(bad, num_draws=2)
    with pytest.raises(ValueError, match=message):
        run_mcmc(kernel, bad)


def test_bad_arguments(data):
    with pytest.raises(ValueError, match="thin is 0"):
        CollapsedGibbs(gaussian2d(), thin=0)
    for wrong in ({"num_draws": 0}, {"num_draws": 1, "warmup": -1}, {"num_draws": 1, "num_chains": 0}):
        with pytest.raises(ValueError, match=r"(num_draws|warmup|num_chains) is -?[01], expected at least"):
            CollapsedGibbs(gaussian2d()).run(data, **wrong)
    with pytest.raises(ValueError, match=r"draws has shape \(2, 25\), expected at least 3 rows of 25 points"):
        CollapsedGibbs(gaussian2d(), init=torch.zeros(2, 25).long()).run(data, num_draws=1, num_chains=3)
    with pytest.raises(ValueError, match=r"init has shape \(7,\), expected \(25,\)"):
        CollapsedGibbs(gaussian2d(), init=torch.zeros(7).long()).run(data, num_draws=1)
    with pytest.raises(ValueError, match="the kernel has no data"):
        CollapsedGibbs(gaussian2d()).sample({})


class Unregistered(ConjugateComponent):
    """A conjugate family that compiled code does not know."""

    typical_scale = 1.0

    def parameters(self):
        return {}

    def likelihood(self, parameters):
        raise NotImplementedError

    def moments(self, data):
        return data.double()

    def log_marginal(self, counts, moments):
        return moments.sum(-1)

    def predictive_parameters(self, counts, moments):
        return moments

    def log_predictive(self, data, parameters):
        return data.sum(-1)

    def sample_parameters(self, counts, moments):
        return {}


def test_family_without_compiled_functions(data):
    message = r"is a Unregistered, expected a family with compiled functions, as.*AuxiliaryG"
    with pytest.raises(ValueError, match=message):
        CollapsedGibbs(Mixture(gaussian2d().prior, Unregistered(2))).run(data, num_draws=1)


def test_assignments_needs_a_finished_run(data):
    mcmc = MCMC(CollapsedGibbs(gaussian2d()), num_samples=3, disable_progbar=True)
    with pytest.raises(ValueError, match="expected 'assignments': call mcmc"):
        assignments(mcmc)
    mcmc.run(data)
    mcmc._samples["assignments"] += 1
    with pytest.raises(ValueError, match="not canonical"):
        assignments(mcmc)


@pytest.mark.parametrize("num_chains", [1, 3])
def test_interrupt_keeps_the_draws_so_far(data, monkeypatch, num_chains):
    blocks, advance = [], CompiledTransition.advance

    def interrupted(self, states, num_draws, *, every=1):
        blocks.append(num_draws)
        if len(blocks) == 3:
            signal.raise_signal(signal.SIGINT)
        return advance(self, states, num_draws, every=every)

    kernel = CollapsedGibbs(gaussian2d())
    whole = kernel.run(data, num_draws=20_000, warmup=1, num_chains=num_chains, seed=3)
    monkeypatch.setattr(CompiledTransition, "advance", interrupted)
    part = kernel.run(data, num_draws=20_000, warmup=1, num_chains=num_chains, seed=3)
    assert part.interrupted
    assert not whole.interrupted
    count = blocks[1] + blocks[2]
    assert part.assignments.shape == (num_chains, count, 25)
    assert np.array_equal(part.assignments, whole.assignments[:, :count])
    assert np.array_equal(part.log_joint, whole.log_joint[:, :count])


def test_interrupt_before_the_first_draw(data, monkeypatch):
    advance = CompiledTransition.advance

    def interrupted(self, states, num_draws, *, every=1):
        signal.raise_signal(signal.SIGINT)
        return advance(self, states, num_draws, every=every)

    monkeypatch.setattr(CompiledTransition, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        CollapsedGibbs(gaussian2d()).run(data, num_draws=5, warmup=3)


def test_arviz_reads_a_run(data):
    arviz = pytest.importorskip("arviz")
    if not hasattr(arviz, "from_pyro"):
        pytest.skip("ArviZ 1.x has no from_pyro")
    converted = arviz.from_pyro(run_mcmc(CollapsedGibbs(overlap2d()), data), log_likelihood=False)
    assert converted.posterior["assignments"].shape == (1, 30, 25)
    assert not converted.sample_stats["diverging"].any()


def test_kernels_and_draws_print_in_a_line(data):
    model = overlap2d()
    kernel = Compose([CollapsedGibbs(model, thin=3), SplitMerge(model)])
    assert repr(kernel) == "Compose([CollapsedGibbs(overlap2d, thin=3), SplitMerge(overlap2d)])"
    draws = CollapsedGibbs(model, init=OneCluster()).run(data, num_draws=4, num_chains=2, seed=0)
    mean = draws.num_clusters.mean()
    sizes = f"2 chains of 4 draws, 25 points, {mean:.1f} clusters on average"
    assert repr(draws) == f"Draws(CollapsedGibbs(overlap2d): {sizes})"
    assert repr(CompanionNUTS(companion(model, 5))) == "CompanionNUTS(overlap2d, 5 components)"


@pytest.mark.parametrize(
    "convert", [torch.Tensor.numpy, torch.Tensor.tolist, lambda one: pd.DataFrame(one.numpy())]
)
def test_arrays_lists_and_data_frames_are_data(data, convert):
    """They keep double precision, and give the draws of a tensor that does."""
    exact = data.double() / 3
    model = overlap2d()
    settings = {"num_draws": 6, "warmup": 3, "num_chains": 1, "seed": 1}
    for kernel in (CollapsedGibbs(model), CompanionNUTS(companion(model, 3), max_tree_depth=2)):
        found, wanted = kernel.run(convert(exact), **settings), kernel.run(exact, **settings)
        assert np.array_equal(found.assignments, wanted.assignments)
        assert np.array_equal(found.log_joint, wanted.log_joint)
    mcmc = run_mcmc(CollapsedGibbs(model), convert(exact))
    assert assignments(mcmc).shape == (1, 30, 25)
