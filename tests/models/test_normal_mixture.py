"""The default model of numbers: its chains against enumeration, and what its names mean."""

import pytest
import torch

from pyroclust.infer import exact_posterior
from pyroclust.infer.mcmc.named_kernels import named_kernel
from pyroclust.models import (
    Mixture,
    PosteriorPredictive,
    nig_mixture,
    niw_mixture,
    normal_mixture,
    standardised_mixture,
    table_mixture,
)


def points(dim):
    near, far = torch.randn(2, 3, dim, dtype=torch.float64).mul(0.2)
    return torch.cat([near - 0.7, far + 0.7])


def frequencies(draws, every):
    places = {tuple(one): place for place, one in enumerate(every.tolist())}
    found = torch.zeros(len(every), dtype=torch.float64)
    for one in draws.flat.tolist():
        found[places[tuple(one)]] += 1
    return found / found.sum()


def test_names_make_it_and_older_models_keep_theirs():
    for dim in (1, 2, 5):
        for made in (
            standardised_mixture(dim, family="normal", prior="mfm"),
            table_mixture(numbers=dim, family="normal", prior="mfm"),
        ):
            assert made == normal_mixture(dim)
            assert made.name == "normal_mixture"
        assert table_mixture(numbers=dim) == (nig_mixture(1) if dim == 1 else niw_mixture(dim))
    mixed = table_mixture(numbers=2, yes_no=1, missing=True, family="normal", prior="mfm")
    assert mixed.component.integrated_names == {"0.rate"}
    assert mixed.has_likelihood


def test_log_joint_is_an_average_over_the_scale(seeded):
    model, data = normal_mixture(2), points(2)
    labels = torch.tensor([[0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 4, 5]])
    law = model.hyperpriors["scale"]
    scales = law.icdf((torch.arange(4000, dtype=torch.float64) + 0.5) / 4000)
    each = model.given({"scale": scales.unsqueeze(-1)}).log_joint(data, labels)
    expected = each.logsumexp(0) - torch.tensor(4000.0).log()
    torch.testing.assert_close(model.log_joint(data, labels), expected, atol=2e-3, rtol=0)


@pytest.mark.parametrize("kernel", ["merge-split+gibbs", "gibbs+merge-split"])
@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("dim", [1, 2])
def test_chains_have_the_enumerated_posterior(kernel, constrained, dim, seeded):
    model: Mixture = normal_mixture(dim)
    if constrained:
        model = model.constrained(must_link=[(0, 3)], cannot_link=[(1, 2)])
    data = points(dim)
    every, log_probs = exact_posterior(model, data)
    draws = named_kernel(kernel, model).run(data, num_draws=8000, num_chains=4, warmup=200, seed=1)
    distance = 0.5 * (frequencies(draws, every) - log_probs.exp()).abs().sum()
    assert float(distance) < 0.03


def test_tables_with_gaps_have_the_enumerated_posterior(seeded):
    model = table_mixture(numbers=2, yes_no=1, missing=True, family="normal", prior="mfm")
    data = torch.cat([points(2), torch.tensor([[0.0], [0], [0], [1], [1], [1]]).double()], -1)
    data[2, 1] = data[4, 2] = torch.nan
    every, log_probs = exact_posterior(model, data)
    draws = named_kernel("merge-split+gibbs", model).run(
        data, num_draws=8000, num_chains=4, warmup=200, seed=1
    )
    assert float(0.5 * (frequencies(draws, every) - log_probs.exp()).abs().sum()) < 0.03


def test_new_points_need_no_values_of_the_scale(seeded):
    model, data = normal_mixture(2), points(2)
    labels = torch.tensor([[0, 0, 0, 1, 1, 1]]).expand(4000, -1)
    new = torch.tensor([[-0.6, -0.8], [0.0, 0.0]], dtype=torch.float64)
    found = PosteriorPredictive(model, data, labels).log_prob(new)
    # The ratio of two evidences, by enumeration of where the new point goes.
    before = model.log_joint(data, labels[0])
    for row, density in zip(new, found, strict=True):
        more = torch.cat([data, row[None]])
        after = torch.stack(
            [model.log_joint(more, torch.cat([labels[0], torch.tensor([k])])) for k in (0, 1, 2)]
        )
        assert float(density) == pytest.approx(float(after.logsumexp(0) - before), abs=0.05)
