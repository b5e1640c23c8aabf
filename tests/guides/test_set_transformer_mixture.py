"""The set transformer of mixtures: stock SVI, fit and recipes, numbers of components, and its posterior."""

import pytest
import torch
from pyro.infer import Trace_ELBO

from pyroclust import load_guide, save_guide
from pyroclust.distributions.component_labels import ComponentLabels
from pyroclust.guides import SetTransformerMixture, mixture_network_for
from pyroclust.infer import FitSettings, fit, simulate
from pyroclust.models import GaussianClusters, MarginalMixture, set_transformer_clusters
from pyroclust.nn import FullSetEncoder, MeanDecoder, PointEncoder, RecurrentDecoder, SetEncoder
from pyroclust.partitions import enumerate_partitions

MODEL = set_transformer_clusters(3)


def small(**told: object) -> SetTransformerMixture:
    torch.manual_seed(0)
    network = mixture_network_for(MODEL, num_components=3, width=16, num_heads=2, encoder=SetEncoder(16))
    return SetTransformerMixture(MODEL, network=network, **told)


def sets(number: int = 4, points: int = 20) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    return simulate(MODEL, torch.empty(number, points, 2))


def test_the_evidence_lower_bound_is_the_loss_of_fit() -> None:
    guide, (data, labels) = small(), sets()
    bound = Trace_ELBO().differentiable_loss(MarginalMixture(3), guide, data)
    own = guide.losses(data, labels).sum()
    torch.testing.assert_close(bound, own)
    gradients = [torch.autograd.grad(one, list(guide.parameters())) for one in (bound, own)]
    for first, second in zip(*gradients, strict=True):
        torch.testing.assert_close(first, second)


@pytest.mark.parametrize(
    "network",
    [
        mixture_network_for(MODEL, num_components=3, width=16, encoder=FullSetEncoder(16)),
        mixture_network_for(MODEL, width=16, encoder=PointEncoder(16), decoder=MeanDecoder(16, 3)),
        mixture_network_for(MODEL, num_components=3, width=16),
        mixture_network_for(MODEL, width=16, encoder=SetEncoder(16), decoder=RecurrentDecoder(16, 3)),
    ],
    ids=["every pair", "deep set", "induced", "recurrent"],
)
def test_every_encoder_is_trained_by_fit_and_does_not_see_the_order(network, tmp_path) -> None:
    guide = SetTransformerMixture(MODEL, network=network)
    data, labels = sets(2)
    before = guide.losses(data, labels).mean().item()
    fit(MODEL, guide, settings=FitSettings(steps=30, max_points=30, points_per_step=200, warmup_steps=5))
    assert guide.losses(data, labels).mean().item() < before
    turned = torch.randperm(20)
    for one, other in zip(guide.parameters_of(data), guide.parameters_of(data[:, turned]), strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)
    save_guide(guide, tmp_path / "one")
    again = load_guide(tmp_path / "one")
    for one, other in zip(guide.parameters_of(data), again.parameters_of(data), strict=True):
        torch.testing.assert_close(one, other)


def test_its_posterior_is_that_of_the_mixture_it_says() -> None:
    guide, (data, _) = small(), sets(2, 6)
    weights, means, scales = guide.parameters_of(data)
    assert weights.shape == (2, 3)
    assert means.shape == scales.shape == (2, 3, 2)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2))
    points = torch.distributions.Normal(means.unsqueeze(1), scales.unsqueeze(1))
    joint = points.log_prob(data.unsqueeze(2)).sum(-1) + weights.log().unsqueeze(1)
    expected = ComponentLabels(joint.log_softmax(-1))
    partitions = enumerate_partitions(6).unsqueeze(1)
    posterior = guide.posterior(data)
    torch.testing.assert_close(
        posterior.log_prob(partitions), expected.log_prob(partitions), rtol=1e-4, atol=1e-3
    )
    assert posterior.is_exact
    torch.testing.assert_close(
        posterior.log_prob(partitions).logsumexp(0), torch.zeros(2).double(), atol=1e-6, rtol=0.0
    )


def test_data_in_double_precision_are_taken() -> None:
    data, labels = sets()
    for guide in (small(), small(em_step=True), small(varied=True)):
        for one, other in zip(guide.parameters_of(data), guide.parameters_of(data.double()), strict=True):
            torch.testing.assert_close(one, other.float(), atol=1e-4, rtol=1e-4)
        assert guide.losses(data.double(), labels).isfinite().all()


def test_a_step_of_expectation_maximisation_raises_the_likelihood() -> None:
    data, labels = sets()
    assert (small(em_step=True).losses(data, labels) <= small().losses(data, labels)).all()


def test_a_number_of_components_that_varies_is_told_or_found() -> None:
    guide, (data, labels) = small(varied=True), sets(3)
    told = guide.parameters_of(data, num_components=torch.tensor([1, 2, 3]))[0]
    assert (told > 0).sum(-1).tolist() == [1, 2, 3]
    assert guide.losses(data, labels).shape == (3,)
    chosen = guide.parameters_of(data)
    score = []
    for number in (1, 2, 3):
        mixture = guide.mixture_of(data, num_components=number)
        score.append(mixture.log_prob(data) - 0.5 * (5 * number - 1) * torch.tensor(20.0).log())
    best = torch.stack(score).argmax(0)
    for place in range(3):
        one = guide.parameters_of(data[place], num_components=int(best[place]) + 1)
        torch.testing.assert_close(chosen[1][place], one[1])
        torch.testing.assert_close(chosen[0][place], one[0])


def test_bad_arguments_are_named() -> None:
    guide, (data, _) = small(), sets()
    with pytest.raises(ValueError, match="num_components is given, expected none"):
        guide.parameters_of(data, num_components=2)
    for wrong in (0, 4, 1.5):
        with pytest.raises(ValueError, match="expected whole numbers from 1 to 3"):
            small(varied=True).parameters_of(data, num_components=wrong)
    with pytest.raises(ValueError, match="num_components has shape"):
        small(varied=True).parameters_of(data, num_components=torch.tensor([1, 2]))
    with pytest.raises(ValueError, match="num_components is 0, expected at least 1"):
        mixture_network_for(MODEL, num_components=0)
    with pytest.raises(ValueError, match="num_components is 4, expected 3, that of the decoder"):
        mixture_network_for(MODEL, width=16, num_components=4, decoder=MeanDecoder(16, 3))
    with pytest.raises(ValueError, match="network takes points of 3 numbers"):
        SetTransformerMixture(
            MODEL,
            network=mixture_network_for(GaussianClusters(2, dim=3, half_width=1.0)),
        )
    with pytest.raises(ValueError, match="orders 2, expected 1"):
        fit(MODEL, guide, settings=FitSettings(steps=2, orders=2))
