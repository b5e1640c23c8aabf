"""Small runs of every kernel and guide: the same seeds give the draws that they have always given.

``python tests/test_stored_draws.py`` writes ``stored_draws.json`` and ``stored_log_probs.json``; do so only
where draws are meant to change, and say in CHANGELOG.md that they do.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from pyro.distributions import Beta, Gamma, Poisson

from pyroclust import compare, load_guide
from pyroclust.distributions import (
    BernoulliBeta,
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PitmanYorPrior,
    Product,
    student_t,
)
from pyroclust.distributions.protocols import is_of_graphs
from pyroclust.guides import (
    AttentiveClusteringProcess,
    BlockFilter,
    ClusterwiseClusteringProcess,
    NeuralClusteringProcess,
    PredictiveFilter,
)
from pyroclust.infer import importance_sample, sequential_monte_carlo
from pyroclust.infer.mcmc import (
    AuxiliaryGibbs,
    CollapsedGibbs,
    CompanionNUTS,
    Compose,
    GuideProposal,
    MergeSplit,
    SliceHyperparameters,
    SplitMerge,
)
from pyroclust.models import Mixture, StochasticBlockModel, companion, overlap2d
from pyroclust.saving.cards import list_guides

STORED = Path(__file__).parent / "stored_draws.json"
STORED_LOG_PROBS = Path(__file__).parent / "stored_log_probs.json"
Labels = list[list[int]]
LogProbs = list[float]


def points(num_points: int = 9, *shape: int) -> torch.Tensor:
    """Points of two groups, in the plane unless a shape is given, the same in every version of torch."""
    shape = shape or (2,)
    grid = torch.arange(num_points * math.prod(shape), dtype=torch.float32).view(num_points, -1)
    found = (grid * 2.399963).sin() + 2.0 * (torch.arange(num_points) % 2).unsqueeze(-1)
    return found.view(num_points, *shape)


def table(num_rows: int = 9) -> torch.Tensor:
    """Rows of two groups in two columns of numbers, one of counts, one of answers and one of categories."""
    group = (torch.arange(num_rows) % 2).float().unsqueeze(-1)
    found = torch.cat([points(num_rows), 3 * group, group, 1 + 2 * group], -1)
    found[3, 0] = found[4, 4] = torch.nan
    return found


def graph(num_nodes: int = 9) -> torch.Tensor:
    """A graph of two groups, with some edges between them."""
    group = torch.arange(num_nodes) % 2
    linked = (group.unsqueeze(-1) == group) | ((torch.arange(num_nodes).unsqueeze(-1) * 7 + group) % 5 == 0)
    upper = linked.triu(1).double()
    return upper + upper.T


def _normal(dim: int = 2) -> NormalInverseGamma:
    return NormalInverseGamma(dim, 0.1, shape=2.0, rate=0.3)


def _run(kernel, data: torch.Tensor) -> Labels:
    draws = kernel.run(data, num_draws=6, warmup=5, num_chains=2, seed=3)
    return draws.flat.tolist()


def _nuts() -> Labels:
    finite = Mixture(FiniteMixturesPrior(1.0, Poisson(2.0)), _normal())
    kernel = CompanionNUTS(companion(finite, 3))
    return _run(kernel, points(6))


def _guided() -> Labels:
    model = overlap2d()
    return _run(Compose([GuideProposal(model, PredictiveFilter(model)), CollapsedGibbs(model)]), points())


KERNELS: dict[str, Callable[[], Labels]] = {
    "CollapsedGibbs, known variance": lambda: _run(CollapsedGibbs(overlap2d()), points()),
    "CollapsedGibbs, inverse gamma, Gamma concentration": lambda: _run(
        CollapsedGibbs(Mixture(GammaConcentration(2.0, 4.0), _normal())), points()
    ),
    "SplitMerge and CollapsedGibbs, inverse Wishart": lambda: _run(
        Compose(
            [
                SplitMerge(
                    model := Mixture(
                        ChineseRestaurantPrior(1.0), NormalInverseWishart(2, 0.1, dof=4.0, scale=0.3)
                    )
                ),
                CollapsedGibbs(model),
            ]
        ),
        points(),
    ),
    "MergeSplit and CollapsedGibbs": lambda: _run(
        Compose([MergeSplit(model := overlap2d()), CollapsedGibbs(model)]), points()
    ),
    "SliceHyperparameters and CollapsedGibbs, product": lambda: _run(
        Compose(
            [
                CollapsedGibbs(
                    model := Mixture(
                        PitmanYorPrior(discount=Beta(1.0, 9.0), concentration=Gamma(2.0, 4.0)),
                        Product(
                            [NormalInverseGamma(1, 0.1, shape=2.0, rate=Gamma(2.0, 10.0)), BernoulliBeta(1)]
                        ),
                    )
                ),
                SliceHyperparameters(model),
            ]
        ),
        torch.cat([points(9, 1), (points(9, 1) > 0.5).float()], -1),
    ),
    "SplitMerge, MergeSplit and CollapsedGibbs, graph": lambda: _run(
        Compose([SplitMerge(model := StochasticBlockModel()), MergeSplit(model), CollapsedGibbs(model)]),
        graph(),
    ),
    "AuxiliaryGibbs, Student-t": lambda: _run(
        AuxiliaryGibbs(Mixture(ChineseRestaurantPrior(1.0), student_t())), points(7, 1)
    ),
    "GuideProposal and CollapsedGibbs": _guided,
    "CompanionNUTS": _nuts,
}


def _posterior(guide) -> tuple[Labels, LogProbs]:
    """Return draws, and log q of them: draws alone hardly show a small change of a network's input."""
    return _drawn(guide, points(9, *guide.model.event_shape))


def _drawn(guide, data: torch.Tensor) -> tuple[Labels, LogProbs]:
    torch.manual_seed(5)
    with torch.no_grad():
        posterior = guide.posterior(data)
        draws = posterior.sample((6,))
        return draws.tolist(), posterior.log_prob(draws).tolist()


def _network(kind, model=None) -> tuple[Labels, LogProbs]:
    torch.manual_seed(4)
    return _posterior(kind(model or overlap2d()))


def _shelf(name: str) -> tuple[Labels, LogProbs]:
    guide = load_guide(name)
    if guide.conditions:
        guide = guide.condition(concentration=1.0, prior_scale=3.0)
    if guide.fits_any_model:
        return _drawn(guide, table())
    # Eight nodes have eigenvalues of their own, nine have not: their eigenvectors are any of a plane.
    return _drawn(guide, graph(8)) if is_of_graphs(guide.model) else _posterior(guide)


def _weighted() -> tuple[Labels, LogProbs]:
    model = overlap2d()
    torch.manual_seed(6)
    found = importance_sample(model, PredictiveFilter(model), points(), num_draws=6)
    return found.flat.tolist(), found.log_weights[0].tolist()


def _particles() -> tuple[Labels, LogProbs]:
    model = overlap2d()
    torch.manual_seed(6)
    found, _ = sequential_monte_carlo(model, PredictiveFilter(model), points(), num_particles=6)
    return found.flat.tolist(), found.log_weights[0].tolist()


def _compared(guide: str) -> tuple[Labels, LogProbs]:
    found = compare(
        points(12, 2).numpy(),
        guide=guide,
        num_draws=10,
        mcmc_draws=10,
        num_chains=2,
        warmup=0,
        seed=3,
    )
    drawn = found.draws["guide"]
    return drawn.assignments[0].tolist(), drawn.log_prob[0].tolist()


# Draws with log q of them, or with their log-weights.
GUIDES: dict[str, Callable[[], tuple[Labels, LogProbs]]] = {
    "NeuralClusteringProcess": lambda: _network(NeuralClusteringProcess),
    "ClusterwiseClusteringProcess": lambda: _network(ClusterwiseClusteringProcess),
    "AttentiveClusteringProcess": lambda: _network(AttentiveClusteringProcess),
    "PredictiveFilter, known variance": lambda: _network(PredictiveFilter),
    "PredictiveFilter, Dirichlet-multinomial": lambda: _network(
        PredictiveFilter, Mixture(DirichletMultinomialPrior(3, 1.0), NormalKnownVariance(2, 3.0))
    ),
    "PredictiveFilter, four orders": lambda: _posterior(PredictiveFilter(overlap2d()).mixed(4)),
    "BlockFilter": lambda: _drawn(BlockFilter(StochasticBlockModel()), graph()),
    "importance_sample": _weighted,
    "sequential_monte_carlo": _particles,
    "compare, ncp-niw2d": lambda: _compared("ncp-niw2d"),
    "compare, filter-niw2d": lambda: _compared("filter-niw2d"),
    **{name: (lambda name=name: _shelf(name)) for name in (card.name for card in list_guides())},
}

DRAWS = json.loads(STORED.read_text(encoding="utf-8"))
LOG_PROBS = json.loads(STORED_LOG_PROBS.read_text(encoding="utf-8"))


def test_every_case_is_stored():
    assert sorted(DRAWS) == sorted(KERNELS | GUIDES)
    assert sorted(LOG_PROBS) == sorted(GUIDES)


@pytest.mark.parametrize("name", KERNELS)
def test_draws_of_kernels_are_those_of_the_first_day(name):
    assert KERNELS[name]() == DRAWS[name]


@pytest.mark.parametrize("name", GUIDES)
def test_draws_of_guides_are_those_of_the_first_day(name):
    draws, log_probs = GUIDES[name]()
    assert draws == DRAWS[name]
    assert log_probs == pytest.approx(LOG_PROBS[name], rel=1e-4, abs=1e-3)


if __name__ == "__main__":
    torch.set_num_threads(1)
    guides = {name: run() for name, run in GUIDES.items()}
    draws = {name: run() for name, run in KERNELS.items()} | {name: one for name, (one, _) in guides.items()}
    log_probs = {name: [round(value, 4) for value in one] for name, (_, one) in guides.items()}
    for path, found in ((STORED, draws), (STORED_LOG_PROBS, log_probs)):
        rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(one)}" for name, one in found.items())
        path.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")
