"""Numbers at their extremes: counts, seeds, memory, data, hyperparameters, and densities of users."""

import math
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from faults.cases import Case, command, gives, refuses, run_command

import pyroclust
from pyroclust.calibration import CertificateSettings, certify
from pyroclust.diagnostics import SalsoSearch, co_assignment, distance_rhat, mmd_test
from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    NormalInverseWishart,
    NormalKnownVariance,
    PitmanYorPrior,
)
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter, light_scorer_for
from pyroclust.infer import (
    FitSettings,
    LeaveOneOut,
    Validation,
    amortization_gap,
    exact_posterior,
    fit,
    importance_sample,
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


def failing_part(folder: Path) -> str:
    """Compare where the calibration near the data cannot be made."""
    import pyroclust.analysis.of_the_model as module

    kept = module.calibrate_near
    module.calibrate_near = lambda *_, **__: 1 / 0
    try:
        options = {"num_draws": 20, "mcmc_draws": 20, "also": ["calibration"]}
        found = pyroclust.compare("galaxies", guide="filter-nig1d", out=folder / "out", **options)
    finally:
        module.calibrate_near = kept
    notes = [one for one in found.to_dict()["notes"] if "could not be made" in one]
    assert notes, "the page does not say what is missing"
    assert (
        "could not be made and is left out: division by zero" in (folder / "out" / "report.html").read_text()
    )
    return notes[0]


def out_of_memory(folder: Path) -> str:
    """Run a command in which numpy or torch finds no memory that no estimate foresaw."""
    for error in (
        MemoryError("Unable to allocate"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    ):
        with mock.patch("pyroclust.analysis.drawing.draw_guide", side_effect=error):
            code, _, said = run_command(
                [
                    "compare",
                    "galaxies",
                    "--guide",
                    "filter-nig1d",
                    "--mcmc-draws",
                    "20",
                    "--out",
                    str(folder / "o"),
                ]
            )
        assert code == 2, code
        assert "memory that is left is not enough" in said, said
        assert not (folder / "o").exists()
    return " ".join(said.split())


def counted(name: str, call: Callable[[Any], Any], words: str) -> list[Case]:
    """Call with what is no count."""
    wrong = {"0": 0, "-1": -1, "2.5": 2.5, "true": True, "None": None, "text": "3", "nan": math.nan}
    return [
        no_count(f"{name} {shown}", lambda value=value: call(value), words) for shown, value in wrong.items()
    ]


def shaped(shape: Any) -> Callable[[], Any]:
    return lambda: FILTER.posterior(DATA).sample(shape)


def fitted(**settings: Any) -> Any:
    """Train a small guide with settings that are asked for."""
    guide = NeuralClusteringProcess(MODEL, scorer=light_scorer_for(MODEL, width=8, num_bandwidths=2))
    wanted = FitSettings(**{"steps": 1, "max_points": 10, **settings})
    return fit(MODEL, guide, settings=wanted, progress=False)


def most(name: str, call: Callable[[Any], Any], words: str) -> list[Case]:
    """Call with more than any machine has, and with more than double precision reaches."""
    return [
        no_count(f"10^13 {name}", lambda: call(10**13), f"{words}10000000000000"),
        no_count(f"10^400 {name}", lambda: call(10**400), words),
    ]


def certified(**settings: Any) -> Any:
    return certify(FILTER, settings=CertificateSettings(**settings))


def repeated(*shape: int) -> np.ndarray:
    """An array of many numbers that takes no memory."""
    return np.broadcast_to(np.int8(1), shape)


DRAWS = np.random.default_rng(0).integers(0, 3, (2, 40, 6))
FAR = "centre and rescale"
CASES = [
    *counted(
        "importance draws", lambda n: importance_sample(MODEL, FILTER, DATA, num_draws=n), "num_draws is"
    ),
    *counted("kept draws", lambda n: CollapsedGibbs(MODEL).run(DATA, num_draws=n), "num_draws is"),
    *counted("points of a prior", ChineseRestaurantPrior(1.0).partition, "num_points is"),
    no_count("10^18 kept draws", lambda: CollapsedGibbs(MODEL).run(DATA, num_draws=10**18), "is"),
    no_count("10^12 chains", lambda: CollapsedGibbs(MODEL).run(DATA, num_draws=2, num_chains=10**12), "GiB"),
    no_count("a thinning of 10^18", lambda: CollapsedGibbs(MODEL, thin=10**18), "thin is"),
    no_count("10^12 draws of a guide", shaped((10**12,)), "GiB of memory"),
    no_count("a shape that is a number", shaped(5), "expected a shape"),
    no_count("a shape with 2.5", shaped((2.5,)), "sample_shape is 2.5"),
    gives("counts", "no draws at all", lambda: tuple(shaped((0,))().shape), (0, 6)),
    gives("counts", "a count of numpy", lambda: tuple(shaped((np.int64(3),))().shape), (3, 6)),
    no_count("10^12 orders", lambda: FILTER.mixed(10**12).posterior(DATA), "num_orders is"),
    no_count(
        "10^12 particles",
        lambda: sequential_monte_carlo(MODEL, FILTER, DATA, num_particles=10**12),
        "particles of 6 points take",
    ),
    no_count(
        "10^12 data sets of a calibration",
        lambda: pyroclust.calibrate(FILTER, MODEL, num_datasets=10**12),
        "GiB of memory",
    ),
    *most(
        "permutations", lambda n: mmd_test(DRAWS, DRAWS, seed=0, num_permutations=n), "num_permutations is "
    ),
    *most(
        "references of distances",
        lambda n: distance_rhat(DRAWS, seed=0, num_references=n),
        "num_references is ",
    ),
    *most(
        "auxiliary parameters",
        lambda n: AuxiliaryGibbs(MODEL, num_auxiliary=n).run(DATA, num_draws=2),
        "num_auxiliary is ",
    ),
    *most("points of a step", lambda n: fitted(points_per_step=n), "points_per_step is "),
    *most(
        "draws of a validation", lambda n: Validation(num_draws=n).check_memory(), "validation.num_draws is "
    ),
    *most("draws of a certificate", lambda n: certified(num_draws=n), "num_draws is "),
    *most("data sets of a certificate", lambda n: certified(num_exact=n), "num_exact is "),
    *most("points of all partitions", lambda n: certified(exact_points=n), "exact_points is "),
    *[
        no_count(f"10^400 {name}", call, "a number of 1329 bits")
        for name, call in {
            "steps": lambda: FitSettings(steps=10**400),
            "as a learning rate": lambda: FitSettings(learning_rate=10**400),
            "as a concentration": lambda: ChineseRestaurantPrior(10**400),
            "as a concentration beside a discount": lambda: PitmanYorPrior(0.3, 10**400),
            "degrees of freedom": lambda: NormalInverseWishart(2, 0.1, dof=10**400, scale=1.0),
            "components": lambda: DirichletMultinomialPrior(10**400, 1.0),
            "proposals of a step": lambda: SplitMerge(MODEL, proposals=10**400),
            "scans": lambda: SplitMerge(MODEL, scans=10**400),
            "clusters dissolved": lambda: SalsoSearch(num_zealous=10**400),
            "particles of a loss": lambda: LeaveOneOut(10**400),
        }.items()
    ],
    no_count(
        "a learning rate of a training beyond the bound of a fine-tuning",
        lambda: FitSettings(learning_rate=2e6),
        "at most 1e+06",
    ),
    no_room(
        "10^12 components of a companion",
        lambda: companion(MODEL, 10**12),
        "num_components is 1000000000000: weights and parameters take",
    ),
    no_count("scans of 2.5", lambda: SplitMerge(MODEL, scans=2.5), "scans is 2.5"),
    no_count("components true", lambda: DirichletMultinomialPrior(True, 1.0), "num_components is True"),
    no_room("pairs of 1,000,000 points", lambda: co_assignment(repeated(2, 10**6)), "GiB of memory"),
    no_room("a table that repeats one number", lambda: pyroclust.compare(repeated(10**12, 2)), "GiB"),
    no_room(
        "a tensor that repeats one number",
        lambda: FILTER.posterior(torch.zeros(1, 1).expand(10**12, 2)),
        "GiB",
    ),
    no_room(
        "draws that repeat one number", lambda: pyroclust.diagnose(repeated(10**7, 10**5)), "thin the draws"
    ),
    Case("memory", "a command without enough of it", "exit 2: one sentence", out_of_memory, slow=True),
    no_count("a dimension of 2.5", lambda: niw_mixture(2.5), "dim is 2.5"),
    *[
        no_seed(f"seed {shown}", lambda seed=seed: amortization_gap(MODEL, FILTER, DATA, seed=seed), "2**63")
        for shown, seed in {"-1": -1, "2^63": 2**63, "2.5": 2.5, "true": True, "text": "x"}.items()
    ],
    gives(
        "seeds",
        "classical methods take 2^63 - 1",
        lambda: len(pyroclust.baselines.run_baselines(DATA.numpy(), seed=2**63 - 1)),
        5,
    ),
    command("seeds", "a seed of 10^30", ["compare", "galaxies", "--seed", str(10**30)], words="2**63 - 1"),
    *[
        no_density(f"a density of {number}", lambda n=number: exact_posterior(Dense(n), DATA), "returned")
        for number in (math.nan, math.inf, 1e308, -1e308)
    ],
    no_density("weights of a guide overflow", overflowing, "are not finite"),
    no_data("points at ±1e308", lambda: exact_posterior(WISHART, DATA * 1e308), FAR),
    no_data("points 1e8 from 0, inverse-Wishart", lambda: exact_posterior(WISHART, DATA + 1e8), FAR),
    no_data("points of scale 1e8, inverse-Wishart", lambda: FILTER.posterior(DATA * 1e8), FAR),
    no_data("chains on points 1e8 from 0", lambda: CollapsedGibbs(MODEL).run(DATA + 1e8, num_draws=2), FAR),
    gives(
        "data",
        "denormal points are as good as 0",
        lambda: float(exact_posterior(MODEL, DATA * 1e-310)[1].exp().max()),
        float(exact_posterior(MODEL, DATA * 0)[1].exp().max()),
    ),
    no_prior("a concentration of 0", lambda: ChineseRestaurantPrior(0.0), "positive"),
    no_prior("a concentration of nan", lambda: ChineseRestaurantPrior(math.nan), "positive"),
    no_prior("an infinite concentration", lambda: ChineseRestaurantPrior(math.inf), "positive"),
    no_prior("a concentration of 1e300", lambda: ChineseRestaurantPrior(1e300), "single precision"),
    no_prior("a concentration that is text", lambda: ChineseRestaurantPrior("1"), "positive"),
    no_prior("a concentration that is true", lambda: ChineseRestaurantPrior(True), "positive"),
    no_prior("a discount of None", lambda: PitmanYorPrior(None, 1.0), "discount is None"),
    no_prior("infinite weights", lambda: DirichletMultinomialPrior(3, math.inf), "positive"),
    no_prior("an infinite mean", lambda: NormalKnownVariance(2, mean=math.inf), "finite"),
    no_prior(
        "degrees of freedom at their bound",
        lambda: NormalInverseWishart(2, 0.1, dof=1.0, scale=1.0),
        "dof is 1.0",
    ),
    gives("threads", "three comparisons in one process are what they are alone", in_threads, True, slow=True),
    Case(
        "parts", "the calibration near the data fails", "a sentence in page and JSON", failing_part, slow=True
    ),
]
