"""Numbers at their extremes: counts, seeds, memory, data, hyperparameters, and densities of users."""

import math
import threading
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from faults.cases import Case, gives, refuses, run_command

import pyroclust
from pyroclust.calibration import CertificateSettings, certify
from pyroclust.diagnostics import co_assignment, distance_rhat, mmd_test
from pyroclust.distributions import (
    ChineseRestaurantPrior,
    NormalInverseWishart,
    NormalKnownVariance,
    PitmanYorPrior,
)
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter
from pyroclust.infer import (
    FitSettings,
    Validation,
    amortization_gap,
    exact_posterior,
    sequential_monte_carlo,
)
from pyroclust.infer.mcmc import AuxiliaryGibbs, CollapsedGibbs, SplitMerge
from pyroclust.models import companion, gaussian2d, niw_mixture

no_count, no_room, no_seed, no_density, no_data, no_prior = (
    partial(refuses, family)
    for family in ("counts", "memory", "seeds", "densities", "data", "hyperparameters")
)

DATA = torch.from_numpy(np.random.default_rng(0).normal(size=(6, 2)))
MODEL, WISHART = gaussian2d(), niw_mixture(2)
FILTER = PredictiveFilter(MODEL)


class Dense:
    """The model of a user whose density returns one number for the first partition."""

    name, event_shape, event_dim, typical_scale = "mine", (2,), 2, 1.0
    scale_is_known, has_likelihood, is_conjugate = True, True, False
    hyperpriors: dict[str, Any] = {}  # noqa: RUF012
    partition_prior = None

    def __init__(self, number: float) -> None:
        self.number = number

    def given(self, values: Any) -> "Dense":
        return self

    def __call__(self, data: torch.Tensor) -> None: ...

    def log_joint(self, data: torch.Tensor, assignments: torch.Tensor) -> torch.Tensor:
        found = MODEL.log_joint(data, assignments).clone()
        found.view(-1)[0] = self.number
        return found


def overflowing() -> torch.Tensor:
    """Draw from a guide whose weights overflow."""
    guide = NeuralClusteringProcess(WISHART)
    with torch.no_grad():
        for weight in guide.parameters():
            weight.fill_(3e38)
    return guide.posterior(DATA).sample_and_log_prob((3,))[1]


def in_threads() -> bool:
    """Run three comparisons at once and say whether all are what they are alone."""

    def draws(seed: int) -> np.ndarray:
        found = pyroclust.compare("galaxies", guide="filter-nig1d", num_draws=20, mcmc_draws=20, seed=seed)
        return found.draws["guide"].assignments

    alone, together = [draws(seed) for seed in range(3)], {}
    threads = [threading.Thread(target=lambda s=seed: together.update({s: draws(s)})) for seed in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return all(np.array_equal(alone[seed], together[seed]) for seed in range(3))


def out_of_memory(folder: Path) -> str:
    """Run a command in which numpy or torch finds no memory that no estimate foresaw."""
    arguments = ["compare", "galaxies", "--guide", "filter-nig1d", "--mcmc-draws", "20", "--out", "o"]
    for error in (
        MemoryError("Unable to allocate"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    ):
        with mock.patch("pyroclust.analysis.drawing.draw_guide", side_effect=error):
            code, _, said = run_command(arguments)
        assert code == 2, code
        assert "memory that is left is not enough" in said, said
        assert not (folder / "o").exists()
    return " ".join(said.split())


def drawn(shape: Any) -> Any:
    return FILTER.posterior(DATA).sample(shape)


def run(**settings: Any) -> Any:
    return CollapsedGibbs(MODEL).run(DATA, **{"num_draws": 2} | settings)


def certified(**settings: Any) -> Any:
    return certify(FILTER, settings=CertificateSettings(**settings))


def repeated(*shape: int) -> np.ndarray:
    """An array of many numbers that takes no memory."""
    return np.broadcast_to(np.int8(1), shape)


DRAWS = np.random.default_rng(0).integers(0, 3, (2, 40, 6))
FAR = "centre and rescale"
HUGE = 10**400
CASES = [
    *(
        no_count(f"kept draws {value!r}", partial(run, num_draws=value), "num_draws is")
        for value in (0, -1, 2.5, True, None, "3", math.nan, 10**18)
    ),
    *(
        no_count(name, call, words)
        for name, call, words in (
            ("10^12 chains", lambda: run(num_chains=10**12), "GiB"),
            ("10^12 draws of a guide", lambda: drawn((10**12,)), "GiB of memory"),
            ("a shape that is a number", lambda: drawn(5), "expected a shape"),
            ("a shape with 2.5", lambda: drawn((2.5,)), "sample_shape is 2.5"),
            ("10^12 orders", lambda: FILTER.mixed(10**12).posterior(DATA), "num_orders is"),
            (
                "10^12 particles",
                lambda: sequential_monte_carlo(MODEL, FILTER, DATA, num_particles=10**12),
                "particles of 6 points take",
            ),
            (
                "10^12 data sets of a calibration",
                lambda: pyroclust.calibrate(FILTER, MODEL, num_datasets=10**12),
                "GiB of memory",
            ),
            ("a learning rate beyond its bound", lambda: FitSettings(learning_rate=2e6), "at most 1e+06"),
            ("a dimension of 2.5", lambda: niw_mixture(2.5), "dim is 2.5"),
        )
    ),
    gives("counts", "no draws at all", lambda: tuple(drawn((0,)).shape), (0, 6)),
    gives("counts", "a count of numpy", lambda: tuple(drawn((np.int64(3),)).shape), (3, 6)),
    # More than any machine has.
    *(
        no_count(f"10^13 {words}", partial(call, **{words: 10**13}), f"{words} is 10000000000000")
        for words, call in {
            "num_permutations": partial(mmd_test, DRAWS, DRAWS, seed=0),
            "num_references": partial(distance_rhat, DRAWS, seed=0),
            "num_auxiliary": lambda **n: AuxiliaryGibbs(MODEL, **n).run(DATA, num_draws=2),
            "num_draws": lambda **n: Validation(**n).check_memory(),
            "num_exact": certified,
            "exact_points": certified,
        }.items()
    ),
    # More than double precision reaches.
    *(
        no_count(f"10^400 {name}", call, "a number of 1329 bits")
        for name, call in {
            "steps": lambda: FitSettings(steps=HUGE),
            "as a learning rate": lambda: FitSettings(learning_rate=HUGE),
            "as a concentration beside a discount": lambda: PitmanYorPrior(0.3, HUGE),
            "degrees of freedom": lambda: NormalInverseWishart(2, 0.1, dof=HUGE, scale=1.0),
            "proposals of a step": lambda: SplitMerge(MODEL, proposals=HUGE),
        }.items()
    ),
    *(
        no_room(name, call, words)
        for name, call, words in (
            (
                "10^12 components of a companion",
                lambda: companion(MODEL, 10**12),
                "num_components is 1000000000000: weights and parameters take",
            ),
            ("pairs of 1,000,000 points", lambda: co_assignment(repeated(2, 10**6)), "GiB of memory"),
            ("a table that repeats one number", lambda: pyroclust.compare(repeated(10**12, 2)), "GiB"),
            (
                "a tensor that repeats one number",
                lambda: FILTER.posterior(torch.zeros(1, 1).expand(10**12, 2)),
                "GiB",
            ),
            (
                "draws that repeat one number",
                lambda: pyroclust.diagnose(repeated(10**7, 10**5)),
                "thin the draws",
            ),
        )
    ),
    Case("memory", "a command without enough of it", "exit 2: one sentence", out_of_memory, slow=True),
    *(
        no_seed(f"seed {seed!r}", partial(amortization_gap, MODEL, FILTER, DATA, seed=seed), "2**63")
        for seed in (-1, 2**63, 2.5, True, "x")
    ),
    gives(
        "seeds",
        "classical methods take 2^63 - 1",
        lambda: len(pyroclust.baselines.run_baselines(DATA.numpy(), seed=2**63 - 1)),
        5,
    ),
    *(
        no_density(f"a density of {number}", lambda n=number: exact_posterior(Dense(n), DATA), "returned")
        for number in (math.nan, math.inf, 1e308)
    ),
    no_density("weights of a guide overflow", overflowing, "are not finite"),
    no_data("points at ±1e308", lambda: exact_posterior(WISHART, DATA * 1e308), FAR),
    no_data("points 1e8 from 0, inverse-Wishart", lambda: exact_posterior(WISHART, DATA + 1e8), FAR),
    no_data("points of scale 1e8, a filter", lambda: FILTER.posterior(DATA * 1e8), FAR),
    no_data("chains on points 1e8 from 0", lambda: CollapsedGibbs(MODEL).run(DATA + 1e8, num_draws=2), FAR),
    gives(
        "data",
        "denormal points are as good as 0",
        lambda: float(exact_posterior(MODEL, DATA * 1e-310)[1].exp().max()),
        float(exact_posterior(MODEL, DATA * 0)[1].exp().max()),
    ),
    *(
        no_prior(f"a concentration {value!r}", partial(ChineseRestaurantPrior, value), words)
        for value, words in ((0.0, "positive"), (math.inf, "positive"), (1e300, "single precision"))
    ),
    no_prior("a discount of None", lambda: PitmanYorPrior(None, 1.0), "discount is None"),
    no_prior("an infinite mean", lambda: NormalKnownVariance(2, mean=math.inf), "finite"),
    no_prior(
        "degrees of freedom at their bound",
        lambda: NormalInverseWishart(2, 0.1, dof=1.0, scale=1.0),
        "dof is 1.0",
    ),
    gives("threads", "three comparisons in one process are what they are alone", in_threads, True, slow=True),
]
