"""Components written by users, and the two that come with the library."""

import pyro
import pyro.distributions as dist
import pyro.poutine as poutine
import pytest
import torch
from scipy import stats

from pyroclust.distributions import (
    ClusteredData,
    PyroComponent,
    student_t,
    von_mises,
)
from pyroclust.distributions.families.product import SideBySide


def laplace_parameters():
    return {"loc": pyro.sample("loc", dist.Normal(0.0, 5.0))}


def laplace_likelihood(parameters):
    return dist.Laplace(parameters["loc"].unsqueeze(-1), 1.0).to_event(1)


def test_the_density_of_a_partition_is_refused_with_advice():
    law = ClusteredData(student_t(2), torch.tensor([0, 1]))
    with pytest.raises(
        ValueError, match=r"component is a PyroComponent, expected a conjugate family.*Auxiliary"
    ):
        law.log_prob(torch.zeros(2, 2))


def test_programs_see_no_outside_handlers():
    component = PyroComponent(laplace_parameters, laplace_likelihood)
    assert (component.dim, component.typical_scale, component.scale_is_known) == (1, 1.0, False)

    def program():
        with pyro.plate("sets", 3), poutine.mask(mask=False):
            loc = component.sample_prior((4,))["loc"]
            return loc, component.log_prior({"loc": loc})

    conditioned = pyro.condition(program, data={"loc": torch.zeros(4)})
    trace = poutine.trace(conditioned).get_trace()
    loc, log_prior = trace.nodes["_RETURN"]["value"]
    assert "loc" not in trace.nodes
    assert loc.abs().min() > 0
    assert torch.allclose(log_prior, dist.Normal(0.0, 5.0).log_prob(loc))


def test_transformed_parameters_may_ride_along():
    def parameters():
        scale = pyro.sample("scale", dist.LogNormal(0.0, 1.0))
        pyro.factor("tilt", -scale)
        return {"scale": scale, "precision": pyro.deterministic("precision", scale**-2)}

    def likelihood(parameters):
        return dist.Normal(0.0, parameters["precision"].rsqrt().unsqueeze(-1)).to_event(1)

    component = PyroComponent(parameters, likelihood)
    drawn = component.sample_prior((5,))
    assert torch.allclose(drawn["precision"], drawn["scale"] ** -2)
    expected = dist.LogNormal(0.0, 1.0).log_prob(drawn["scale"]) - drawn["scale"]
    assert torch.allclose(component.log_prior(drawn), expected)


def plated():
    with pyro.plate("columns", 2):
        return {"loc": pyro.sample("loc", dist.Normal(0.0, 1.0))}


def constant():
    return {"loc": torch.zeros(2)}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: PyroComponent(plated, laplace_likelihood),
            "the parameter program has a plate 'columns', expected none",
        ),
        (lambda: PyroComponent(constant, laplace_likelihood), r"'loc' of shape \(2,\) for 2 x 3 clusters"),
        (
            lambda: PyroComponent(laplace_parameters, laplace_likelihood, dim=2),
            r"event shape \(1,\) for 2 x 3 clusters, expected \(2, 3\) and \(2,\)",
        ),
        (
            lambda: PyroComponent(laplace_parameters, laplace_likelihood, typical_scale=0.0),
            "typical_scale is 0",
        ),
        (lambda: PyroComponent(laplace_parameters, laplace_likelihood, dim=0), "dim is 0"),
        (lambda: student_t(dof=0.0), "dof is 0.0, expected a positive number"),
        (lambda: von_mises(rate=-1.0), "rate is -1.0, expected a positive number"),
        (lambda: student_t().log_prior({"loc": torch.zeros(3, 1)}), "parameters has no 'precision'"),
        (lambda: student_t().given({"dof": 3.0}), "values has the name 'dof', expected some of none"),
    ],
)
def test_errors(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_checking_shapes_draws_no_random_numbers():
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    PyroComponent(laplace_parameters, laplace_likelihood)
    assert torch.equal(torch.rand(3), expected)


def test_student_t_points_given_parameters():
    torch.manual_seed(2)
    component = student_t(2, dof=3.0)
    parameters = {"loc": torch.tensor([[1.0, -2.0]]), "precision": torch.tensor([[4.0, 0.25]])}
    drawn = component.likelihood(parameters).sample((4000,)).squeeze(1).numpy()
    for column, (loc, scale) in enumerate([(1.0, 0.5), (-2.0, 2.0)]):
        assert stats.kstest(drawn[:, column], stats.t(3, loc=loc, scale=scale).cdf).pvalue > 1e-3
    density = stats.t(3, loc=1.0, scale=0.5).logpdf(0.3) + stats.t(3, loc=-2.0, scale=2.0).logpdf(0.1)
    found = component.likelihood(parameters).log_prob(torch.tensor([[0.3, 0.1]]))
    assert found.item() == pytest.approx(density, abs=1e-5)


def test_von_mises_points_given_parameters():
    torch.manual_seed(3)
    component = von_mises()
    parameters = {"loc": torch.tensor([[3.0]]), "precision": torch.tensor([[2.0]])}
    drawn = component.likelihood(parameters).sample((4000,)).flatten().numpy()
    component.check(torch.from_numpy(drawn).unsqueeze(-1))
    assert (
        stats.kstest((drawn - 3.0 + 3.1415926) % 6.2831853 - 3.1415926, stats.vonmises(2.0).cdf).pvalue > 1e-3
    )
    found = component.likelihood(parameters).log_prob(torch.tensor([[-3.0]]))
    assert found.item() == pytest.approx(stats.vonmises(2.0, loc=3.0).logpdf(-3.0), abs=1e-5)


def test_angles_may_be_pi_in_either_precision():
    edge = torch.tensor([[torch.pi], [-torch.pi]])
    von_mises().check(edge)
    von_mises().check(edge.double())


def test_typical_scales_are_typical():
    """Within a factor of two of the median standard deviation within clusters."""
    torch.manual_seed(4)
    for component in (student_t(dof=30.0), von_mises()):
        precision = component.sample_prior((4000,))["precision"]
        assert 0.5 < component.typical_scale / precision.rsqrt().median() < 2


def test_side_by_side_is_independent_parts():
    torch.manual_seed(5)
    law = SideBySide(
        [dist.Normal(torch.zeros(3, 2), 1.0).to_event(1), dist.Bernoulli(torch.tensor([0.3])).to_event(1)]
    )
    assert (law.batch_shape, law.event_shape) == ((3,), (3,))
    drawn = law.expand((4, 3)).sample((5,))
    assert drawn.shape == (5, 4, 3, 3)
    assert bool(law.support.check(drawn).all())
    expected = dist.Normal(0.0, 1.0).log_prob(drawn[..., :2]).sum(-1) + dist.Bernoulli(0.3).log_prob(
        drawn[..., 2]
    )
    assert torch.allclose(law.log_prob(drawn), expected)
    # A part without the batch dimension is drawn afresh for every element.
    assert (law.sample((200,))[..., 2].std(-1) > 0).any()
