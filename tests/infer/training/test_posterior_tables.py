"""Tables with partitions of their own model's posterior: exact on few points, and a training on them."""

from pathlib import Path

import pyro
import pytest
import torch
from pyro import poutine
from pyro.distributions import Delta
from training_cases import same

from pyroclust import calibrate
from pyroclust.distributions import ChineseRestaurantPrior, NormalInverseGamma, PartlyObserved
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter
from pyroclust.guides.neural_clustering_process import column_scorer_for
from pyroclust.infer import FitSettings, PosteriorTables, Validation, exact_posterior, fit
from pyroclust.models import AnyTable, Mixture, NoisyTables, RowsOfTables, table_mixture
from pyroclust.models.training_data.simulated_tables import LosingCells
from pyroclust.nn import FarthestLast

NUMBERS = PartlyObserved(NormalInverseGamma(1, 0.08, shape=2.0, rate=0.2), 2)
TABLE = torch.tensor([[0.0, 0.0], [0.4, torch.nan], [1.8, 0.3], [1.9, -1.0], [0.2, 0.4]])


class OneTable:
    """Always the same data set and model."""

    name, event_shape, model = "one_table", (2,), Mixture(ChineseRestaurantPrior(0.8), NUMBERS)

    def draw_model(self) -> "OneTable":
        return self

    def __call__(self, data: torch.Tensor) -> torch.Tensor:
        with pyro.plate("datasets", len(data)):
            return pyro.sample("data", Delta(TABLE.expand(len(data), 5, 2), event_dim=2), obs=data)


def simulated(law: object, *shape: int) -> dict[str, torch.Tensor]:
    trace = poutine.trace(poutine.uncondition(law)).get_trace(torch.empty(shape))
    return {name: trace.nodes[name]["value"] for name in ("assignments", "data")}


def test_partitions_follow_the_exact_posterior_of_the_tables_own_model() -> None:
    torch.manual_seed(0)
    law = PosteriorTables(OneTable(), {OneTable(): 1.0}, share=0.0, partitions=20, sweeps=1, burn_in=20)
    one = law.draw_model()
    labels = torch.cat([simulated(one, 1000, 5, 2)["assignments"] for _ in range(8)])
    assert len(labels) == 8000
    partitions, log_prob = exact_posterior(OneTable.model, TABLE.double())
    found = (labels.unsqueeze(1) == partitions).all(-1).double().mean(0)
    assert 0.5 * (found - log_prob.exp()).abs().sum() < 0.04


def test_simulations_and_other_laws_have_their_shares() -> None:
    torch.manual_seed(1)
    law = PosteriorTables(AnyTable(most_columns=3), {OneTable(): 3.0}, share=1.0)
    fixed = sum(law.draw_model().name == "one_table" for _ in range(400))
    assert 265 <= fixed <= 335  # 300 expected, four standard deviations
    with pytest.raises(ValueError, match="only shares of 0, expected one above 0"):
        PosteriorTables(AnyTable(), {OneTable(): 0.0}, share=0.0)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_noise_keeps_the_values_of_a_column_and_nothing_else(share: float) -> None:
    torch.manual_seed(2)
    plain = AnyTable(least_columns=4, most_columns=4, most_lost=0.0)
    law = NoisyTables(plain, most_noise=share)
    one = law.draw_model()
    with torch.random.fork_rng():
        clean = simulated(one.law, 3, 20, 4)["data"]
    noisy = poutine.trace(poutine.uncondition(one)).get_trace(torch.empty(3, 20, 4)).nodes["data"]["value"]
    assert noisy.shape == clean.shape
    if not share:
        assert torch.equal(noisy, clean)
    torch.testing.assert_close(noisy.sort(1).values, clean.sort(1).values)


def test_rows_of_a_table_have_the_model_of_their_columns() -> None:
    torch.manual_seed(3)
    rows = torch.cat([torch.randn(30, 2), torch.randint(4, (30, 1)), torch.randint(3, (30, 1))], -1)
    law = RowsOfTables([(rows, {"numbers": 2, "count_means": [1.5], "levels": [3]})])
    seen = set()
    for _ in range(40):
        one = law.draw_model()
        data = poutine.trace(poutine.uncondition(one)).get_trace(torch.empty(2, 50, *one.event_shape))
        points = data.nodes["data"]["value"]
        assert points.shape == (2, 30, one.model.component.dim)
        one.model.component.check(points)
        numbers = points[..., : one.numbers]
        assert numbers.numel() == 0 or numbers.mean(1).abs().max() < 1e-5
        seen.add(repr(one.model.component))
    assert len(seen) > 4
    with pytest.raises(ValueError, match="expected 3 columns, as its kinds say"):
        RowsOfTables([(rows, {"numbers": 3})])
    with pytest.raises(ValueError, match="none of two columns and 10 rows"):
        RowsOfTables([(rows[:, :1], {"numbers": 1})])


class Numbers:
    """One to three columns of numbers: one compiled family."""

    def draw_model(self) -> LosingCells:
        return LosingCells(table_mixture(numbers=1 + int(torch.randint(3, ())), missing=True), 0.1)


def new_guide() -> NeuralClusteringProcess:
    torch.manual_seed(0)
    model = table_mixture(numbers=2, missing=True)
    scorer = column_scorer_for(model, width=8, column_width=4, foresight=0)
    return NeuralClusteringProcess(model, scorer=scorer, order=FarthestLast())


def test_a_training_on_many_models_stops_and_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    tables = Numbers()
    settings = FitSettings(steps=6, max_points=10, points_per_step=30, warmup_steps=1)
    check = Validation(every=3, num_datasets=2, exact_points=3, sampled_points=5, num_draws=4)
    found = []
    for folder, stops in ((None, (6,)), (tmp_path, (2, 6))):
        for stop in stops:
            guide = new_guide()
            law = PosteriorTables(tables, {NoisyTables(tables): 1.0}, partitions=2, burn_in=5)
            result = fit(
                guide.model,
                guide,
                settings=settings,
                data=law,
                folder=folder,
                validation=check,
                max_steps=stop,
                resume=folder is not None and stop == 6,
                progress=False,
            )
        assert result.steps == 6
        found.append({name: value.clone() for name, value in guide.state_dict().items()})
    assert same(*found)
    assert not same(found[0], new_guide().state_dict())


def test_a_sampler_is_calibrated_over_the_models_of_a_law() -> None:
    class Filters:
        """The exact filter of every model, which one point has no future to be wrong about."""

        def of(self, model: object) -> PredictiveFilter:
            return PredictiveFilter(model)

    law = AnyTable(most_columns=3)
    found = calibrate(Filters(), law, num_points=2, num_datasets=100, num_draws=19)
    assert found.passed
    assert found.num_datasets == 100
