import pyro
import pyro.poutine as poutine
import pytest
import torch

from pyroclust.models import gaussian2d, nig_mixture, niw_mixture, overlap2d
from pyroclust.partitions import canonical, enumerate_partitions, is_canonical

MODELS = [
    gaussian2d(),
    gaussian2d(1),
    overlap2d(),
    nig_mixture(1),
    nig_mixture(2),
    niw_mixture(2),
    niw_mixture(3),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m.name}_{m.component.dim}")


@every_model
def test_template_simulates_data_sets(model):
    torch.manual_seed(0)
    template = torch.empty(3, 20, model.component.dim)
    trace = poutine.trace(poutine.uncondition(model)).get_trace(template)
    assert trace.nodes["data"]["value"].shape == template.shape
    assert trace.nodes["data"]["value"].isfinite().all()
    assert is_canonical(trace.nodes["assignments"]["value"]).all()
    assert trace.nodes["assignments"]["value"].shape == (3, 20)


@pytest.mark.parametrize("model", [gaussian2d(), overlap2d(), gaussian2d(1)])
def test_trace_log_prob_is_the_log_joint(model):
    torch.manual_seed(1)
    data = torch.randn(4, 8, model.component.dim)
    labels = poutine.trace(model).get_trace(data).nodes["assignments"]["value"]
    trace = poutine.trace(pyro.condition(model, data={"assignments": labels})).get_trace(data)
    assert trace.log_prob_sum().item() == pytest.approx(model.log_joint(data, labels).sum().item(), rel=1e-6)


def test_random_concentration_is_integrated_out_of_the_log_joint():
    """Averaging the traced density over the prior of the concentration gives the log joint."""
    torch.manual_seed(2)
    model, data, labels = nig_mixture(1), torch.randn(6, 1), torch.tensor([0, 0, 1, 0, 2, 2])
    concentration = torch.distributions.Gamma(model.prior.shape, model.prior.rate).sample((20_000,))
    law = model.prior.partition(6).expand((20_000,))
    law.concentration = concentration
    prior = law.log_prob(labels).exp()
    likelihood = model.log_joint(data, labels) - model.prior.log_prob(labels)
    difference = (likelihood.exp() * prior).mean() - model.log_joint(data, labels).exp()
    assert difference.abs() < 4 * likelihood.exp() * prior.std() / 20_000**0.5


@every_model
def test_log_joint_broadcasts(model):
    torch.manual_seed(3)
    data = torch.randn(3, 5, model.component.dim)
    labels = enumerate_partitions(5)
    batched = model.log_joint(data.unsqueeze(1), labels)
    assert batched.shape == (3, 52)
    assert batched.dtype == torch.float64
    for i in (0, 51):
        assert torch.allclose(batched[:, i], torch.stack([model.log_joint(one, labels[i]) for one in data]))


@every_model
def test_log_joint_is_exchangeable(model):
    torch.manual_seed(4)
    data, labels, order = (
        torch.randn(7, model.component.dim),
        enumerate_partitions(7)[100:120],
        torch.randperm(7),
    )
    shuffled = model.log_joint(data[order], canonical(labels[:, order]))
    assert torch.allclose(shuffled, model.log_joint(data, labels), atol=1e-9)


@every_model
def test_evidence_obeys_the_product_rule(model):
    """The joint of one point more is the joint without it, the prior's seat and the family's predictive."""
    torch.manual_seed(5)
    dim = model.component.dim
    data = torch.randn(4, dim, dtype=torch.float64)
    partitions = enumerate_partitions(4)
    for labels in partitions[[0, 7, 14]]:
        others = data[:3][labels[:3] == labels[3]]
        counts = torch.tensor(float(len(others)), dtype=torch.float64)
        parameters = model.component.predictive_parameters(counts, model.component.moments(others).sum(0))
        prior = model.prior.log_prob(labels) - model.prior.log_prob(labels[:3])
        step = model.component.log_predictive(data[3], parameters) + prior
        difference = model.log_joint(data, labels) - model.log_joint(data[:3], labels[:3])
        assert difference.item() == pytest.approx(step.item(), abs=1e-9)


@pytest.mark.parametrize(
    ("data", "labels", "message"),
    [
        (
            torch.zeros(4, 3),
            torch.zeros(4, dtype=torch.int64),
            r"data has shape \(4, 3\), expected \(..., N, 2\)",
        ),
        (torch.zeros(2), torch.zeros(1, dtype=torch.int64), "data has shape"),
        (
            torch.zeros(5, 2),
            torch.zeros(4, dtype=torch.int64),
            r"assignments has shape \(4,\), expected \(..., 5\)",
        ),
    ],
)
def test_shapes_are_checked(data, labels, message):
    with pytest.raises(ValueError, match=message):
        gaussian2d().log_joint(data, labels)
