"""Guides of deep models: their losses in stock Pyro and by fit, term by term, and what goes wrong."""

import math

import pyro
import pytest
import torch
from pyro import poutine
from pyro.infer import SVI, Trace_ELBO, TraceEnum_ELBO
from pyro.optim import Adam

from pyroclust import load_guide, save_guide
from pyroclust.distributions import (
    BernoulliObservation,
    ChineseRestaurantPrior,
    CountsObservation,
    DirichletMultinomialPrior,
    NormalObservation,
    PitmanYorPrior,
)
from pyroclust.guides import DeepMixtureGuide, EmbeddedMixtureGuide, SemiSupervisedGuide
from pyroclust.infer import FitSettings, fit
from pyroclust.models import (
    DeepMixture,
    EmbeddedMixture,
    PartiallyLabelled,
    SemiSupervisedClustering,
    gaussian2d,
)
from pyroclust.nn import (
    DenseDecoder,
    DenseEncoder,
    ExactSum,
    GumbelSoftmax,
    ImageDecoder,
    ImageDeformation,
    ImageEncoder,
    NearestSeed,
    NormalNoise,
    SpreadingSeeds,
    Views,
)
from pyroclust.partitions import enumerate_partitions

OBSERVATIONS = [NormalObservation(0.5), BernoulliObservation(), CountsObservation()]
KNOWN = torch.tensor([0, 1, 2, -1, -1, -1, 0, -1])


def numbers(observation, points: int = 8, columns: int = 3) -> torch.Tensor:
    torch.manual_seed(3)
    found = torch.rand(points, columns)
    return (9 * found).round() if isinstance(observation, CountsObservation) else found


def deep_mixture(observation=None, *, prior=None, clusters: int = 3, **told: object) -> DeepMixtureGuide:
    torch.manual_seed(0)
    model = DeepMixture(
        (3,),
        num_clusters=clusters,
        style_dim=2,
        decoder=DenseDecoder(2 + clusters, (3,), widths=(8,)),
        observation=observation,
        prior=prior,
        num_points=40,
    )
    counts = isinstance(observation, CountsObservation)
    return DeepMixtureGuide(model, encoder=DenseEncoder((3,), widths=(8,), log_counts=counts), **told)


def few_labels(**told: object) -> SemiSupervisedGuide:
    torch.manual_seed(0)
    decoder = DenseDecoder(4 + 3, (3,), widths=(8,))
    model = SemiSupervisedClustering((3,), num_classes=3, feature_dim=4, decoder=decoder)
    return SemiSupervisedGuide(model, encoder=DenseEncoder((3,), widths=(8,)), **told)


def embedded(**told: object) -> EmbeddedMixtureGuide:
    torch.manual_seed(0)
    decoder = DenseDecoder(2, (3,), widths=(8,))
    model = EmbeddedMixture((3,), num_clusters=3, embedding_dim=2, decoder=decoder)
    return EmbeddedMixtureGuide(model, encoder=DenseEncoder((3,), widths=(8,)), **told)


@pytest.mark.parametrize("observation", OBSERVATIONS, ids=["normal", "pixels", "words"])
@pytest.mark.parametrize("prior", [None, PitmanYorPrior(0.25, 1.0)], ids=["equal", "sticks"])
def test_the_enumerated_bound_is_the_sum_over_clusters(observation, prior) -> None:
    guide = deep_mixture(observation, prior=prior, relaxation=ExactSum()).eval()
    model, data = guide.model, numbers(observation)
    torch.manual_seed(1)
    bound = -TraceEnum_ELBO(max_plate_nesting=1).loss(model, guide, data)
    torch.manual_seed(1)
    style = poutine.trace(guide).get_trace(data).nodes["style"]["value"]
    with torch.no_grad():
        log_q, (mean, scale) = guide.log_shares(data), guide.styles(data)
        normal = torch.distributions.Normal
        by_hand = (normal(0.0, 1.0).log_prob(style) - normal(mean, scale).log_prob(style)).sum()
        for cluster in range(3):
            code = torch.eye(3)[cluster].expand(8, 3)
            inside = model.log_likelihood(data, style, code) + model.log_weights[cluster] - log_q[:, cluster]
            by_hand += (log_q[:, cluster].exp() * inside).sum()
        if prior is not None:
            by_hand += model.weights.log_prior(8)
    assert bound == pytest.approx(by_hand.item(), rel=1e-5)


def test_the_program_sums_over_codes_to_the_likelihood() -> None:
    guide = deep_mixture(BernoulliObservation()).eval()
    model, data = guide.model, numbers(BernoulliObservation())
    style = torch.randn(8, 2)
    known = poutine.condition(model, data={"style": style})
    enumerated = poutine.enum(pyro.infer.config_enumerate(known), first_available_dim=-2)
    trace = poutine.trace(enumerated).get_trace(data)
    trace.compute_log_prob()
    joint = trace.nodes["code"]["log_prob"] + trace.nodes["data"]["log_prob"]
    by_hand = torch.stack(
        [model.log_likelihood(data, style, torch.eye(3)[k].expand(8, 3)) - math.log(3) for k in range(3)]
    )
    torch.testing.assert_close(joint.reshape(3, 8), by_hand)


@pytest.mark.parametrize("relaxation", [GumbelSoftmax(0.7), GumbelSoftmax(0.7, straight_through=True)])
@pytest.mark.parametrize("prior", [None, ChineseRestaurantPrior(1.0)], ids=["equal", "sticks"])
def test_the_published_loss_is_a_bound_with_factors(relaxation, prior) -> None:
    guide = deep_mixture(prior=prior, relaxation=relaxation, style_weight=2.0, code_weight=0.5).eval()
    data = numbers(None)
    torch.manual_seed(1)
    bound = Trace_ELBO().differentiable_loss(guide.model.reconstruction, guide, data)
    torch.manual_seed(1)
    terms = guide.loss_terms(data)
    torch.testing.assert_close(bound, sum(terms.values()), rtol=1e-5, atol=1e-4)
    parameters = [one for one in guide.parameters() if one.requires_grad]
    gradients = [torch.autograd.grad(one, parameters) for one in (bound, sum(terms.values()))]
    for first, second in zip(*gradients, strict=True):
        torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-5)
    assert set(terms) == {"reconstruction", "style", "code"} | ({"weights"} if prior else set())


def test_a_batch_of_data_sets_has_the_same_bound_term_by_term() -> None:
    guide = deep_mixture(prior=ChineseRestaurantPrior(1.0), relaxation=GumbelSoftmax(0.7)).eval()
    data = numbers(None, points=10).view(2, 5, 3)
    torch.manual_seed(1)
    bound = Trace_ELBO().loss(guide.model.reconstruction, guide, data)
    torch.manual_seed(1)
    terms = guide.loss_terms(data)
    assert all(one.shape == (2,) for one in terms.values())
    assert bound == pytest.approx(sum(one.sum().item() for one in terms.values()), rel=1e-5)
    whole = guide.loss_terms(data.view(10, 3))
    for name in ("style", "code", "weights"):
        torch.testing.assert_close(terms[name].sum(), whole[name])


@pytest.mark.parametrize(
    "make", [deep_mixture, few_labels, embedded], ids=["mixture", "few labels", "embedded"]
)
def test_answers_are_those_of_evaluation_mode_and_leave_the_guide_as_it_is(make) -> None:
    guide, data = make(), numbers(None)
    guide.loss_terms(data, KNOWN)
    before = {name: value.clone() for name, value in guide.state_dict().items()}
    shares = guide.train().log_shares(data)
    assert guide.training
    torch.testing.assert_close(shares[:1], guide.log_shares(data[:1]))
    torch.testing.assert_close(shares, guide.eval().log_shares(data))
    assert all(torch.equal(value, before[name]) for name, value in guide.state_dict().items())
    # Buffers go along where a model is moved.
    assert guide.double().log_shares(data.double()).dtype == torch.float64


def test_divergences_are_those_of_torch() -> None:
    guide = deep_mixture(style_weight=2.0, code_weight=0.5).eval()
    data = numbers(None)
    terms, (mean, scale) = guide.loss_terms(data), guide.styles(data)
    law = torch.distributions
    style = law.kl_divergence(law.Normal(mean, scale), law.Normal(0.0, 1.0)).sum()
    even = law.Categorical(logits=torch.zeros(8, 3))
    code = law.kl_divergence(law.Categorical(logits=guide.log_shares(data)), even).sum()
    torch.testing.assert_close(terms["style"], 2.0 * style)
    torch.testing.assert_close(terms["code"], 0.5 * code)


CASES = {
    "relaxed": lambda: deep_mixture(relaxation=GumbelSoftmax(0.7), views=Views(NormalNoise(0.1))),
    "exact": lambda: deep_mixture(relaxation=ExactSum()),
    "pixels": lambda: deep_mixture(BernoulliObservation()),
    "words": lambda: deep_mixture(CountsObservation()),
    "sticks": lambda: deep_mixture(prior=PitmanYorPrior(0.25, 1.0)),
    "few labels": lambda: few_labels(views=Views(NormalNoise(0.1))),
    "spreading": lambda: few_labels(seed_rule=SpreadingSeeds()),
    "embedded": embedded,
    "autoencoder": lambda: embedded(embedding_weight=0.0),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_of_every_term_are_finite_differences(case: str) -> None:
    guide = CASES[case]().double().train()
    data = numbers(guide.model.observation).double()
    parameters = [one for one in guide.parameters() if one.requires_grad]
    torch.manual_seed(5)
    # ReLU has corners: small steps from a place in general position.
    direction = [torch.randn_like(one) for one in parameters]

    def terms() -> dict[str, torch.Tensor]:
        torch.manual_seed(7)
        return guide.loss_terms(data, KNOWN)

    def moved(step: float) -> dict[str, float]:
        with torch.no_grad():
            for one, by in zip(parameters, direction, strict=True):
                one.add_(by, alpha=step)
            found = {name: value.item() for name, value in terms().items()}
            for one, by in zip(parameters, direction, strict=True):
                one.sub_(by, alpha=step)
        return found

    step = 1e-6
    ahead, behind = moved(step), moved(-step)
    assert len(ahead) >= 1
    for name in ahead:
        gradients = torch.autograd.grad(terms()[name], parameters, allow_unused=True)
        along = sum((g * by).sum() for g, by in zip(gradients, direction, strict=True) if g is not None)
        assert (ahead[name] - behind[name]) / (2 * step) == pytest.approx(float(along), rel=1e-4, abs=1e-5), (
            name
        )


def test_the_terms_of_few_labels_are_the_published_formulas() -> None:
    guide, data = few_labels().eval(), numbers(None)
    torch.manual_seed(1)
    terms = {name: value.item() / 8 for name, value in guide.loss_terms(data, KNOWN).items()}
    torch.manual_seed(1)
    with torch.no_grad():
        features, log_q = guide.features(data), guide.log_shares(data)
        code = guide.relaxation.expect(log_q, lambda code: code[..., 0]) * 0  # the same random numbers
        torch.manual_seed(1)
        codes = []
        guide.relaxation.expect(log_q, lambda code: codes.append(code) or code[..., 0])
        squared = (data - guide.model.outputs(features, codes[0])).square().mean()
    assert terms["reconstruction"] == pytest.approx(squared.item(), rel=1e-4)
    seeds = KNOWN >= 0
    labels, loss_c, loss_a, far = [], 0.0, 0.0, []
    for i in range(8):
        distances = [(features[i] - features[j]).norm().item() if seeds[j] else math.inf for j in range(8)]
        label = int(KNOWN[i]) if seeds[i] else int(KNOWN[distances.index(min(distances))])
        labels.append(label)
        loss_c += sum(math.exp(one) * (one + math.log(3)) for one in log_q[i].tolist()) / (8 * math.log(3))
        other = max(log_q[i, k].item() for k in range(3) if k != label)
        loss_a += (math.tanh(-log_q[i, label].item()) + math.tanh(other) + 1) / 16
        own = [d for d, k in zip(distances, KNOWN.tolist(), strict=True) if k == label]
        far.append(sum(own) / (math.sqrt(2) * len(own)))
    known = [d for d, s in zip(far, seeds.tolist(), strict=True) if s]
    others = [d for d, s in zip(far, seeds.tolist(), strict=True) if not s]
    assert code.abs().max() == 0
    assert terms["code"] == pytest.approx(loss_c, rel=1e-4)
    assert terms["assignment"] == pytest.approx(10 * loss_a, rel=1e-4)
    wanted = 0.6 * sum(known) / len(known) + 0.4 * sum(others) / len(others)
    assert terms["feature"] == pytest.approx(wanted, rel=1e-4)


def test_few_labels_in_stock_pyro_are_the_same_up_to_a_constant() -> None:
    guide, data = few_labels().eval(), numbers(None)
    torch.manual_seed(1)
    bound = Trace_ELBO().loss(guide.model.reconstruction, guide, data, KNOWN)
    torch.manual_seed(1)
    own = sum(guide.loss_terms(data, KNOWN).values()).item()
    constant = 8 * 3 * (math.log(math.sqrt(1.5)) + 0.5 * math.log(2 * math.pi))
    assert bound - own == pytest.approx(constant, rel=1e-4)


def test_embedding_in_stock_pyro_is_the_loss_of_fit() -> None:
    guide, data = embedded().eval(), numbers(None)
    torch.manual_seed(1)
    bound = Trace_ELBO().loss(guide.model.collapsed, guide, data)
    torch.manual_seed(1)
    assert bound == pytest.approx(sum(guide.loss_terms(data).values()).item(), rel=1e-4)
    style = torch.randn(8, 2)
    joint = guide.model.log_joint_of_clusters(style)
    known = poutine.condition(guide.model.collapsed, data={"embedding": style})
    trace = poutine.trace(known).get_trace(data)
    trace.compute_log_prob()
    torch.testing.assert_close(trace.nodes["embedding"]["log_prob"], joint.logsumexp(-1))


@pytest.mark.parametrize("make", [deep_mixture, embedded], ids=["mixture", "embedded"])
def test_two_models_in_one_process_both_learn(make) -> None:
    pyro.clear_param_store()
    data, first, second = numbers(None), make(), make()
    names = {"DeepMixture": "reconstruction", "EmbeddedMixture": "collapsed"}
    for guide in (first, second):
        before = {name: value.clone() for name, value in guide.state_dict().items() if "weight" in name}
        program = getattr(guide.model, names[type(guide.model).__name__])
        SVI(program, guide, Adam({"lr": 1e-2}), Trace_ELBO()).step(data)
        after = guide.state_dict()
        assert all(not torch.equal(after[name], value) for name, value in before.items())
    own, other = first.state_dict(), second.state_dict()
    assert all(own[name].data_ptr() != other[name].data_ptr() for name in own)
    trace = poutine.trace(second.model, param_only=True).get_trace(data)
    params = {
        node["value"].unconstrained().data_ptr() for node in trace.nodes.values() if node["type"] == "param"
    }
    assert params == {one.data_ptr() for one in second.model.parameters()}


def separated() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(2)
    classes = torch.arange(90) % 3
    centres = torch.tensor([[0.0, 0.0, 0.0], [5.0, 5.0, 0.0], [0.0, 5.0, 5.0]])
    return centres[classes] + 0.3 * torch.randn(90, 3), classes


SETTINGS = FitSettings.of_batches(30, steps=300, learning_rate=5e-3)


def test_one_label_a_class_is_enough_where_classes_are_apart() -> None:
    points, classes = separated()
    guide = few_labels()
    data = PartiallyLabelled(points, torch.where(torch.arange(90) < 3, classes, -1), share=0.1)
    fit(guide.model, guide, data=data, settings=SETTINGS, progress=False)
    assert (guide.log_shares(points).argmax(-1) == classes).float().mean() > 0.97
    draws = guide.posterior(points).sample((20,))
    assert draws.shape == (20, 90)


def test_a_deep_mixture_finds_clusters_that_are_apart_and_generates_them() -> None:
    points, classes = separated()
    runs = []
    for seed in range(2):
        torch.manual_seed(seed)
        decoder = DenseDecoder(2 + 3, (3,), widths=(8,))
        model = DeepMixture(
            (3,), num_clusters=3, style_dim=2, decoder=decoder, observation=NormalObservation(0.5)
        )
        one = DeepMixtureGuide(model, encoder=DenseEncoder((3,), widths=(8,)), views=Views(NormalNoise(0.1)))
        result = fit(model, one, data=PartiallyLabelled(points), settings=SETTINGS, progress=False)
        runs.append((result.loss, seed, one))
    guide = min(runs, key=lambda one: one[:2])[2]
    found = guide.log_shares(points).argmax(-1)
    assert len(set(zip(found.tolist(), classes.tolist(), strict=True))) == 3
    means = guide.model.generate(torch.zeros(1, 2))[:, 0]
    centres = torch.stack([points[found == k].mean(0) for k in range(3)])
    assert torch.equal(torch.cdist(means, centres).argmin(-1), torch.arange(3))
    simulated = poutine.trace(poutine.uncondition(guide.model)).get_trace(torch.empty(2, 30, 3))
    assert simulated.nodes["assignments"]["value"].shape == (2, 30)


def test_terms_are_logged_and_a_training_resumes_to_the_same_weights(tmp_path) -> None:
    points, _ = separated()
    law = PartiallyLabelled(points)
    whole, halves = deep_mixture(), [deep_mixture(), deep_mixture()]
    fit(
        whole.model,
        whole,
        data=law,
        settings=SETTINGS,
        folder=tmp_path / "whole",
        max_steps=8,
        progress=False,
    )
    told = {"data": law, "settings": SETTINGS, "folder": tmp_path / "half", "progress": False}
    fit(halves[0].model, halves[0], max_steps=4, **told)
    fit(halves[1].model, halves[1], max_steps=8, resume=True, **told)
    for one, other in zip(whole.state_dict().values(), halves[1].state_dict().values(), strict=True):
        assert torch.equal(one, other)
    logs = [(tmp_path / name / "log.csv").read_text().splitlines() for name in ("whole", "half")]
    assert logs[0][0].endswith("reconstruction,style,code")
    assert len(logs[0]) == len(logs[1]) == 9
    row = dict(zip(logs[0][0].split(","), logs[0][1].split(","), strict=True))
    total = sum(float(row[name]) for name in ("reconstruction", "style", "code"))
    assert total == pytest.approx(float(row["nats_per_point"]), rel=1e-4)
    other = PartiallyLabelled(points + 1.0)
    again = deep_mixture()
    with pytest.raises(ValueError, match="data"):
        fit(again.model, again, resume=True, **told | {"data": other})


@pytest.mark.parametrize(
    "make", [deep_mixture, few_labels, embedded], ids=["mixture", "few labels", "embedded"]
)
def test_saved_guides_come_back(make, tmp_path) -> None:
    guide, data = make().eval(), numbers(None)
    save_guide(guide, tmp_path / "one")
    again = load_guide(tmp_path / "one")
    torch.testing.assert_close(guide.log_shares(data), again.log_shares(data))
    every = enumerate_partitions(5)
    total = again.posterior(data[:5]).log_prob(every).logsumexp(0)
    assert total.item() == pytest.approx(0.0, abs=1e-9)


def test_images_have_convolutions_and_bags_of_words_their_counts() -> None:
    torch.manual_seed(0)
    images = DeepMixture(
        (28, 28),
        num_clusters=4,
        decoder=ImageDecoder(14, 28, 28, channels=4, hidden=16),
        observation=BernoulliObservation(),
    )
    words = DeepMixture((30,), num_clusters=4, observation=CountsObservation(12))
    for model, encoder, data in (
        (images, ImageEncoder(28, 28, dim=8, channels=4), torch.rand(60, 28, 28)),
        (words, DenseEncoder((30,), widths=(16,), log_counts=True), torch.randint(5, (60, 30)).float()),
    ):
        guide = DeepMixtureGuide(model, encoder=encoder, relaxation=GumbelSoftmax(0.5, straight_through=True))
        settings = FitSettings.of_batches(30, steps=15)
        before = sum(guide.loss_terms(data).values())
        fit(model, guide, data=PartiallyLabelled(data), settings=settings, progress=False)
        assert sum(guide.loss_terms(data).values()) < before
        assert guide.posterior(data[:9]).sample((2,)).shape == (2, 9)
        simulated = poutine.trace(poutine.uncondition(model)).get_trace(torch.empty(2, 5, *model.event_shape))
        assert simulated.nodes["data"]["value"].shape == (2, 5, *model.event_shape)


def test_clusters_start_where_a_mixture_finds_them() -> None:
    points, classes = separated()
    guide = embedded(embedding_weight=0.0)
    fit(guide.model, guide, data=PartiallyLabelled(points), settings=SETTINGS, progress=False)
    guide.start_clusters(points)
    found = guide.log_shares(points).argmax(-1)
    assert len(set(zip(found.tolist(), classes.tolist(), strict=True))) == 3
    assert guide.model.generate(torch.zeros(2, 2)).shape == (3, 2, 3)


def test_labels_spread_along_a_line_and_not_across_a_gap() -> None:
    line = torch.tensor([[0.0], [1.0], [2.0], [3.0], [5.0], [4.2]])
    known = torch.tensor([0, -1, -1, -1, 1, -1])
    assert NearestSeed().classes(line, known).tolist() == [0, 0, 0, 1, 1, 1]
    assert SpreadingSeeds().classes(line, known).tolist() == [0, 0, 0, 0, 1, 1]
    torch.manual_seed(0)
    several, labels = torch.randn(2, 3, 12, 4), torch.randint(-1, 3, (2, 3, 12))
    labels[..., 0] = 1
    for rule in (NearestSeed(), SpreadingSeeds()):
        found = rule.classes(several, labels)
        for i, j in ((0, 0), (1, 2)):
            assert torch.equal(found[i, j], rule.classes(several[i, j], labels[i, j]))
        assert torch.equal(found[labels >= 0], labels[labels >= 0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fit(deep_mixture().model, deep_mixture()), "model is 'deep_mixture'"),
        (lambda: (lambda g: fit(g.model, g, progress=False))(deep_mixture()), "data is None"),
        (lambda: DeepMixtureGuide(gaussian2d()), "expected a pyroclust.models.DeepMixture"),
        (lambda: SemiSupervisedGuide(gaussian2d()), "expected a pyroclust.models.SemiSupervisedClustering"),
        (lambda: EmbeddedMixtureGuide(gaussian2d()), "expected a pyroclust.models.EmbeddedMixture"),
        (lambda: DeepMixtureGuide(DeepMixture((3,)), encoder=torch.nn.Linear(3, 3)), "attribute dim"),
        (lambda: DeepMixture((3,), decoder=DenseDecoder(5, (3,))), "decoder takes 5 numbers, expected 20"),
        (lambda: DeepMixture((3,), prior=ChineseRestaurantPrior(1.0)), "num_points is None"),
        (
            lambda: DeepMixture((3,), prior=DirichletMultinomialPrior(3, 1.0), num_points=9),
            "process of sticks",
        ),
        (lambda: few_labels().loss_terms(numbers(None), -torch.ones(8).long()), "and 0 labels, expected"),
        (lambda: few_labels().loss_terms(numbers(None), 5 * torch.ones(8).long()), "has the label 5"),
        (lambda: few_labels()(numbers(None)), "known is None"),
        (lambda: deep_mixture(BernoulliObservation())(2 * numbers(None) + 1), "expected 0 to 1"),
        (lambda: deep_mixture(BernoulliObservation()).posterior(255 * numbers(None)), "divide pixels"),
        (lambda: deep_mixture().posterior(torch.full((4, 3), torch.nan)), "nan"),
        (lambda: embedded(embedding_weight=0.5)(numbers(None)), "embedding_weight is 0.5"),
        (lambda: deep_mixture(CountsObservation()).loss_terms(-numbers(None)), "counts of words"),
        (lambda: deep_mixture().posterior(torch.zeros(4, 2)), "data has shape"),
        (lambda: ImageDeformation(scale=1.0), "scale is 1.0"),
        (lambda: ImageDeformation()(torch.zeros(3)), "expected images"),
        (lambda: DenseEncoder((3,), widths=()), "widths has 0 numbers"),
        (lambda: GumbelSoftmax(0.0), "temperature is 0.0"),
    ],
)
def test_errors_say_what_to_do(call, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
