"""Moves that propose from a guide: exact however poor the guide, and always accepted from a perfect one."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
import torch
from exact_guides import ExactGuide
from partition_laws import check_invariance, check_law
from torch import Tensor

from pyroclust.distributions import (
    ChineseRestaurantPrior,
    ChineseRestaurantProcess,
    NormalKnownVariance,
    PitmanYorPrior,
)
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.infer import exact_posterior
from pyroclust.infer.mcmc import NeighbourBlocks, UniformBlocks
from pyroclust.infer.mcmc.guide_proposal import (
    MovedChains,
    block_last,
    block_steps,
    independence_steps,
)
from pyroclust.models import Mixture, niw_mixture, overlap2d
from pyroclust.nn import DensestFirst
from pyroclust.partitions import canonical, is_canonical

NUM_POINTS = 6
NUM_CHAINS = 4000
Step = Callable[[Tensor, np.random.Generator], MovedChains]
DATA = torch.tensor([[0.0, 0.0], [1.5, 0.4], [3.0, -0.3], [0.4, 2.2], [2.6, 2.4], [6.0, 1.0]])


def untrained(model: Mixture) -> NeuralClusteringProcess:
    scorer = light_scorer_for(model, width=16, num_bandwidths=2, use_filter=False)
    return NeuralClusteringProcess(model, scorer=scorer).eval()


def of_another_model(model: Mixture) -> PredictiveFilter:
    other = Mixture(PitmanYorPrior(0.5, 1.0), NormalKnownVariance(2, 1.0))
    return PredictiveFilter(other, order=DensestFirst(1.4))


GUIDES: dict[str, Callable[[Mixture], PredictiveFilter | NeuralClusteringProcess]] = {
    "untrained": untrained,
    "filter of another model": of_another_model,
}
MODELS: dict[str, Callable[[], Mixture]] = {"overlap": overlap2d, "wishart": lambda: niw_mixture(2)}


def independence(model: Mixture, guide: PredictiveFilter, *, num_proposals: int) -> Step:
    """Propose whole partitions; log q of the chains by teacher forcing at the start."""
    law = guide.posterior(DATA)

    def step(state: Tensor, generator: np.random.Generator) -> MovedChains:
        return independence_steps(
            model,
            law,
            DATA,
            assignments=state,
            log_joint=model.log_joint(DATA, state),
            log_q=law.log_prob(state).detach(),
            num_proposals=num_proposals,
            generator=generator,
        )

    return step


def blocks_of(rule: UniformBlocks | NeighbourBlocks) -> Callable[..., Step]:
    """Re-draw the blocks that a rule chooses."""

    def move(model: Mixture, guide: PredictiveFilter, *, num_proposals: int) -> Step:
        order = guide.posterior(DATA).order[0]

        def step(state: Tensor, generator: np.random.Generator) -> MovedChains:
            return block_steps(
                model,
                guide,
                DATA,
                assignments=state,
                log_joint=model.log_joint(DATA, state),
                block=rule(DATA, len(state), generator=generator),
                order=order,
                num_proposals=num_proposals,
                generator=generator,
            )

        return step

    return move


MOVES: dict[str, Callable[..., Step]] = {
    "independence": independence,
    "random block": blocks_of(UniformBlocks(3)),
    "neighbours": blocks_of(NeighbourBlocks(3)),
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Mixture:
    return MODELS[request.param]()


@pytest.fixture(params=GUIDES)
def guide(request: pytest.FixtureRequest, model: Mixture) -> PredictiveFilter | NeuralClusteringProcess:
    return GUIDES[request.param](model)


def exact_draws(model: Mixture, count: int) -> Tensor:
    partitions, log_probs = exact_posterior(model, DATA)
    return partitions[torch.multinomial(log_probs.exp(), count, replacement=True)]


@pytest.mark.parametrize("move", MOVES)
def test_exact_draws_stay_exact(model: Mixture, guide: PredictiveFilter, move: str) -> None:
    generator = np.random.default_rng(1)

    def step(state: Tensor) -> Tensor:
        moved = MOVES[move](model, guide, num_proposals=3)(state, generator)
        assert 0.02 < moved.accepted.sum() / (3 * NUM_CHAINS) < 0.98
        return moved.assignments

    check_invariance(step, exact_posterior(model, DATA), num_draws=NUM_CHAINS, seed=1)


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("build", GUIDES.values(), ids=GUIDES)
def test_chains_started_elsewhere_reach_the_posterior(
    build: Callable[[Mixture], PredictiveFilter], move: str
) -> None:
    model = overlap2d()
    state = torch.zeros(2000, NUM_POINTS, dtype=torch.int64)
    state[::2] = torch.arange(NUM_POINTS)
    guide, generator = build(model), np.random.default_rng(3)
    step = MOVES[move](model, guide, num_proposals=8)
    for _ in range(rounds_of_independence(model, guide) // 8 if move == "independence" else 15):
        state = step(state, generator).assignments
    check_law(model, DATA, state)


def rounds_of_independence(model: Mixture, guide: PredictiveFilter) -> int:
    """Steps after which independence sampling is within e^-7 of the posterior: 1 - min q / p a step."""
    partitions, log_probs = exact_posterior(model, DATA)
    worst = (log_probs - guide.posterior(DATA).log_prob(partitions)).max().exp().item()
    return int(7 * worst) + 8


@pytest.mark.parametrize("move", MOVES)
def test_a_perfect_guide_is_always_accepted(model: Mixture, move: str) -> None:
    state, generator = exact_draws(model, 5), np.random.default_rng(4)
    moved = MOVES[move](model, ExactGuide(model), num_proposals=4)(state, generator)
    assert (moved.accepted == 4).all()


def test_what_a_block_move_returns() -> None:
    torch.manual_seed(5)
    model, generator = overlap2d(), np.random.default_rng(5)
    guide = untrained(model)
    data, order = 3 * torch.randn(30, 2), torch.randperm(30)
    state = guide.posterior(data).sample((9,))
    block = UniformBlocks(4)(torch.empty(30, 1), 9, generator=generator)
    moved = block_steps(
        model,
        guide,
        data,
        assignments=state,
        log_joint=model.log_joint(data, state),
        block=block,
        order=order,
        num_proposals=6,
        generator=generator,
    )
    assert is_canonical(moved.assignments).all()
    assert (moved.accepted <= 6).all()
    same = (moved.assignments == state).all(-1)
    assert same[moved.accepted == 0].all()
    assert (~same).any()
    torch.testing.assert_close(moved.log_joint, model.log_joint(data, moved.assignments))
    for chain in range(9):
        rest = [point for point in range(30) if point not in block[chain].tolist()]
        assert (canonical(moved.assignments[chain, rest]) == canonical(state[chain, rest])).all()
    law = guide.posterior(data.expand(9, 30, 2), order=block_last(order, block)).given(state, num_free=4)
    torch.testing.assert_close(moved.log_q, law.log_prob(moved.assignments), rtol=0, atol=1e-4)


def test_what_an_independence_move_returns() -> None:
    """Also with a law that is not sequential, and hyperparameters that differ from chain to chain."""
    torch.manual_seed(6)
    model = Mixture(
        ChineseRestaurantPrior(torch.tensor([0.3, 1.0, 4.0]).double()), NormalKnownVariance(2, 3.0)
    )
    law, generator = ChineseRestaurantProcess(1.0, NUM_POINTS), np.random.default_rng(6)
    state = law.sample((3,))
    moved = independence_steps(
        model,
        law,
        DATA,
        assignments=state,
        log_joint=model.log_joint(DATA, state),
        log_q=law.log_prob(state),
        num_proposals=30,
        generator=generator,
    )
    assert (moved.accepted > 0).all()
    torch.testing.assert_close(moved.log_joint, model.log_joint(DATA, moved.assignments))
    torch.testing.assert_close(moved.log_q, law.log_prob(moved.assignments).double())


def test_a_chain_outside_the_support_comes_in() -> None:
    model, generator = overlap2d(), np.random.default_rng(7)
    law = PredictiveFilter(model).posterior(DATA)
    moved = independence_steps(
        model,
        law,
        DATA,
        assignments=torch.zeros(2, NUM_POINTS).long(),
        log_joint=torch.full((2,), -torch.inf).double(),
        log_q=torch.full((2,), -torch.inf).double(),
        num_proposals=1,
        generator=generator,
    )
    assert (moved.accepted == 1).all()


def test_uniform_blocks_are_uniform_subsets() -> None:
    generator = np.random.default_rng(8)
    blocks = UniformBlocks(2)(torch.empty(5, 1), 20_000, generator=generator).sort(-1).values
    counts = torch.stack([(blocks == torch.tensor(pair)).all(-1).sum() for pair in combinations(range(5), 2)])
    assert counts.sum() == 20_000
    assert ((counts - 2000).abs() < 4.5 * (20_000 * 0.1 * 0.9) ** 0.5).all()


def test_neighbour_blocks_are_nearest_to_a_uniform_centre() -> None:
    generator = np.random.default_rng(9)
    data = torch.tensor([[0.0], [1.0], [10.0], [11.1], [30.0]])
    blocks = NeighbourBlocks(2)(data, 5000, generator=generator).sort(-1).values
    expected = {(0, 1): 0.4, (2, 3): 0.4, (3, 4): 0.2}
    for pair, share in expected.items():
        count = (blocks == torch.tensor(pair)).all(-1).sum()
        assert abs(count - 5000 * share) < 4.5 * (5000 * share * (1 - share)) ** 0.5
