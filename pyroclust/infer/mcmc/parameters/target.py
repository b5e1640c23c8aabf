"""The posterior density of cluster parameters given the partition, as vectors of real numbers."""

from collections.abc import Mapping
from typing import Any

import torch
from pyro import poutine
from torch import Size, Tensor
from torch.distributions import Distribution, Transform, biject_to

from pyroclust.distributions import Component
from pyroclust.infer.mcmc.parameters.clusters import ChainClusters, finite_or_impossible, log_likelihood

__all__ = ["ParameterTarget", "UnconstrainedSpace", "working_dtype"]


class UnconstrainedSpace:
    r"""Maps the parameters of clusters to vectors of P real numbers and back.

    Every site of ``component.parameters()`` goes through torch's ``biject_to(support)``, so that a density
    :math:`p(\theta)` becomes :math:`p(\theta(u)) \, |d\theta / du|`.

    Args:
        component: the family of the clusters.

    Raises:
        ValueError: if a parameter is discrete, its support depends on another parameter, or has no bijection.

    Example:
        >>> from pyroclust.distributions import NormalInverseGamma
        >>> UnconstrainedSpace(NormalInverseGamma(3, 0.1, shape=2.0, rate=1.0)).num_coordinates
        6
    """

    def __init__(self, component: Component) -> None:
        laws, others = _laws(component), _laws(component)
        self._transforms: dict[str, Transform] = {}
        self._events: dict[str, Size] = {}
        self._inner: dict[str, Size] = {}
        for name, law in laws.items():
            _check_site(name, law, others[name])
            transform = biject_to(law.support)
            self._transforms[name], self._events[name] = transform, law.event_shape
            self._inner[name] = Size(transform.inverse_shape(law.event_shape))
        self.num_coordinates = sum(inner.numel() for inner in self._inner.values())

    def unconstrain(self, parameters: Mapping[str, Tensor]) -> Tensor:
        """Return parameters as vectors of real numbers.

        Shape:
            parameters: ``(*batch, *event)`` by name; output: ``(*batch, P)`` float64.
        """
        columns = []
        for name, transform in self._transforms.items():
            value = parameters[name].double()
            batch = value.shape[: value.dim() - len(self._events[name])]
            columns.append(transform.inv(value).reshape(*batch, -1))
        return torch.cat(columns, -1)

    def constrain(self, vectors: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        """Return parameters, and the log of the volume that they take up.

        Shape:
            vectors: ``(*batch, P)``; output: ``(*batch, *event)`` by name, and ``(*batch)``.
        """
        batch = vectors.shape[:-1]
        parameters, log_jacobian = {}, vectors.new_zeros(batch)
        pieces = vectors.split([inner.numel() for inner in self._inner.values()], -1)
        for piece, (name, transform) in zip(pieces, self._transforms.items(), strict=True):
            inside = piece.reshape(*batch, *self._inner[name])
            parameters[name] = transform(inside)
            volume = transform.log_abs_det_jacobian(inside, parameters[name])
            log_jacobian = log_jacobian + volume.reshape(*batch, -1).sum(-1)
        return parameters, log_jacobian


def _laws(component: Component) -> dict[str, Distribution]:
    with torch.no_grad(), poutine.block():
        trace = poutine.trace(component.parameters).get_trace()
    laws: dict[str, Any] = {name: node["fn"] for name, node in trace.iter_stochastic_nodes()}
    return laws


def _check_site(name: str, law: Distribution, other: Distribution) -> None:
    """Refuse supports that no fixed bijection maps to real numbers."""
    if law.support is not None and law.support.is_discrete:
        raise ValueError(
            f"component.parameters has the discrete site {name!r}, expected continuous ones: "
            "sum it out in the likelihood"
        )
    try:
        zero = torch.zeros(biject_to(law.support).inverse_shape(law.event_shape))
    except NotImplementedError as error:
        raise ValueError(
            f"component.parameters has the site {name!r} with the support {law.support}, expected one that "
            "torch's biject_to knows: register a bijection, or use another parametrisation"
        ) from error
    if not torch.equal(biject_to(law.support)(zero), biject_to(other.support)(zero)):
        raise ValueError(
            f"component.parameters has the site {name!r} whose support depends on other parameters, "
            "expected a fixed one: sample it on a fixed range and scale it in the likelihood"
        )


_PRIOR_DRAWS = 1000
# Prior draws of which a chain's first parameters are chosen.
_GUESSES = 64
# Entries of the largest work array, 32 MiB of float64.
_MAX_ENTRIES = 1 << 22


def working_dtype(component: Component, data: Tensor) -> torch.dtype:
    """Return float64, or the type of a component's own draws where its program cannot take float64."""
    drawn = component.sample_prior((2,))
    try:
        wide = {name: value.double() for name, value in drawn.items()}
        component.log_prior(wide)
        component.likelihood(wide).log_prob(data[:1].double())
    except RuntimeError:
        return next(iter(drawn.values())).dtype
    return torch.float64


class ParameterTarget:
    r"""The density that slice sampling of cluster parameters leaves unchanged.

    .. math:: \log p(\theta_k(u)) + \log |d\theta_k / du| + \sum_{i : c_i = k} \log p(x_i \mid \theta_k(u))

    Args:
        component: the family of the clusters.
        data: points, ``(N, D)``.
        dtype: what parameters are evaluated in.
    """

    def __init__(self, component: Component, data: Tensor, *, dtype: torch.dtype) -> None:
        self.space = UnconstrainedSpace(component)
        self._component, self._data, self._dtype = component, data, dtype

    def prior_spread(self) -> Tensor:
        """Return half the central 68 % of the prior of each coordinate, ``(P,)``."""
        draws = self.space.unconstrain(self._component.sample_prior((_PRIOR_DRAWS,)))
        low, high = draws.quantile(torch.tensor([0.16, 0.84], dtype=torch.float64), dim=0)
        return 0.5 * (high - low)

    def parameters(self, vectors: Tensor) -> dict[str, Tensor]:
        """Return the parameters at vectors of real numbers."""
        return {name: value.to(self._dtype) for name, value in self.space.constrain(vectors)[0].items()}

    def log_density(self, vectors: Tensor, clusters: ChainClusters) -> Tensor:
        """Return the log density of candidates for all clusters in nats, minus infinity for nan.

        Shape:
            vectors: ``(Q, T, P)``; output: ``(Q, T)`` float64.
        """
        parameters, log_jacobian = self.space.constrain(vectors)
        parameters = {name: value.to(self._dtype) for name, value in parameters.items()}
        log_prior = self._component.log_prior(parameters).double()
        total = log_prior + log_jacobian + self._log_likelihood(parameters, clusters)
        return finite_or_impossible(total)

    def guess(self, clusters: ChainClusters) -> dict[str, Tensor]:
        """Choose first parameters for every cluster among draws of the prior, by likelihood."""
        drawn = self._component.sample_prior((_GUESSES, clusters.num_rows))
        drawn = {name: value.to(self._dtype) for name, value in drawn.items()}
        score = self._log_likelihood(drawn, clusters)
        best = (score - torch.empty_like(score).exponential_().log()).argmax(0)
        return {name: value[best, torch.arange(clusters.num_rows)] for name, value in drawn.items()}

    def _log_likelihood(self, parameters: dict[str, Tensor], clusters: ChainClusters) -> Tensor:
        """Sum the log-likelihoods of the points of every cluster, ``(Q, T)``, in slices of bounded memory."""
        rows = clusters.rows.reshape(-1)
        data = self._data.expand(len(clusters.labels), -1, -1).reshape(len(rows), -1)
        wide = sum(value[0, 0].numel() for value in parameters.values()) + data.shape[-1]
        count, step = len(next(iter(parameters.values()))), max(1, _MAX_ENTRIES // (wide * len(rows)))
        total = torch.zeros(count, clusters.num_rows, dtype=torch.float64)
        for first in range(0, count, step):
            part = slice(first, first + step)
            of_points = {name: value[part, rows] for name, value in parameters.items()}
            log_prob = log_likelihood(self._component, of_points, data, batch=2)
            total[part].index_add_(1, rows, log_prob)
        return total
