"""The loss of amortized guides: the inclusive Kullback-Leibler divergence over simulated data sets."""

from collections.abc import Callable
from typing import Any

import torch
from pyro import poutine
from pyro.poutine import Trace
from torch import Tensor

from pyroclust.distributions.protocols import Guide
from pyroclust.infer.checks import check_own_model
from pyroclust.infer.choices import Choice
from pyroclust.infer.chunked_loss import VisitingOrders, backward_in_chunks, losses_over_orders
from pyroclust.infer.simulated_loss import SimulatedLoss, was_observed

__all__ = ["InclusiveKL"]


class InclusiveKL(SimulatedLoss):
    r"""Expected negative log-probability of the simulated partition under the guide, in nats per data set.

    .. math::
        L(\phi) = E_{p(c, x)}[-\log q_\phi(c \mid x)] = E_{p(x)}\, KL(p(c \mid x) \,\|\, q_\phi(c \mid x)) +
        \text{const}

    The model is run without its conditions on a template, on the CPU; only the template's shapes and device
    count. Its observed sites become the arguments of the guide, on that device, and the guide is replayed on
    the model's latent sites: one batched trace of each, equal in expectation to the sleep phase of
    ``ReweightedWakeSleep``. Works as ``SVI(model, guide, optim, InclusiveKL())`` and, with torch optimisers,
    as ``InclusiveKL()(model, guide)``.

    A guide with ``conditions``, names of latent sites of the model, is handed their simulated values through
    its ``condition(name=values, ...)``, one a data set: the loss is then averaged over the values as well,

    .. math:: L(\phi) = E_{p(h, c, x)}[-\log q_\phi(c \mid x, h)].

    With ``orders``, a guide that labels points one after the other visits each data set in several random
    orders, whose losses are averaged and whose disagreement may cost something: see
    :class:`~pyroclust.infer.chunked_loss.VisitingOrders`. Each order is then trained by itself, also where
    the guide's posteriors mix several.

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
        """Return -log q of a fresh simulation for every data set of the template.

        With ``orders``, the average over them and the penalty.

        Shape:
            template: tensors like the model's arguments, ``(*batch, ...)``; output: ``(*batch,)`` nats.

        Raises:
            ValueError: if the model observes nothing, the guide samples none of the model's latent sites, or
                has a condition that is none of them.
        """
        penalty: Tensor | float = 0.0
        if self.orders is None:
            simulated, replayed = self._get_trace(model, guide, template, {})
            replayed.compute_log_prob()
            loss = -_replayed_log_prob(simulated, replayed)
        else:
            drawn = self._drawn(model, guide, template)
            loss, penalty = losses_over_orders(guide, orders=self.orders, **drawn)
        if self.choice is not None:
            self.choice.learn(loss)
        return loss + penalty

    def backward(
        self, model: Callable[..., Any], guide: Callable[..., Any], *template: Any, scale: float = 1.0
    ) -> float:
        """Add the gradients of the mean loss to the parameters, and return the loss without penalty.

        With ``orders``, a few data sets at a time: memory does not grow with the template.

        Args:
            model: the model.
            guide: the guide.
            *template: tensors like the model's arguments.
            scale: factor of loss and gradients.

        Raises:
            ValueError: as :meth:`per_dataset`, or if the guide was built for another model.
        """
        if self.orders is None:
            return super().backward(model, guide, *template, scale=scale)
        check_own_model(model, guide)
        losses = backward_in_chunks(
            guide, orders=self.orders, scale=scale, **self._drawn(model, guide, template)
        )
        if self.choice is not None:
            self.choice.learn(losses)
        return losses.mean().item() * scale

    def _drawn(self, model: Any, guide: Any, template: tuple[Any, ...]) -> dict[str, Any]:
        """Simulate what a guide over orders needs to be trained on."""
        simulated = self.simulate(model, *template)
        names = _conditions(guide)
        _check_conditions(names, simulated)
        values: dict[str, Any] = {
            name: simulated.nodes[name]["value"] for name in ("data", "assignments", *names)
        }
        return values | {"conditions": {name: values.pop(name) for name in names}}

    def _get_trace(self, model: Any, guide: Any, args: Any, kwargs: Any) -> tuple[Trace, Trace]:
        simulated = self.simulate(model, *args)
        observed = [site["value"] for site in simulated.nodes.values() if was_observed(site)]
        if not observed:
            raise ValueError("model has no observed site, expected at least one pyro.sample(..., obs=...)")
        conditioned = _conditioned(guide, simulated)
        return simulated, poutine.trace(poutine.replay(conditioned, trace=simulated)).get_trace(*observed)


def _conditioned(guide: Any, simulated: Trace) -> Any:
    """Set the guide's conditions, if it has any, to their simulated values."""
    names = _conditions(guide)
    if not names:
        return guide
    _check_conditions(names, simulated)
    return guide.condition(**{name: simulated.nodes[name]["value"] for name in names})


def _conditions(guide: Any) -> tuple[str, ...]:
    """Return the names of a guide's conditions; Pyro guides of other kinds have none."""
    return guide.conditions if isinstance(guide, Guide) else ()


def _check_conditions(names: tuple[str, ...], simulated: Trace) -> None:
    missing = [name for name in names if name not in simulated]
    if missing:
        latent = [name for name in simulated.stochastic_nodes if not was_observed(simulated.nodes[name])]
        raise ValueError(
            f"guide has the condition {missing[0]}, expected names of latent sites of the model, {latent}"
        )


def _is_auxiliary(site: Any) -> bool:
    return bool(site["infer"].get("is_auxiliary"))


def _replayed_log_prob(simulated: Trace, replayed: Trace) -> Tensor:
    shared = [replayed.nodes[name] for name in replayed.stochastic_nodes if name in simulated]
    sites = [site["log_prob"] for site in shared if not _is_auxiliary(site)]
    if not sites:
        raise ValueError(
            f"guide samples {list(replayed.stochastic_nodes)}, "
            "expected at least one latent site of the model, "
            f"{[n for n in simulated.stochastic_nodes if not was_observed(simulated.nodes[n])]}"
        )
    return torch.stack(torch.broadcast_tensors(*sites)).sum(0)
