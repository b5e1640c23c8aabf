"""Contracts of guides, scorers and models: every class that there is, collected by itself."""

import importlib
import inspect
import pkgutil

import pyro
import pytest
import torch
from pyro.distributions import Gamma
from sklearn.datasets import load_iris

import pyroclust.guides
import pyroclust.models
import pyroclust.nn
from pyroclust.core.registry import arguments_of
from pyroclust.distributions import (
    BlockRates,
    ChineseRestaurantPrior,
    ConjugateComponent,
    NormalInverseWishart,
    NormalKnownVariance,
    student_t,
)
from pyroclust.distributions.clusterwise_steps import ClusterwiseScorer
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.protocols import Guide, JointModel, Model, data_shape
from pyroclust.distributions.sequential.filter import FilterScorer
from pyroclust.distributions.sequential.partition import SequentialPartition
from pyroclust.distributions.sequential.scorer import ConstrainedScorer, ForcedSteps, Scorer
from pyroclust.guides import (
    AmortizedGuide,
    AnchoredGuide,
    BlockFilter,
    DeepGuide,
    DeepMixtureGuide,
    EmbeddedMixtureGuide,
    PredictiveFilter,
    ScaleAveragedProcess,
    SemiSupervisedGuide,
    SequentialGuide,
    SetTransformerMixture,
    SpanningForestGuide,
)
from pyroclust.infer import simulate
from pyroclust.models import (
    DeepMixture,
    DeformedGlyphs,
    EmbeddedMixture,
    GaussianClusters,
    LabelledImages,
    LabelledTables,
    Mixture,
    PartiallyLabelled,
    Program,
    SemiSupervisedClustering,
    SpikeWaveforms,
    StochasticBlockModel,
    gaussian2d,
    normal_mixture,
    sensitivity2d,
)
from pyroclust.models.training_data.labelled_tables import AbsentTables
from pyroclust.nn import (
    ColumnScorer,
    FixedShape,
    GraphScorer,
    LightScorer,
    NeighbourScorer,
    NetworkScorer,
    RandomOrder,
    SummedScorer,
)
from pyroclust.nn.compiled.filter import CompiledFilterScorer
from pyroclust.nn.features import ConditionInput, ConditionInputs
from pyroclust.nn.scorers.network_scorer import ForeseeingScorer
from pyroclust.partitions import canonical, enumerate_partitions
from pyroclust.partitions.constraints import Constraints


def everything_below(base: type, *packages: object) -> list[type]:
    """Import all modules of packages, and list the concrete classes of ours that derive from a base."""
    for package in packages:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    found, left = set(), [base]
    while left:
        children = left.pop().__subclasses__()
        left += children
        found |= {one for one in children if one.__module__.startswith("pyroclust.")}
    shared = {SequentialGuide, DeepGuide, NetworkScorer, ForeseeingScorer}
    return sorted(found - shared, key=lambda one: one.__name__)


GUIDES = everything_below(AmortizedGuide, pyroclust.guides)
SCORERS = everything_below(Scorer, pyroclust.nn)

# Guides whose draws have probabilities without a formula.
WITHOUT_LOG_PROB = {SpanningForestGuide}


# Models of guides that take no other, and what those sample beside a partition, by name and shape.
OWN_MODELS = {
    BlockFilter: StochasticBlockModel,
    DeepMixtureGuide: lambda: DeepMixture((2,), num_clusters=3),
    ScaleAveragedProcess: lambda: normal_mixture(2),
    EmbeddedMixtureGuide: lambda: EmbeddedMixture((2,), num_clusters=3, embedding_dim=4),
    SemiSupervisedGuide: lambda: SemiSupervisedClustering((2,), num_classes=3),
}
SITES = {
    SetTransformerMixture: ("means", (2, 3, 4, 2)),
    DeepMixtureGuide: ("code", (2, 3, 5, 3)),
    EmbeddedMixtureGuide: ("embedding", (2, 3, 5, 4)),
    SemiSupervisedGuide: ("code", (2, 3, 5, 3)),
}


def model_of(kind):
    """Return a model that a guide of this class may have."""
    torch.manual_seed(0)
    return OWN_MODELS.get(kind, gaussian2d)()


def made(kind, model):
    """Return a guide of this class."""
    return AnchoredGuide(PredictiveFilter(model), num_anchors=3) if kind is AnchoredGuide else kind(model)


def test_all_are_collected():
    assert {one.__name__ for one in GUIDES} >= {"NeuralClusteringProcess", "PredictiveFilter"}
    assert {one.__name__ for one in SCORERS} >= {"LightScorer", "SummedScorer", "FilterScorer"}
    assert everything_below(ClusterwiseScorer, pyroclust.nn)


@pytest.mark.parametrize("kind", GUIDES)
def test_a_guide_has_one_form(kind):
    torch.manual_seed(0)
    model = model_of(kind)
    guide = made(kind, model).eval()
    assert isinstance(guide, Guide)
    assert guide.conditions == ()
    assert guide.mixes_orders == (kind is ScaleAveragedProcess)
    assert kind.forward.__module__.startswith("pyroclust.guides")
    data = simulate(model, torch.empty(2, 3, *data_shape(model, 5)))[0]
    posterior = guide.posterior(data)
    assert isinstance(posterior, PartitionDistribution)
    assert isinstance(posterior.is_exact, bool)
    assert posterior.batch_shape == (2, 3)
    plain = posterior.sample((4,))
    assert plain.shape == (4, 2, 3, 5)
    assert torch.equal(plain, canonical(plain))
    wide = posterior.expand((4, 2, 3))
    assert wide.batch_shape == (4, 2, 3)
    if kind in WITHOUT_LOG_PROB:
        assert not posterior.is_exact
        with pytest.raises(NotImplementedError, match="has no log_prob"):
            posterior.log_prob(plain)
    else:
        draws, log_prob = posterior.sample_and_log_prob((4,))
        assert draws.shape == (4, 2, 3, 5)
        assert log_prob.shape == wide.log_prob(draws).shape == (4, 2, 3)
        assert torch.equal(draws, canonical(draws))
        value, error = posterior.log_prob_and_error(draws)
        assert value.shape == error.shape == (4, 2, 3)
    assert posterior.is_exact or not isinstance(guide, SequentialGuide)
    if posterior.is_exact:
        assert not error.any()
        assert torch.allclose(value, log_prob, atol=1e-4)
        assert torch.allclose(posterior.merged_log_prob(draws), value, atol=1e-4)
        # Every class must sum to one, whichever order it visits the points in.
        every = enumerate_partitions(5)
        one = guide.posterior(data[0, 0])
        assert one.log_prob(every).logsumexp(0).exp().item() == pytest.approx(1.0, abs=1e-4)
        assert torch.allclose(one.merged_log_prob(every), one.log_prob(every), atol=1e-4)
    assert repr(posterior) == f"{type(posterior).__name__}(2 x 3 data sets of 5 points)"
    assert len(repr(guide)) < 100
    assert repr(guide).startswith(f"{kind.__name__}(model={model.name}")
    assert ("no weights" in repr(guide)) == (not list(guide.parameters()))
    labels = (torch.zeros(2, 3, 5).long(),) if kind is SemiSupervisedGuide else ()
    trace = pyro.poutine.trace(guide).get_trace(data, *labels)
    # A guide of parameters is a point of them; that of a deep model has latent numbers of every point.
    name, shape = SITES.get(kind, ("assignments", (2, 3, 5)))
    assert trace.nodes[name]["value"].shape == shape
    plates = [plate.size for plate in trace.nodes[name]["cond_indep_stack"]]
    assert plates == ([3, 2, 5] if issubclass(kind, DeepGuide) else [3, 2])
    with pytest.raises(ValueError, match="guide has no conditions"):
        guide.condition(concentration=1.0)
    wrong = "N, N" if kind is BlockFilter else "N, 2"
    with pytest.raises(ValueError, match=rf"expected \(..., {wrong}\)"):
        guide.posterior(torch.zeros(5, 3))


@pytest.mark.parametrize("kind", GUIDES)
def test_two_guides_have_two_names(kind):
    first, second = made(kind, model_of(kind)), made(kind, model_of(kind))
    assert first._pyro_name != second._pyro_name


MAKERS = {
    LightScorer: lambda: LightScorer(FixedShape(2, 1.0), width=8),
    ColumnScorer: lambda: ColumnScorer(
        ChineseRestaurantPrior(0.7), NormalKnownVariance(2), width=8, column_width=4, foresight=4
    ),
    SummedScorer: lambda: SummedScorer(2, width=8, sizes=(6, 10)),
    NeighbourScorer: lambda: NeighbourScorer(width=8),
    FilterScorer: lambda: FilterScorer(ChineseRestaurantPrior(0.7), NormalKnownVariance(2)),
    CompiledFilterScorer: lambda: CompiledFilterScorer(ChineseRestaurantPrior(0.7), NormalKnownVariance(2)),
    GraphScorer: lambda: GraphScorer(ChineseRestaurantPrior(0.7), BlockRates((2, 1), (1, 2)), width=8),
    ConstrainedScorer: lambda: ConstrainedScorer(MAKERS[FilterScorer](), Constraints.of(6)),
}


@pytest.mark.parametrize("kind", SCORERS)
def test_a_scorer_has_one_form(kind):
    assert kind in MAKERS, f"say in MAKERS how a {kind.__name__} is made"
    torch.manual_seed(1)
    scorer = MAKERS[kind]()
    if isinstance(scorer, NetworkScorer):
        scorer.eval()
        assert isinstance(arguments_of(scorer), dict)
    of_graphs, has_five = kind is GraphScorer, kind not in (GraphScorer, ConstrainedScorer)
    data = simulate(StochasticBlockModel(), torch.empty(3, 6, 6))[0] if of_graphs else torch.randn(3, 6, 2)
    labels = canonical(torch.randint(3, (5, 6)))
    dataset = torch.tensor([0, 1, 2, 0, 1])
    encoding, steps = scorer.encode(data, {}), ForcedSteps.of(labels)
    assert encoding.moments.shape[:2] == (3, 6)
    # A short cut gives what the five methods give, where there are five.
    for own, plain in zip(
        scorer.forced_logits(encoding, dataset, steps),
        (Scorer if has_five else kind).forced_logits(scorer, encoding, dataset, steps),
        strict=True,
    ):
        assert torch.allclose(own.double(), plain.double(), atol=1e-4)
    # So do encodings that several orders share.
    order = torch.rand(6, 6).argsort(-1)
    copies = torch.arange(3).repeat(2)
    ways = [
        SequentialPartition(scorer, made, order=order, dataset=torch.arange(6))
        for made in (
            scorer.encode_over_orders(data, copies, order),
            Scorer.encode_over_orders(scorer, data, copies, order),
        )
    ]
    values = canonical(torch.randint(3, (4, 6, 6)))
    assert torch.allclose(ways[0].log_prob(values), ways[1].log_prob(values), atol=1e-4)
    draws, log_prob = ways[0].sample_and_log_prob((7,))
    assert torch.allclose(ways[0].log_prob(draws), log_prob, atol=1e-3)
    assert not scorer.is_filter_of(ChineseRestaurantPrior(0.7), NormalKnownVariance(2))


@pytest.mark.parametrize("kind", [one for one in SCORERS if issubclass(one, NetworkScorer)])
def test_a_network_that_takes_no_conditions_refuses_them(kind):
    scorer = MAKERS[kind]()
    scorer.take_conditions(None, num_columns=2)
    inputs = ConditionInputs({"scale": ConditionInput(True, 0.0, 0.5)})
    with pytest.raises(ValueError, match="conditions"):
        scorer.take_conditions(inputs, num_columns=2)


def program(data: torch.Tensor) -> None:
    gaussian2d()(data)


MODELS = {
    **{
        name: one
        for name, one in vars(pyroclust.models).items()
        if inspect.isfunction(one)
        and name
        not in (
            "bent_classes",
            "companion",
            "default_mixture",
            "in_words",
            "standardised_mixture",
            "table_mixture",
            "warped_arcs",
        )
    },
    "random": lambda: Mixture(ChineseRestaurantPrior(Gamma(2.0, 4.0)), NormalKnownVariance(2)),
    "tables": lambda: LabelledTables([load_iris(return_X_y=True)]),
    "absent": lambda: AbsentTables(3, typical_scale=0.5),
    "partly": lambda: PartiallyLabelled(torch.randn(20, 2), [0, -1] * 10),
    "images": lambda: LabelledImages([(torch.randn(20, 4, 4).numpy(), [0, 1] * 10)]),
    "glyphs": lambda: DeformedGlyphs(8),
    "spikes": lambda: SpikeWaveforms(),
    "sites": lambda: GaussianClusters(3, half_width=1.0, dim=3),
    "program": lambda: Program(program, event_shape=(2,)),
}
SIMULATES = [name for name in MODELS if name not in ("absent", "partly")]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_has_one_form(name):
    model = MODELS[name]()
    assert isinstance(model, Model)
    assert model.event_dim == 1 + len(model.event_shape)
    assert model.typical_scale > 0
    assert len(repr(model)) < 250
    assert model == MODELS[name]() or not isinstance(model, Mixture | Program)
    points, labels = torch.zeros(1, *model.event_shape), torch.zeros(1, dtype=torch.int64)
    assert model.has_likelihood == _evaluates(model, points, labels)
    assert model.has_likelihood <= isinstance(model, JointModel)
    assert model.given({}) is not None
    if model.is_conjugate:
        assert isinstance(model.component, ConjugateComponent)
        assert model.partition_prior is model.prior


def _evaluates(model: Model, points: torch.Tensor, labels: torch.Tensor) -> bool:
    if not isinstance(model, JointModel):
        return False
    try:
        return model.log_joint(points, labels).shape == ()
    except ValueError:
        return False


@pytest.mark.parametrize("name", SIMULATES)
def test_a_model_simulates_canonical_labels(name):
    torch.manual_seed(2)
    model = MODELS[name]()
    data, labels = simulate(model, torch.empty(3, 6, *model.event_shape))
    assert data.shape == (3, 6, *model.event_shape)
    assert torch.equal(labels, canonical(labels))


def test_a_swapped_mixture_is_refused():
    with pytest.raises(ValueError, match="expected a partition prior and a component family: swap them"):
        Mixture(NormalKnownVariance(2), ChineseRestaurantPrior(1.0))
    with pytest.raises(ValueError, match="prior is a float and component a NormalKnownVariance"):
        Mixture(1.0, NormalKnownVariance(2))


def test_models_are_the_same_if_their_parts_are():
    random = ChineseRestaurantPrior(Gamma(2.0, 4.0))
    assert repr(random) == "ChineseRestaurantPrior(concentration=Gamma(concentration=2, rate=4))"
    assert gaussian2d() == Mixture(gaussian2d().prior, gaussian2d().component, name="another name")
    assert Mixture(random, NormalKnownVariance(2)) != gaussian2d() != gaussian2d(3)
    assert random == ChineseRestaurantPrior(Gamma(2.0, 4.0)) != ChineseRestaurantPrior(Gamma(2.0, 4.5))
    assert hash(random) == hash(ChineseRestaurantPrior(Gamma(2.0, 4.0)))
    assert hash(gaussian2d()) == hash(gaussian2d())


def test_what_networks_are_told_of_clusters_is_what_the_family_says():
    known, other = NormalKnownVariance(2, scale=0.4), NormalInverseWishart(2, 0.1, dof=4.0, scale=0.3)
    models = [Mixture(ChineseRestaurantPrior(0.7), family) for family in (known, other)]
    assert [one.typical_scale for one in models] == [0.4, other.typical_scale]
    assert [one.scale_is_known for one in models] == [True, False]


class PriorGuide(AmortizedGuide):
    """A guide that a reader might write first."""

    def posterior(self, data):
        data = self.points(data)
        return self.model.prior.partition(data.shape[-2]).expand(data.shape[:-2])


class Together(PartitionDistribution):
    """All points in one cluster, drawn without gradients."""

    def _sample(self, sample_shape):
        assert not torch.is_grad_enabled()
        return torch.zeros(*sample_shape, *self.batch_shape, self.num_points, dtype=torch.int64)


def test_draws_are_made_without_gradients():
    assert Together(4, batch_shape=torch.Size((2,))).sample((3,)).shape == (3, 2, 4)


def test_a_guide_says_what_it_must_be_told():
    names = ("concentration", "prior_scale")
    guide = PredictiveFilter(sensitivity2d(), conditions=names)
    assert guide.conditions == names
    assert (
        repr(guide) == "PredictiveFilter(model=sensitivity2d, no weights, concentration=..., prior_scale=...)"
    )
    with pytest.raises(ValueError, match="guide has the conditions concentration, prior_scale, expected num"):
        guide.posterior(torch.zeros(4, 2))
    told = guide.condition(concentration=1.0, prior_scale=2.0)
    assert isinstance(told, Guide)
    assert (told.conditions, guide.conditions, told.model.hyperpriors) == ((), names, {})
    assert told.scorer is guide.scorer
    assert tuple(guide.model.hyperpriors) == names


def test_a_guide_is_one_method():
    guide = PriorGuide(gaussian2d())
    assert isinstance(guide, Guide)
    assert repr(guide) == "PriorGuide(model=gaussian2d, no weights)"
    assert guide(torch.zeros(4, 5, 2)).shape == (4, 5)
    posterior, every = guide.posterior(torch.zeros(5, 2)), enumerate_partitions(5)
    assert posterior.is_exact
    assert torch.equal(posterior.merged_log_prob(every), posterior.log_prob(every))
    with pytest.raises(TypeError, match="NoPosterior must define posterior"):
        type("NoPosterior", (AmortizedGuide,), {})(gaussian2d()).posterior(torch.zeros(3, 2))


def test_filters_know_themselves():
    prior, family = ChineseRestaurantPrior(0.7), NormalKnownVariance(2)
    assert FilterScorer(prior, family).is_filter_of(prior, family)
    assert not FilterScorer(prior, family).is_filter_of(prior, NormalKnownVariance(2))
    assert not FilterScorer(prior, family).is_filter_of(ChineseRestaurantPrior(0.7), family)
    assert RandomOrder()(torch.zeros(1, 3, 2)).shape == (1, 3)
    with pytest.raises(ValueError, match=r"prior has hyperparameters of shape \(3,\), expected single num"):
        FilterScorer(ChineseRestaurantPrior(torch.ones(3)), family)
    with pytest.raises(ValueError, match="has no conjugate component family, expected one"):
        PredictiveFilter(Mixture(prior, student_t(2)))
