"""What all losses over simulated data sets share: simulation, and the interface of Pyro's losses."""

import copy
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Protocol, Self, TypeGuard, runtime_checkable

import torch
from pyro import poutine
from pyro.infer import ELBO
from pyro.poutine import Trace
from pyro.poutine.util import site_is_subsample
from torch import Tensor, nn

from pyroclust.distributions.families.component import Component
from pyroclust.infer.checks import check_own_model
from pyroclust.infer.choices import Choice

__all__ = ["KeepsState", "SimulatedLoss", "keeps_state", "was_observed"]


@runtime_checkable
class KeepsState(Protocol):
    """A law of data that remembers something from one call to the next, and that a checkpoint has to keep."""

    def state_dict(self) -> dict[str, Tensor]:
        """Return what it holds."""
        ...

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Go on from what it held; a ``ValueError`` where that cannot be."""
        ...


def keeps_state(data: object) -> TypeGuard[KeepsState]:
    """Return whether a law of data has to be kept by a checkpoint; modules have weights, and do not change.

    Args:
        data: a Pyro program, or ``None``.

    Example:
        >>> keeps_state(None)
        False
    """
    return isinstance(data, KeepsState) and not isinstance(data, nn.Module)


class SimulatedLoss(ELBO):
    """A loss of a guide on data sets that its model simulates, averaged over these.

    Subclasses write :meth:`per_dataset`. Works as ``SVI(model, guide, optim, loss)`` and, with torch
    optimisers, as ``loss(model, guide)``.

    Args:
        choice: which simulations to keep, judged by their data alone; all by default.
        data: a program that data sets are drawn from in place of the model's, with the same site ``"data"``.

    Attributes:
        terms: means of the terms at the last call, nats per data set; empty for a loss of one term.
    """

    def __init__(self, choice: Choice | None = None, *, data: Callable[..., Any] | None = None) -> None:
        super().__init__()
        self.choice, self.data = choice, data
        self.terms: dict[str, float] = {}

    def on(self, data: Callable[..., Any]) -> Self:
        """Return the same loss with another law of data: a view.

        Args:
            data: the program that data sets are drawn from.
        """
        view = copy.copy(self)
        view.data = data
        return view

    @abstractmethod
    def per_dataset(self, model: Callable[..., Any], guide: Callable[..., Any], *template: Any) -> Tensor:
        """Return the loss of a fresh simulation for every data set of the template, ``(*batch,)``."""

    def backward(
        self, model: Callable[..., Any], guide: Callable[..., Any], *template: Any, scale: float = 1.0
    ) -> float:
        """Add the gradients of the mean loss to the parameters, and return the loss.

        Args:
            model: the model.
            guide: the guide.
            *template: tensors like the model's arguments.
            scale: factor of loss and gradients.

        Raises:
            ValueError: as :meth:`per_dataset`, or if the guide was built for another model.
        """
        check_own_model(model, guide)
        loss = self.per_dataset(model, guide, *template).mean() * scale
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.item()

    def simulate(self, model: Callable[..., Any], *template: Any) -> Trace:
        """Run the program without its conditions on a template, keep the chosen data sets, and move them.

        Data sets that lie too far away for the arithmetic of the model's family, as heavy-tailed priors make
        now and then, are left out: that is judged by the data alone, and their posterior is not learnt.
        """
        device = template[0].device
        factor = 1 if self.choice is None else self.choice.oversampling
        args = [torch.empty(factor * len(one), *one.shape[1:], dtype=one.dtype) for one in template]
        with torch.no_grad(), poutine.block():
            program = model if self.data is None else self.data
            simulated = poutine.trace(poutine.uncondition(program)).get_trace(*args)
        _keep_within_reach(simulated, model)
        if self.choice is not None:
            _choose(simulated, self.choice)
        if device.type != "cpu":
            _move(simulated, device)
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
            check_own_model(model, guide)
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


def _keep_within_reach(simulated: Trace, model: Any) -> None:
    """Leave out data sets that the family of a mixture cannot compute with, if others are left."""
    component, site = getattr(model, "component", None), simulated.nodes.get("data")
    if not isinstance(component, Component) or site is None:
        return
    data: Any = site["value"]
    if _is_within_reach(component, data):
        return
    kept = [place for place, one in enumerate(data) if _is_within_reach(component, one)]
    if kept:
        _keep(simulated, torch.tensor(kept))


def _is_within_reach(component: Component, data: Tensor) -> bool:
    try:
        component.check_reach(data)
    except ValueError:
        return False
    return True


def _choose(simulated: Trace, choice: Choice) -> None:
    """Keep the chosen data sets."""
    sites: Any = simulated.nodes.values()
    data: Tensor = next(one["value"] for one in sites if one["type"] == "sample" and was_observed(one))
    _keep(simulated, choice(data, max(1, len(data) // choice.oversampling)))


def _keep(simulated: Trace, kept: Tensor) -> None:
    """Keep some data sets, the first dimension of every site, in place."""
    plates = [name for name, site in simulated.nodes.items() if site_is_subsample(site)]
    for name in plates:
        simulated.remove_node(name)
    sites: list[Any] = [site for site in simulated.nodes.values() if site["type"] == "sample"]
    for site in sites:
        site["value"] = site["value"].index_select(0, kept)


def _move(simulated: Trace, device: torch.device) -> None:
    """Move what was simulated, on the CPU, to the device of the template."""
    for site in simulated.nodes.values():
        if site["type"] == "sample" and isinstance(site["value"], Tensor):
            site["value"] = site["value"].to(device)


def was_observed(site: Any) -> bool:
    """Say whether a site of an unconditioned program is one of its data."""
    # To Pyro a deterministic site is observed too.
    told = site["infer"] if site["type"] == "sample" else {}
    return bool(told.get("was_observed")) and not told.get("_deterministic")
