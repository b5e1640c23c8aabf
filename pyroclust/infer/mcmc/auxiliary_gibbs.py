"""Gibbs sampling of a mixture of any components: Neal's Algorithm 8."""

import math

import numpy as np
import torch
from pyro.distributions import validation_enabled
from torch import Tensor

from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import check_count
from pyroclust.core.random_state import preserved_random_state
from pyroclust.distributions import Component, DynamicMixturesPrior
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.mcmc.compiled.seating import Seating, Tables, collect, more_slots, seat, visit_points
from pyroclust.infer.mcmc.kernel import PartitionKernel, Transition
from pyroclust.infer.mcmc.parameters import (
    ChainClusters,
    ChainFamilies,
    ExactParameters,
    ParameterUpdates,
    SliceParameters,
    finite_or_impossible,
    log_likelihood,
    working_dtype,
)
from pyroclust.infer.mcmc.states import ChainStates, Starts, Trace, log_joint, log_prior_of_states
from pyroclust.partitions import canonical

# Draws made at once: enough that the price of a Pyro program is small beside them.
_DRAWS = 1 << 13
# Bytes for which nobody looks how much memory is left, which takes a tenth of a sweep of few points.
_SMALL = 1 << 26
# Entries of the table of log-likelihoods, 32 MiB of float64.
_MAX_ENTRIES = 1 << 22
# Labels whose collapsed log joint is computed at once.
_MAX_LABELS = 1 << 20
_SPARE_SLOTS = 16
# In nats, of a point that has to stay alone beside the fewest clusters: no likelihood weighs against it.
_SURE = 1e9


def has_density(component: Component) -> bool:
    """Return whether the density of a point in a cluster can be evaluated."""
    with preserved_random_state(), validation_enabled(False):
        law = component.likelihood(component.sample_prior((1,)))
        try:
            law.log_prob(law.sample())
        except NotImplementedError:
            return False
    return True


class AuxiliaryGibbs(PartitionKernel):
    r"""Gibbs sampling of partition and cluster parameters with auxiliary parameters, for any component.

    A sweep draws the parameters :math:`\theta_k` of the clusters given the partition, then visits every
    point, which chooses among the K clusters of the others and m draws :math:`\theta_{K+1}, \dots` of the
    prior (the first of them its own parameters, where it was alone):

    .. math:: p(c_i = k \mid \cdot) \propto (n_{-i,k} - d) \, F(x_i; \theta_k), \qquad
        p(c_i = K + j \mid \cdot) \propto \frac{1}{m} \frac{V_N(K + 1)}{V_N(K)} \, F(x_i; \theta_{K+j})

    Parameters of conjugate families come from their exact posterior, all others from slice sampling. The
    likelihoods of all points under all clusters are one batched call a sweep; the visits are compiled. Cost
    O(N (K + m) D) a sweep, memory O(N m).

    Where parameters are kept from sweep to sweep (:attr:`keeps_parameters`), ``log_joint`` is
    log p(assignments, parameters, data, hyperparameters), and a :class:`Compose` takes no other kernel that
    moves points.

    Args:
        model: a model of any prior and component.
        num_auxiliary: auxiliary parameters m a visit.
        parameter_updates: how parameters are drawn given the partition; by default
            :class:`ExactParameters` for conjugate families, :class:`SliceParameters` for others.
        init: where chains start, see :class:`PartitionKernel`.
        thin: sweeps a draw.

    Raises:
        ValueError: if ``num_auxiliary`` or ``thin`` is not positive.

    Example:
        >>> import torch
        >>> from pyroclust.distributions import ChineseRestaurantPrior, student_t
        >>> from pyroclust.models import Mixture
        >>> kernel = AuxiliaryGibbs(Mixture(ChineseRestaurantPrior(1.0), student_t()))
        >>> data = torch.tensor([[0.0], [0.1], [30.0]])
        >>> kernel.run(data, num_draws=5, warmup=5, num_chains=2, seed=0).assignments.shape
        (2, 5, 3)
        >>> kernel.parameters["loc"].shape[:2]
        torch.Size([2, 3])

    References:
        Neal (2000), Markov chain sampling methods for Dirichlet process mixture models, Algorithm 8.
        https://doi.org/10.1080/10618600.2000.10474879
        Favaro and Teh (2013), MCMC for normalized random measure mixture models, section 3, for other priors.
        https://doi.org/10.1214/13-STS422
    """

    keeps_number = True

    def __init__(
        self,
        model: CollapsedModel,
        *,
        num_auxiliary: int = 3,
        parameter_updates: ParameterUpdates | None = None,
        init: Starts | Tensor | None = None,
        thin: int = 1,
    ) -> None:
        super().__init__(model, init=init, thin=thin)
        default = ExactParameters() if model.is_conjugate else SliceParameters()
        self.num_auxiliary = check_count("num_auxiliary", num_auxiliary)
        self.parameter_updates = default if parameter_updates is None else parameter_updates
        if self.keeps_parameters and model.component.hyperpriors:
            raise ValueError(
                f"model.component has the random hyperparameters {sorted(model.component.hyperpriors)}, "
                "expected numbers where cluster parameters are kept: use ExactParameters() or known ones"
            )
        self.bound: AuxiliaryTransition | None = None

    @property
    def keeps_parameters(self) -> bool:
        """Whether the kernel keeps cluster parameters from draw to draw."""
        return self.parameter_updates.keeps_parameters

    def check_data(self, data: Tensor) -> None:
        """Refuse a component whose points have no density to evaluate.

        Raises:
            ValueError: if so.
        """
        if not self.model.is_conjugate and not has_density(self.model.component):
            raise ValueError(
                f"model is '{self.model.name}', whose points have no density that could be evaluated, "
                f"expected one that has: {type(self).__name__} needs the likelihood of a point in a "
                "cluster; a guide of a model that can only be simulated is judged by pyroclust.calibrate"
            )

    @property
    def parameters(self) -> dict[str, Tensor]:
        """Parameters of every point's cluster in the latest draw, by name.

        Shape:
            output: ``(chains, N, *event)`` each.

        Raises:
            ValueError: if nothing was run.
        """
        if self.bound is None:
            raise ValueError("the kernel has no draws, expected run(data, ...) or pyro.infer.MCMC first")
        return self.bound.clusters.of_points()

    def bind(
        self, data: Tensor, states: ChainStates, generator: np.random.Generator
    ) -> "AuxiliaryTransition":
        """Prepare chains, and choose their first parameters where these are kept."""
        self.bound = AuxiliaryTransition(self, data, states, generator)
        return self.bound


class AuxiliaryTransition(Transition):
    """Chains that draw parameters given partitions and partitions given parameters."""

    def __init__(
        self, kernel: AuxiliaryGibbs, data: Tensor, states: ChainStates, generator: np.random.Generator
    ) -> None:
        self._kernel, self._model, self._generator = kernel, kernel.model, generator
        self._raw = data.detach().cpu()
        self._component_names = (
            self._model.component.hyperpriors.keys() - self._model.prior.hyperpriors.keys()
        )
        self._set(states)
        component = self._families.of(torch.tensor(0))
        with torch.no_grad(), validation_enabled(False):
            dtype = working_dtype(component, self._raw.double())
            self._data = self._raw.to(dtype)
            self._pool = _AuxiliaryPool(
                self._data, kernel.num_auxiliary, num_chains=len(states.assignments), dtype=dtype
            )
            self._updates = kernel.parameter_updates.bind(
                component, self._data, dtype=dtype, generator=generator
            )
            self.clusters = self._updates.start(ChainClusters.of(canonical(states.assignments)))

    def prepare(self, states: ChainStates) -> None:
        """Compile, by a sweep that is thrown away."""
        clusters = self.clusters
        with torch.no_grad(), validation_enabled(False):
            self._sweep()
        self.clusters = clusters

    def advance(self, states: ChainStates, num_draws: int, *, every: int = 1) -> Trace:
        if states.hyperparameters:
            self._set(states)
        self._resume(states)
        labels, scores = [], []
        with torch.no_grad(), validation_enabled(False):
            for _ in range(num_draws):
                for _ in range(every):
                    log_own = self._sweep()
                labels.append(self.clusters.labels)
                if self._kernel.keeps_parameters:
                    scores.append(self.log_prior_of_parameters() + log_own.sum(-1))
            drawn, hyper = torch.stack(labels), states.hyperparameters
            if scores:
                log_joints = torch.stack(scores) + log_prior_of_states(self._model, drawn, hyper)
            else:
                parts = drawn.split(max(1, _MAX_LABELS // labels[0].numel()))
                log_joints = torch.cat([log_joint(self._model, self._raw, few, hyper) for few in parts])
        kept = {name: value.unsqueeze(-1).expand(-1, num_draws) for name, value in hyper.items()}
        return Trace(drawn.transpose(0, 1), kept, log_joints.mT)

    def log_prior_of_parameters(self) -> Tensor:
        """Return the log-density of the parameters of each chain's clusters in nats, ``(C,)``."""
        log_prior = self._model.component.log_prior(self.clusters.parameters).double()
        num_chains = len(self.clusters.labels)
        return log_prior.new_zeros(num_chains).index_add_(0, self.clusters.chain_of_row, log_prior)

    def _set(self, states: ChainStates) -> None:
        hyper = states.hyperparameters
        of_component = {name: hyper[name] for name in hyper if name in self._component_names}
        of_prior = {name: hyper[name] for name in hyper if name not in self._component_names}
        self._families = ChainFamilies(self._model, of_component)
        self._prior = self._model.given(of_prior).prior
        self._weights: tuple[np.ndarray, np.ndarray] | None = None

    def _resume(self, states: ChainStates) -> None:
        labels = canonical(states.assignments)
        if torch.equal(labels, self.clusters.labels):
            return
        if self._kernel.keeps_parameters:
            raise ValueError(
                "assignments are not those of the kernel's latest draw, whose cluster parameters it keeps: "
                "start a new chain there with setup, and use no other kernel that moves points beside it"
            )
        self.clusters = ChainClusters.of(labels)

    def _sweep(self) -> Tensor:
        """Draw parameters, then visit every point; return the log-likelihood of each, ``(C, N)``.

        Points are visited in blocks whose table of log-likelihoods is bounded.
        """
        self.clusters = self._updates.draw(self.clusters, self._families)
        weights = self._seating_weights()
        num_points, start = len(self._data), 0
        log_own = torch.empty(self.clusters.labels.shape, dtype=torch.float64)
        while start < num_points:
            widest = max(2 * self.clusters.num_rows + _SPARE_SLOTS, self._pool.num_draws)
            stop = min(num_points, start + max(1, _MAX_ENTRIES // widest))
            block = _Block(self.clusters, self._families, self._data[start:stop], start)
            auxiliary = self._pool.take(self._families, start, stop)
            uniforms = self._generator.random(auxiliary[1].shape[:2])
            self.clusters = block.visit(auxiliary, weights, uniforms)
            log_own[:, start:stop] = torch.from_numpy(block.seating.log_own[:, start:stop])
            start = stop
        return log_own

    def _seating_weights(self) -> tuple[np.ndarray, np.ndarray]:
        r"""Return log weights of joining a cluster of n points, and of each choice that opens one beside K.

        .. math:: \log(n - d), \qquad \log \frac{V_N(K + 1)}{V_N(K)} - \log m

        Where the number of clusters is bounded, none is opened beside the most, and one is in any case beside
        fewer than the fewest. ``(C, N + 1)`` each; they change where a number of components is drawn.
        """
        if self._weights is not None:
            return self._weights
        prior, labels = self._prior, self.clusters.labels
        num_chains, num_points = labels.shape
        if isinstance(prior, DynamicMixturesPrior):
            prior = prior.with_components(prior.sample_components(labels))
        sizes, pad = torch.arange(1, num_points + 1), torch.nn.functional.pad
        log_join = (sizes - prior.block_discount.unsqueeze(-1)).log().expand(num_chains, -1)
        odds = prior.log_opening_odds(num_points - 1, sizes[:-1].unsqueeze(-1)).mT.expand(num_chains, -1)
        log_open = pad(odds - math.log(self._kernel.num_auxiliary), (1, 1), value=-torch.inf)
        constraints = self._model.constraints
        if constraints is not None and constraints.clusters is not None:
            fewest, most = constraints.clusters
            log_open[:, most:] = -torch.inf
            log_open[:, fewest - 1] = _SURE
        weights = pad(log_join, (1, 0), value=-torch.inf).numpy(), log_open.numpy()
        self._weights = weights if self._prior.drawn_components is None else None
        return weights


class _AuxiliaryPool:
    """Draws auxiliary parameters of every point, with their log-likelihoods, for several sweeps at once.

    Where the family of a chain changes between sweeps, draws are made one sweep at a time.
    """

    def __init__(self, data: Tensor, num_auxiliary: int, *, num_chains: int, dtype: torch.dtype) -> None:
        self._data, self._num_chains, self._dtype = data, num_chains, dtype
        self._num_auxiliary = num_auxiliary
        self._parameters: dict[str, Tensor] = {}
        self._log_likelihood = torch.empty(0)
        self._left = 0

    @property
    def num_draws(self) -> int:
        """Draws that one point needs, over all chains."""
        return self._num_auxiliary * self._num_chains

    def take(self, families: ChainFamilies, start: int, stop: int) -> tuple[dict[str, Tensor], Tensor]:
        """Return auxiliary parameters of some points, never the same twice, and their log-likelihoods.

        Shape:
            output: ``(C, B, m, *event)`` by name, and ``(C, B, m)`` float64.
        """
        sweeps = max(1, _DRAWS // (self.num_draws * len(self._data)))
        if families.values or stop - start < len(self._data) or sweeps == 1:
            parameters, log_likelihood = self._draw(families, 1, self._data[start:stop])
            return {name: value[0] for name, value in parameters.items()}, log_likelihood[0]
        if self._left == 0:
            self._parameters, self._log_likelihood = self._draw(families, sweeps, self._data)
            self._left = sweeps
        self._left -= 1
        parameters = {name: value[self._left] for name, value in self._parameters.items()}
        return parameters, self._log_likelihood[self._left]

    def _draw(self, families: ChainFamilies, sweeps: int, data: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        family = families.of(torch.arange(self._num_chains).view(-1, 1, 1))
        shape = (sweeps, self._num_chains, len(data), self._num_auxiliary, 1)
        needed = 2 * math.prod(shape) * data.shape[-1] * self._dtype.itemsize
        if needed > _SMALL:
            what = f"num_auxiliary is {self._num_auxiliary}: parameters for {len(data)} points"
            check_memory(needed, what, remedy="take fewer")
        drawn = {name: value.to(self._dtype) for name, value in family.sample_prior(shape).items()}
        log_prob = family.likelihood(drawn).log_prob(data.view(-1, 1, 1, data.shape[-1])).squeeze(-1)
        return {name: value.squeeze(4) for name, value in drawn.items()}, finite_or_impossible(log_prob)


class _Block:
    """Consecutive points, and the log-likelihoods of all under every cluster: a table that gains columns."""

    def __init__(self, clusters: ChainClusters, families: ChainFamilies, data: Tensor, start: int) -> None:
        self._families, self._data, self._start = families, data, start
        taken, slots = clusters.num_rows, 2 * clusters.num_rows + _SPARE_SLOTS
        self.seating: Seating = seat(clusters.rows.numpy(), taken, slots)
        self._parameters = {name: _lengthen(value, slots) for name, value in clusters.parameters.items()}
        self._table = torch.empty(len(data), slots, dtype=torch.float64)
        family = families.of(clusters.chain_of_row)
        self._table[:, :taken] = log_likelihood(family, clusters.parameters, data.unsqueeze(1), batch=1)

    def visit(
        self,
        auxiliary: tuple[dict[str, Tensor], Tensor],
        weights: tuple[np.ndarray, np.ndarray],
        uniforms: np.ndarray,
    ) -> ChainClusters:
        parameters, log_auxiliary = auxiliary
        tables = Tables(*weights, self._table.numpy(), log_auxiliary.numpy(), uniforms)
        while visit_points(self.seating, tables, self._start):
            self._open(parameters)
            if self.seating.num_free[0] < len(uniforms):
                self._grow()
                tables = tables._replace(log_likelihood=self._table.numpy())
        labels, rows, slots, chains = (torch.from_numpy(one) for one in collect(self.seating))
        kept = {name: value[slots] for name, value in self._parameters.items()}
        return ChainClusters(labels, rows, chains, kept)

    def _open(self, auxiliary: dict[str, Tensor]) -> None:
        """Give opened clusters their parameters, and later points the log-likelihoods under them."""
        chains = np.flatnonzero(self.seating.opened >= 0)
        slots = torch.from_numpy(self.seating.opened[chains])
        visited = self.seating.position[chains]
        index = tuple(torch.from_numpy(one) for one in (chains, visited - 1, self.seating.choice[chains]))
        new = {name: value[index] for name, value in auxiliary.items()}
        for name, value in new.items():
            self._parameters[name][slots] = value
        first = int(visited.min())
        if first < len(self._data):
            later = self._data[first:].unsqueeze(1)
            self._table[first:, slots] = log_likelihood(self._families.of(index[0]), new, later, batch=1)

    def _grow(self) -> None:
        slots = 2 * self._table.shape[1]
        self.seating = more_slots(self.seating, slots)
        self._parameters = {name: _lengthen(value, slots) for name, value in self._parameters.items()}
        self._table = torch.nn.functional.pad(self._table, (0, slots - self._table.shape[1]))


def _lengthen(values: Tensor, rows: int) -> Tensor:
    return torch.cat([values, values[:1].expand(rows - len(values), *values.shape[1:])])
