"""Guides of every kind that can be saved, on models of every kind: with the same weights each time."""

from collections.abc import Callable
from typing import Any

import torch
from pyro import distributions as dist

from pyroclust.distributions import (
    BernoulliBeta,
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    NormalIndependent,
    NormalInverseGamma,
    NormalKnownVariance,
    PitmanYorPrior,
    PoissonGamma,
    Product,
    student_t,
)
from pyroclust.guides import (
    AttentiveClusteringProcess,
    ClusterwiseClusteringProcess,
    NeuralClusteringProcess,
    PredictiveFilter,
)
from pyroclust.guides.exact_filters import filter_scorer
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.models import LabelledImages, LabelledTables, Mixture, gaussian2d, nig_mixture, sensitivity2d
from pyroclust.models import warped_clusters as arcs
from pyroclust.nn import (
    ClusterwiseNetwork,
    DensestFirst,
    DiscreteLatents,
    FarthestLast,
    FutureAttention,
    GaussianLatents,
    ImageEncoder,
    InducedFuture,
    NearestNext,
    NeighbourScorer,
    RandomOrder,
    SetEncoder,
    SummedScorer,
)
from pyroclust.nn.networks.clusterwise_network import AttentivePool, SummedPool

RANDOM = Mixture(
    ChineseRestaurantPrior(dist.Gamma(2.0, 4.0)),
    NormalKnownVariance(2, dist.LogNormal(1.0, 0.3), scale=torch.tensor(0.5)),
    name="random",
)
MIXED = Mixture(
    FiniteMixturesPrior(1.0, dist.Poisson(torch.tensor(3.0))),
    Product(
        [
            NormalInverseGamma(1, 0.1, shape=2.0, rate=0.2),
            BernoulliBeta(1, 0.6),
            PoissonGamma(1, 2.0, rate=0.5),
        ]
    ),
    name="mixed",
)
BATCH = Mixture(
    PitmanYorPrior(torch.tensor([0.1, 0.2]), 0.3), NormalKnownVariance(2, 10.0, mean=-1), name="batch"
)


def images() -> LabelledImages:
    values = torch.rand(12, 8, 8, generator=torch.Generator().manual_seed(1))
    return LabelledImages([(values, torch.arange(12) % 3)], prior=ChineseRestaurantPrior(0.7))


def tables() -> LabelledTables:
    values = torch.rand(12, 2, generator=torch.Generator().manual_seed(1))
    return LabelledTables([(values.numpy(), torch.arange(12).numpy() % 3)])


def light(model: Any, **options: Any) -> NeuralClusteringProcess:
    order = RandomOrder() if "encoder" in options else None
    return NeuralClusteringProcess(model, scorer=light_scorer_for(model, width=8, **options), order=order)


def summed(model: Any, dim: int, *, conditions: tuple[str, ...] = (), **options: Any) -> Any:
    scorer = SummedScorer(dim, width=4, sizes=(4, 8), **options)
    return NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder(), conditions=conditions)


def network(**options: Any) -> ClusterwiseNetwork:
    return ClusterwiseNetwork(2, 1.5, width=8, decoder_width=4, **options)


GUIDES: dict[str, Callable[[], Any]] = {
    "light": lambda: light(nig_mixture(2), num_bandwidths=2, second_moments=True, num_attention=1),
    "light, no filter": lambda: light(gaussian2d(), use_filter=False, num_bandwidths=0),
    "light, future": lambda: light(gaussian2d(), future=FutureAttention(8, num_blocks=2, num_heads=2)),
    "light, foresight": lambda: NeuralClusteringProcess(
        nig_mixture(2), scorer=light_scorer_for(nig_mixture(2), width=8, foresight=4), order=FarthestLast()
    ),
    "light, conditions": lambda: light(sensitivity2d(), conditions=["concentration", "prior_scale"]),
    "light, images": lambda: light(images(), encoder=ImageEncoder(8, 8, dim=3, channels=2)),
    "light, arcs": lambda: light(arcs(ChineseRestaurantPrior(0.7), centre_scale=7.0)),
    "light, tables": lambda: light(tables()),
    "light, student": lambda: light(Mixture(ChineseRestaurantPrior(1.5), student_t(2, dof=3.0))),
    "light, mixed columns": lambda: light(MIXED),
    "summed": lambda: summed(RANDOM, 2),
    "summed, conditions": lambda: summed(sensitivity2d(), 3, conditions=("concentration",)),
    "summed, images": lambda: summed(
        images(), 6, encoder=ImageEncoder(8, 8, dim=6, channels=2), future=InducedFuture(8, num_inducing=2)
    ),
    "summed, several orders": lambda: summed(BATCH, 2).mixed(4),
    "neighbours": lambda: NeuralClusteringProcess(
        arcs(), scorer=NeighbourScorer(0.7, width=8), order=NearestNext(0.3)
    ),
    "filter": lambda: PredictiveFilter(gaussian2d(3).given({"concentration": 1.5})),
    "filter, order": lambda: PredictiveFilter(
        Mixture(DirichletMultinomialPrior(4, 0.3), NormalIndependent(0.0, 4.0, shape=2.0, rate=0.2, dim=2)),
        order=DensestFirst(0.4),
    ),
    "filter, conditions": lambda: PredictiveFilter(
        sensitivity2d(), conditions=["prior_scale", "concentration"], num_orders=3
    ),
    "filter, gamma": lambda: PredictiveFilter(
        Mixture(GammaConcentration(2.0, 3.0), NormalKnownVariance(2, 10.0))
    ),
    "clusterwise": lambda: ClusterwiseClusteringProcess(
        gaussian2d(), network=network(latents=GaussianLatents(3)), num_particles=5
    ),
    "clusterwise, foresight": lambda: ClusterwiseClusteringProcess(
        gaussian2d(), network=network(filter=filter_scorer(gaussian2d())), order=DensestFirst(1.0)
    ),
    "clusterwise, plain": lambda: ClusterwiseClusteringProcess(
        RANDOM,
        network=network(
            latents=DiscreteLatents(2, 3), pool=SummedPool, bandwidths=(), differences=False, up_front=None
        ),
        order=DensestFirst(1.4),
        num_orders=3,
    ),
    "attentive": lambda: AttentiveClusteringProcess(
        gaussian2d(),
        network=network(
            pool=AttentivePool,
            up_front=SetEncoder(8, num_blocks=2, num_inducing=3),
            each_step=SetEncoder(8, num_heads=2),
        ),
        order=RandomOrder(),
    ),
}


def make(name: str) -> Any:
    """Build a guide with initial weights that no other guide of the tests has."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(9)
        return GUIDES[name]().eval()
