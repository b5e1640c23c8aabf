"""Losses of guides on simulated data sets: the inclusive divergence, a guide's own loss, that of forests."""

import copy
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import torch
from pyro import poutine
from pyro.infer import ELBO
from pyro.poutine import Trace
from pyro.poutine.util import site_is_subsample
from torch import Tensor

from pyroclust.core.numbers import check_count, check_number
from pyroclust.distributions import PerturbedSpanningForest
from pyroclust.distributions.families.component import Component
from pyroclust.distributions.protocols import Guide
from pyroclust.infer.checks import check_model_of_guide
from pyroclust.infer.simulation import Choice
from pyroclust.nn.orders import antithetic_orders, random_orders

# Larger weights leave the range of float32 once they meet a variance.
_MAX_CONSISTENCY = 1e6
# Candidates of decisions that are evaluated together: activations stay in the processor's cache.
_CANDIDATES_AT_ONCE = 1 << 14


class SimulatedLoss(ELBO):
    """A loss of a guide on data sets that its model, or the law ``data`` in its place, simulates.

    Subclasses write :meth:`per_dataset`. ``terms`` are the means of a loss of several terms at the last call,
    nats per data set.
    """

    def __init__(self, choice: Choice | None = None, *, data: Callable[..., Any] | None = None) -> None:
        super().__init__()
        self.choice, self.data = choice, data
        self.terms: dict[str, float] = {}

    def on(self, data: Callable[..., Any]) -> Self:
        """Return the same loss on another law of data: a view."""
        view = copy.copy(self)
        view.data = data
        return view

    @abstractmethod
    def per_dataset(self, model: Callable[..., Any], guide: Callable[..., Any], *template: Any) -> Tensor:
        """Return the loss of a fresh simulation for every data set of the template, ``(*batch,)``."""

    def backward(
        self, model: Callable[..., Any], guide: Callable[..., Any], *template: Any, scale: float = 1.0
    ) -> float:
        """Add the gradients of ``scale`` times the mean loss to the parameters, and return that loss."""
        check_model_of_guide(model, guide)
        loss = self.per_dataset(model, guide, *template).mean() * scale
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.item()

    def simulate(self, model: Callable[..., Any], *template: Any) -> Trace:
        """Run the program without its conditions on a template, keep the chosen data sets, and move them.

        Data sets that lie too far away for the arithmetic of the model's family, as heavy-tailed priors make
        now and then, are left out: that is judged by the data alone, and their posterior is not learnt.
        """
        factor = 1 if self.choice is None else self.choice.oversampling
        args = [torch.empty(factor * len(arg), *arg.shape[1:], dtype=arg.dtype) for arg in template]
        program = model if self.data is None else self.data
        with torch.no_grad(), poutine.block():
            simulated = poutine.trace(poutine.uncondition(program)).get_trace(*args)
        _keep_within_reach(simulated, model)
        if self.choice is not None:
            data = _observed(simulated)[0]
            _keep(simulated, self.choice(data, max(1, len(data) // factor)))
        device = template[0].device
        if device.type != "cpu":
            for site in _samples(simulated):
                if isinstance(site["value"], Tensor):
                    site["value"] = site["value"].to(device)
        return simulated

    def _get_trace(self, model: Any, guide: Any, args: Any, kwargs: Any) -> tuple[Trace, Trace]:
        simulated = self.simulate(model, *args)
        if "data" not in simulated:
            raise ValueError(
                f"model has the sites {', '.join(simulated.nodes)}, expected 'data' among them: points that "
                "the guide sees"
            )
        return simulated, poutine.trace(guide).get_trace(simulated.nodes["data"]["value"])

    def differentiable_loss(
        self, model: Callable[..., Any], guide: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Tensor:
        """Return the loss averaged over data sets, with gradients; without them any model will do."""
        if torch.is_grad_enabled():
            check_model_of_guide(model, guide)
        return self.per_dataset(model, guide, *args).mean()

    def loss(self, model: Callable[..., Any], guide: Callable[..., Any], *args: Any, **kwargs: Any) -> float:
        """Return the loss averaged over data sets, as a number."""
        with torch.no_grad():
            return self.differentiable_loss(model, guide, *args).item()

    def loss_and_grads(
        self, model: Callable[..., Any], guide: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> float:
        """Return the loss and add its gradients to the parameters, as ``pyro.infer.SVI`` expects."""
        return self.backward(model, guide, *args)


def _samples(simulated: Trace) -> list[Any]:
    return [site for site in simulated.nodes.values() if site["type"] == "sample"]


def _was_observed(site: Any) -> bool:
    """Say whether a sample site of an unconditioned program is one of its data."""
    # To Pyro a deterministic site is observed too.
    return bool(site["infer"].get("was_observed")) and not site["infer"].get("_deterministic")


def _observed(simulated: Trace) -> list[Tensor]:
    return [site["value"] for site in _samples(simulated) if _was_observed(site)]


def _keep_within_reach(simulated: Trace, model: Any) -> None:
    """Leave out data sets that the family of a mixture cannot compute with, if others are left."""
    component, site = getattr(model, "component", None), simulated.nodes.get("data")
    if not isinstance(component, Component) or site is None:
        return
    data: Any = site["value"]
    if _is_within_reach(component, data):
        return
    kept = [place for place, points in enumerate(data) if _is_within_reach(component, points)]
    if kept:
        _keep(simulated, torch.tensor(kept))


def _is_within_reach(component: Component, data: Tensor) -> bool:
    try:
        component.check_reach(data)
    except ValueError:
        return False
    return True


def _keep(simulated: Trace, kept: Tensor) -> None:
    """Keep some data sets, the first dimension of every site, in place."""
    for name in [name for name, site in simulated.nodes.items() if site_is_subsample(site)]:
        simulated.remove_node(name)
    for site in _samples(simulated):
        site["value"] = site["value"].index_select(0, kept)


@dataclass(frozen=True)
class VisitingOrders:
    r"""How many orders each simulated data set is visited in, and what their disagreement costs.

    .. math::
        \ell = -\frac{1}{M} \sum_{m=1}^{M} \log q_\phi(c \mid x, \pi_m) + \lambda \,
        \mathrm{Var}_m \big[\log q_\phi(c \mid x, \pi_m)\big]

    The posterior knows no order, so the penalty is 0 where q is exact, for every data set and without noise,
    while the first term keeps the entropy of the posterior. Both grow about as N, so one weight does for all
    sizes.

    Attributes:
        number: M.
        antithetic: orders come in pairs, one the reverse of the other.
        consistency: the weight :math:`\lambda` per nat, 0 for no penalty, at most 1e6; the variance has the
            divisor M - 1.

    Raises:
        ValueError: if a number is not possible, or one order is to come in pairs or to be penalised.

    Example:
        >>> import torch
        >>> orders = VisitingOrders(2, consistency=0.5)
        >>> orders.penalty(torch.tensor([[-1.0, -3.0], [-2.0, -3.0]]))
        tensor([0.2500, 0.0000])

    References:
        Chelly et al. (2025), Consistent Amortized Clustering via Generative Flow Networks.
        https://arxiv.org/abs/2502.19337
    """

    number: int = 1
    antithetic: bool = False
    consistency: float = 0.0

    def __post_init__(self) -> None:
        check_count("number", self.number)
        check_number("consistency", self.consistency, at_least=0, at_most=_MAX_CONSISTENCY)
        for name in ("antithetic", "consistency"):
            if getattr(self, name) and self.number < 2:
                raise ValueError(
                    f"{name} is {getattr(self, name)} with one visiting order, expected at least 2 orders"
                )

    def draw(self, data: Tensor) -> Tensor:
        """Draw the orders, ``(B, N, ...) -> (M, B, N)``."""
        return (antithetic_orders if self.antithetic else random_orders)(self.number, data)

    def penalty(self, log_prob: Tensor) -> Tensor:
        """Return the weighted variance over orders, ``(M, B) -> (B,)`` nats."""
        if not self.consistency:
            return log_prob.new_zeros(log_prob.shape[1:])
        return self.consistency * log_prob.var(0)


class InclusiveKL(SimulatedLoss):
    r"""Expected negative log-probability of the simulated partition under the guide, in nats per data set.

    .. math::
        L(\phi) = E_{p(c, x)}[-\log q_\phi(c \mid x)] = E_{p(x)}\, KL(p(c \mid x) \,\|\, q_\phi(c \mid x)) +
        \text{const}

    The model is run without its conditions on a template, on the CPU; only the template's shapes and device
    count. Its observed sites become the arguments of the guide, which is replayed on the model's latent
    sites. Works as ``SVI(model, guide, optim, InclusiveKL())`` and, with torch optimisers, as
    ``InclusiveKL()(model, guide)``.

    A guide with ``conditions``, names of latent sites of the model, is handed their simulated values through
    its ``condition(name=values, ...)``, one a data set: the loss is then averaged over the values as well,

    .. math:: L(\phi) = E_{p(h, c, x)}[-\log q_\phi(c \mid x, h)].

    With ``orders``, a guide that labels points one after the other visits each data set in several random
    orders, whose losses are averaged and whose disagreement may cost something.

    Args:
        choice: which simulations to keep, judged by their data alone; all by default.
        orders: visiting orders of each data set; the guide's own law by default.
        data: a program that data sets are drawn from in place of the model's, with the same sites.

    Example:
        >>> from pyroclust.guides import NeuralClusteringProcess
        >>> from pyroclust.models import gaussian2d
        >>> model = gaussian2d()
        >>> loss = InclusiveKL()(model, NeuralClusteringProcess(model))
        >>> loss(torch.empty(4, 10, 2)).shape  # 4 data sets of 10 points
        torch.Size([])

    References:
        Le, Baydin & Wood (2017), Inference compilation. https://arxiv.org/abs/1610.09900
    """

    def __init__(
        self,
        choice: Choice | None = None,
        *,
        orders: VisitingOrders | None = None,
        data: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(choice, data=data)
        self.orders = orders

    def per_dataset(self, model: Callable[..., Any], guide: Callable[..., Any], *template: Any) -> Tensor:
        """Return -log q of a fresh simulation for every data set; with ``orders``, their mean and penalty.

        Shape:
            template: tensors like the model's arguments, ``(*batch, ...)``; output: ``(*batch,)`` nats.
        """
        penalty: Tensor | float = 0.0
        if self.orders is None:
            simulated, replayed = self._get_trace(model, guide, template, {})
            replayed.compute_log_prob()
            loss = -_replayed_log_prob(simulated, replayed)
        else:
            drawn = self._drawn(model, guide, template)
            loss, penalty = _losses_over_orders(guide, orders=self.orders, **drawn)
        if self.choice is not None:
            self.choice.learn(loss)
        return loss + penalty

    def backward(
        self, model: Callable[..., Any], guide: Callable[..., Any], *template: Any, scale: float = 1.0
    ) -> float:
        """Add the gradients of ``scale`` times the mean loss to the parameters, and return that loss.

        With ``orders``, a few data sets at a time: memory does not grow with the template; the loss that is
        returned is without the penalty.
        """
        if self.orders is None:
            return super().backward(model, guide, *template, scale=scale)
        check_model_of_guide(model, guide)
        drawn = self._drawn(model, guide, template)
        losses = backward_in_chunks(guide, orders=self.orders, scale=scale, **drawn)
        if self.choice is not None:
            self.choice.learn(losses)
        return losses.mean().item() * scale

    def _drawn(self, model: Any, guide: Any, template: tuple[Any, ...]) -> dict[str, Any]:
        """Simulate what a guide over orders needs to be trained on."""
        simulated = self.simulate(model, *template)
        sites: Any = simulated.nodes
        values = {name: sites[name]["value"] for name in ("data", "assignments")}
        return values | {"conditions": _conditions(guide, simulated)}

    def _get_trace(self, model: Any, guide: Any, args: Any, kwargs: Any) -> tuple[Trace, Trace]:
        simulated = self.simulate(model, *args)
        observed = _observed(simulated)
        if not observed:
            raise ValueError("model has no observed site, expected at least one pyro.sample(..., obs=...)")
        conditions = _conditions(guide, simulated)
        conditioned = guide.condition(**conditions) if conditions else guide
        return simulated, poutine.trace(poutine.replay(conditioned, trace=simulated)).get_trace(*observed)


def _latent(simulated: Trace) -> list[str]:
    return [name for name in simulated.stochastic_nodes if not _was_observed(simulated.nodes[name])]


def _conditions(guide: Any, simulated: Trace) -> dict[str, Tensor]:
    """Return the simulated values of a guide's conditions; Pyro guides of other kinds have none."""
    names = guide.conditions if isinstance(guide, Guide) else ()
    missing = [name for name in names if name not in simulated]
    if missing:
        raise ValueError(
            f"guide has the condition {missing[0]}, expected names of latent sites of the model, "
            f"{_latent(simulated)}"
        )
    sites: Any = simulated.nodes
    return {name: sites[name]["value"] for name in names}


def _replayed_log_prob(simulated: Trace, replayed: Trace) -> Tensor:
    shared: list[Any] = [replayed.nodes[name] for name in replayed.stochastic_nodes if name in simulated]
    log_probs = [site["log_prob"] for site in shared if not site["infer"].get("is_auxiliary")]
    if not log_probs:
        raise ValueError(
            f"guide samples {list(replayed.stochastic_nodes)}, expected at least one latent site of the "
            f"model, {_latent(simulated)}"
        )
    return torch.stack(torch.broadcast_tensors(*log_probs)).sum(0)


def backward_in_chunks(
    guide: Any,
    data: Tensor,
    *,
    assignments: Tensor,
    conditions: Mapping[str, Tensor] | None = None,
    orders: VisitingOrders | None = None,
    scale: float = 1.0,
) -> Tensor:
    r"""Return the losses of simulated data sets, ``(B,)``, their gradients added to the guide's parameters.

    .. math:: \ell_b = -\frac{1}{M} \sum_{m=1}^{M} \log q_\phi(c_b \mid x_b, \pi_{bm})

    The gradients are those of ``scale`` times the mean over data sets of the loss and the penalty of
    ``orders``, but forward and backward pass of some data sets are done before the next ones begin: memory is
    bounded whatever the batch. Cost O(M N K) candidates a data set.
    """
    orders = VisitingOrders() if orders is None else orders
    candidates = int((assignments.cummax(-1).values + 2).sum()) * orders.number
    datasets = max(1, len(data) * _CANDIDATES_AT_ONCE // max(1, candidates))
    losses = []
    for rows in torch.arange(len(data), device=data.device).split(datasets):
        loss, penalty = _losses_over_orders(
            guide,
            data[rows],
            assignments=assignments[rows],
            conditions={name: value[rows] for name, value in (conditions or {}).items()},
            orders=orders,
        )
        ((loss + penalty).sum() * (scale / len(data))).backward()
        losses.append(loss.detach())
    return torch.cat(losses)


def _losses_over_orders(
    guide: Any,
    data: Tensor,
    *,
    assignments: Tensor,
    conditions: Mapping[str, Tensor],
    orders: VisitingOrders,
) -> tuple[Tensor, Tensor]:
    """Return the loss and the penalty of each data set, ``(B,)`` nats each, with gradients."""
    conditioned = (guide.condition(**conditions) if conditions else guide).mixed(orders.number)
    if orders.number > 1:
        posterior = conditioned.over_orders(data, orders.draw(data))
    else:
        posterior = conditioned.posterior(data).expand((1, len(data)))
    log_prob = posterior.log_prob(assignments)
    return -log_prob.mean(0), orders.penalty(log_prob)


@runtime_checkable
class HasLosses(Protocol):
    """A guide that defines its own loss, as :class:`~pyroclust.guides.SetTransformerMixture`."""

    def losses(self, data: Tensor, assignments: Tensor) -> Tensor:
        """Return what a training minimises, nats a data set, ``(*batch)``."""
        ...


@runtime_checkable
class HasLossTerms(HasLosses, Protocol):
    """A guide whose loss has several terms, and that is trained on data with its model."""

    def loss_terms(self, data: Tensor, known: Tensor) -> dict[str, Tensor]:
        """Return the terms by name, ``(*batch)`` each; labels are negative where they are unknown."""
        ...


def require_data(guide: object, data: object) -> None:
    """Refuse to train a guide that learns its model from data without any."""
    if isinstance(guide, HasLossTerms) and data is None:
        raise ValueError(
            f"data is None, expected what to train on: a {type(guide).__name__} learns its model from data; "
            "give a pyroclust.models.PartiallyLabelled, or [data] in a recipe"
        )


class GuideLoss(SimulatedLoss):
    r"""The mean over simulated data sets of the loss that a guide defines, in nats per data set.

    .. math:: L(\phi) = E_{p(c, x)}[\ell_\phi(x, c)]

    The law ``data`` has the sites ``"data"`` and, of labels, ``"assignments"`` or ``"known"``.
    """

    def per_dataset(self, model: Callable[..., Any], guide: Any, *template: Any) -> Tensor:
        """Return the guide's loss of a fresh simulation for every data set of the template, ``(*batch,)``."""
        nodes: Any = self.simulate(model, *template).nodes
        data, labels = nodes["data"]["value"], nodes.get("assignments", nodes.get("known"))["value"]
        if isinstance(guide, HasLossTerms):
            terms = guide.loss_terms(data, labels)
            self.terms = {name: term.mean().item() for name, term in terms.items()}
            losses = torch.stack(list(terms.values())).sum(0)
        else:
            losses = guide.losses(data, labels)
        if self.choice is not None:
            self.choice.learn(losses)
        return losses


class PartialFenchelYoungLoss(SimulatedLoss):
    r"""By how much the heaviest forest is heavier than one that keeps what is known, mean over data sets.

    .. math::
        L(\phi) = E_{p(c, x)} \big[ F_{k, \epsilon}(S_\phi(x)) - F_{k, \epsilon}(S_\phi(x); c) \big], \qquad
        \nabla_S L = A_{k, \epsilon}(S) - A_{k, \epsilon}(S; c)

    Data are simulated as by :class:`~pyroclust.infer.InclusiveKL`. The labels that are known are those of the
    model's site ``"known"``, negative where unknown, as :class:`~pyroclust.models.PartiallyLabelled` has it,
    or all of ``"assignments"``. Points of one label must be together, points of different labels apart. The
    guide's site ``"assignments"`` must be drawn from a
    :class:`~pyroclust.distributions.PerturbedSpanningForest`. The loss is never negative, and zero with zero
    gradient where the labels change nothing. Cost of a data set: O(num_draws n^2).

    Args:
        num_draws: draws of noise for each data set, in pairs of opposite signs.

    Raises:
        ValueError: if ``num_draws`` is no count.

    Example:
        >>> import torch
        >>> from pyroclust.guides import SpanningForestGuide
        >>> from pyroclust.models import PartiallyLabelled
        >>> model = PartiallyLabelled(torch.randn(90, 2), torch.arange(90) % 4 - 1)  # -1: unknown
        >>> loss = PartialFenchelYoungLoss(num_draws=20)(model, SpanningForestGuide(model, num_clusters=3))
        >>> loss(torch.empty(1, 64, 2)).shape  # one batch of 64 points, 32 of which have a label
        torch.Size([])

    References:
        Stewart et al. (2023), Differentiable clustering with perturbed spanning forests.
        https://arxiv.org/abs/2305.16358
    """

    def __init__(self, num_draws: int = 1000) -> None:
        super().__init__()
        self.num_draws = check_count("num_draws", num_draws)

    def per_dataset(self, model: Callable[..., Any], guide: Callable[..., Any], *template: Any) -> Tensor:
        """Return the loss of a fresh simulation for every data set of the template, in units of similarity.

        Shape:
            template: a tensor like the model's argument, ``(*batch, N, ...)``; output: ``(*batch,)``.

        Raises:
            ValueError: if the model has no data or no labels, or the guide does not draw partitions from
                spanning forests.
        """
        simulated, replayed = self._get_trace(model, guide, template, {})
        nodes: Any = simulated.nodes
        labels = nodes.get("known", nodes.get("assignments"))
        if labels is None:
            raise ValueError(
                f"model has the sites {', '.join(nodes)}, expected labels at 'known' or 'assignments'"
            )
        if not bool((labels["value"] >= 0).any()):
            raise ValueError("labels are all negative, expected some that are known: 0 or more")
        drawn: Any = replayed.nodes.get("assignments")
        law = None if drawn is None else drawn["fn"]
        if not isinstance(law, PerturbedSpanningForest):
            raise ValueError(
                f"guide draws assignments from a {type(law).__name__}, expected a PerturbedSpanningForest: "
                "train a SpanningForestGuide, or this guide by InclusiveKL"
            )
        return law.partial_losses(labels["value"], num_draws=self.num_draws)
