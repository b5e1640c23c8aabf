"""Properties of pyroclust.nn and pyroclust.guides: networks of any size, and posteriors of any data."""

from collections.abc import Callable
from typing import Any

import torch
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from properties.calls import Call
from properties.hostile import finite

from pyroclust import distributions as laws
from pyroclust import guides, models, nn
from pyroclust.partitions import enumerate_partitions

MODEL = models.gaussian2d()
BANDWIDTH = st.floats(0.1, 10)
SMALL = st.integers(1, 2)


def made_of(**numbers: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(numbers)


def _applied(make: Callable[..., torch.nn.Module], *shapes: tuple[int, ...]) -> Callable[..., torch.Tensor]:
    """Make a network of one width, and apply it."""

    def found(*, heads: int, width: int, **numbers: Any) -> torch.Tensor:
        torch.manual_seed(0)
        module = make(width, num_heads=heads, **numbers)
        given = [torch.ones(*shape, width) for shape in shapes]
        with torch.no_grad():
            return module(*given)

    return found


def _ordered(make: Callable[[float], nn.Order]) -> Callable[..., torch.Tensor]:
    def found(*, bandwidth: float, positions: torch.Tensor) -> torch.Tensor:
        return make(bandwidth)(positions)

    return found


def a_permutation(found: torch.Tensor, *, positions: torch.Tensor, **_: Any) -> None:
    straight = torch.arange(positions.shape[1]).expand(len(positions), -1)
    assert torch.equal(found.sort(-1).values, straight)


POSITIONS = finite(2, 4, 2, extreme=False).map(torch.from_numpy)
ORDERED = st.fixed_dictionaries({"bandwidth": BANDWIDTH, "positions": POSITIONS})


def _posterior(make: Callable[[], guides.AmortizedGuide]) -> Callable[..., torch.Tensor]:
    torch.manual_seed(0)
    guide = make()

    def found(*, data: Any) -> torch.Tensor:
        torch.manual_seed(0)
        law = guide.posterior(data)
        every = enumerate_partitions(law.num_points)
        every = every.reshape(-1, *(1,) * len(law.batch_shape), law.num_points)
        with torch.no_grad():
            return law.log_prob(every.expand(-1, *law.batch_shape, -1)).double()

    return found


def sums_to_one(found: torch.Tensor, **_: Any) -> None:
    total = found.logsumexp(0).exp()
    torch.testing.assert_close(total, torch.ones_like(total), rtol=1e-4, atol=1e-4)


def _retargeted(*, concentration: float, prior_scale: float, dim: int, data: Any) -> torch.Tensor:
    prior = laws.ChineseRestaurantPrior(concentration)
    model = models.Mixture(prior, laws.NormalKnownVariance(dim, prior_scale=prior_scale))
    guide = guides.retarget(guides.PredictiveFilter(MODEL, order=nn.DensestFirst(1.0)), model)
    assert guide.model is model
    own = guides.PredictiveFilter(model, order=nn.DensestFirst(1.0))
    law, wanted = guide.posterior(data), own.posterior(data)
    one = torch.zeros(law.num_points, dtype=torch.int64)
    return torch.stack([law.log_prob(one), wanted.log_prob(one)])


def like_its_own(found: torch.Tensor, **_: Any) -> None:
    torch.testing.assert_close(found[0], found[1])


def _light(
    *, width: int, num_bandwidths: int, bandwidth_ratio: float, num_attention: int, foresight: int
) -> torch.Tensor:
    torch.manual_seed(0)
    scorer = guides.light_scorer_for(
        MODEL,
        width=width,
        num_bandwidths=num_bandwidths,
        bandwidth_ratio=bandwidth_ratio,
        num_attention=num_attention,
        foresight=foresight,
    )
    guide = guides.NeuralClusteringProcess(MODEL, scorer=scorer, order=nn.DensestFirst(1.0))
    data = torch.tensor([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]])
    return guide.posterior(data).log_prob(enumerate_partitions(3)).detach().double()


DATA = st.fixed_dictionaries({"data": st.integers(2, 4).flatmap(lambda n: finite(n, 2, extreme=False))})
TRAINED: dict[str, Callable[[], guides.AmortizedGuide]] = {
    "PredictiveFilter": lambda: guides.PredictiveFilter(MODEL),
    "NeuralClusteringProcess": lambda: guides.NeuralClusteringProcess(MODEL, order=nn.DensestFirst(1.0)),
    "ScaleAveragedProcess": lambda: guides.ScaleAveragedProcess(
        models.normal_mixture(2), order=nn.DensestFirst(1.0)
    ),
    "SetTransformerMixture": lambda: guides.SetTransformerMixture(
        MODEL, network=guides.mixture_network_for(MODEL, width=8)
    ),
    "DeepAmortizedClustering": lambda: guides.DeepAmortizedClustering(
        MODEL,
        network=guides.filtering_network_for(MODEL, width=8, num_blocks=1),
        order=nn.DensestFirst(1.0),
    ),
}
CALLS = [
    *(
        Call(
            f"nn.{name}",
            _applied(getattr(nn, name), *shapes),
            made_of(heads=SMALL, width=st.sampled_from([2, 4]), **more),
        )
        for name, shapes, more in (
            ("SetEncoder", ((2, 3),), {"num_blocks": SMALL, "num_inducing": SMALL}),
            ("FullSetEncoder", ((2, 3),), {"num_blocks": SMALL}),
        )
    ),
    Call("nn.DensestFirst", _ordered(nn.DensestFirst), ORDERED, a_permutation),
    Call("nn.NearestNext", _ordered(nn.NearestNext), ORDERED, a_permutation),
    Call("nn.FarthestLast", nn.FarthestLast().__call__, made_of(positions=POSITIONS), a_permutation),
    *(Call(f"guides.{name}", _posterior(make), DATA, sums_to_one) for name, make in TRAINED.items()),
    Call(
        "guides.retarget",
        _retargeted,
        st.fixed_dictionaries(
            {
                "concentration": BANDWIDTH,
                "prior_scale": BANDWIDTH,
                "dim": st.just(2),
                "data": finite(3, 2, extreme=False),
            }
        ),
        like_its_own,
    ),
    Call(
        "guides.light_scorer_for",
        _light,
        made_of(
            width=st.sampled_from([4, 8]),
            num_bandwidths=st.integers(0, 3),
            bandwidth_ratio=st.floats(1, 3),
            num_attention=st.integers(0, 1),
            foresight=st.integers(0, 2),
        ),
        sums_to_one,
    ),
]
