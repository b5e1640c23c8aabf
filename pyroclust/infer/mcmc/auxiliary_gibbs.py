"""Gibbs sampling of a mixture of any components: Neal's Algorithm 8."""

import numpy as np
import torch
from pyro.distributions import validation_enabled
from torch import Tensor

from pyroclust.core.counts import check_count
from pyroclust.core.random_state import preserved_random_state
from pyroclust.distributions import Component, DynamicMixturesPrior
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.mcmc.auxiliary_pass import AuxiliaryPass, AuxiliaryPool, seating_weights
from pyroclust.infer.mcmc.kernel import PartitionKernel
from pyroclust.infer.mcmc.loop import Transition
from pyroclust.infer.mcmc.parameters.clusters import ChainClusters, ChainFamilies
from pyroclust.infer.mcmc.parameters.target import working_dtype
from pyroclust.infer.mcmc.parameters.updates import ExactParameters, ParameterUpdates, SliceParameters
from pyroclust.infer.mcmc.starts import Starts
from pyroclust.infer.mcmc.states import ChainStates, Trace, log_joint, log_prior_of_states
from pyroclust.partitions import canonical

__all__ = ["AuxiliaryGibbs", "AuxiliaryTransition", "has_density"]

# Labels whose collapsed log joint is computed at once.
_MAX_LABELS = 1 << 20


def has_density(component: Component) -> bool:
    """Return whether the density of a point in a cluster can be evaluated.

    Example:
        >>> from pyroclust.distributions import student_t
        >>> has_density(student_t())
        True
    """
    with preserved_random_state(), validation_enabled(False):
        law = component.likelihood(component.sample_prior((1,)))
        try:
            law.log_prob(law.sample())
        except NotImplementedError:
            return False
    return True


class AuxiliaryTransition(Transition):
    """Chains that draw parameters given partitions and partitions given parameters.

    Args:
        model: the model.
        data: points, ``(N, D)``.
        updates: how parameters are drawn.
        num_auxiliary: auxiliary parameters a visit.
        thin: sweeps a draw.
        states: where the chains start.
        generator: where compiled code takes its randomness from; parameters come from torch's.
    """

    def __init__(
        self,
        model: CollapsedModel,
        data: Tensor,
        *,
        updates: ParameterUpdates,
        num_auxiliary: int,
        thin: int,
        states: ChainStates,
        generator: np.random.Generator,
    ) -> None:
        self._model, self._thin, self._num_auxiliary = model, thin, num_auxiliary
        self._raw = data.detach().cpu()
        self._keeps = updates.keeps_parameters
        self._component_names = frozenset(model.component.hyperpriors) - set(model.prior.hyperpriors)
        self._set(states)
        component = self._families.of(torch.tensor(0))
        points = self._raw.double()
        with torch.no_grad(), validation_enabled(False):
            dtype = working_dtype(component, points)
            points = points.to(dtype)
            pool = AuxiliaryPool(points, num_auxiliary, num_chains=len(states.assignments), dtype=dtype)
            self._visit = AuxiliaryPass(points, pool, generator)
            self._updates = updates.bind(component, points, dtype=dtype, generator=generator)
            self.clusters = self._updates.start(ChainClusters.of(canonical(states.assignments)))

    def prepare(self, states: ChainStates) -> None:
        """Compile, by a sweep that is thrown away."""
        with torch.no_grad(), validation_enabled(False):
            self._sweep(self.clusters)

    def step(self, states: ChainStates) -> ChainStates:
        """Advance every chain by one draw."""
        return self.advance(states, 1).last()

    def advance(self, states: ChainStates, num_draws: int) -> Trace:
        """Advance every chain by several draws.

        Raises:
            ValueError: if parameters are kept and the partitions are not those of the latest draw.
        """
        if states.hyperparameters:
            self._set(states)
        self._resume(states)
        labels, scores = [], []
        with torch.no_grad(), validation_enabled(False):
            for _ in range(num_draws):
                for _ in range(self._thin):
                    self.clusters, log_own = self._sweep(self.clusters)
                labels.append(self.clusters.labels)
                if self._keeps:
                    scores.append(self.log_prior_of_parameters() + log_own.sum(-1))
            found = torch.stack(labels)
            if self._keeps:
                score = self._uncollapsed(found, torch.stack(scores), states)
            else:
                score = self._collapsed(found, states)
        given = states.hyperparameters.items()
        hyper = {name: value.unsqueeze(-1).expand(-1, num_draws) for name, value in given}
        return Trace(found.transpose(0, 1), hyper, score.mT)

    def _set(self, states: ChainStates) -> None:
        """Take over the hyperparameters of the chains."""
        model, hyper = self._model, states.hyperparameters
        of_component = {name: hyper[name] for name in hyper if name in self._component_names}
        of_prior = {name: hyper[name] for name in hyper if name not in self._component_names}
        self._families = ChainFamilies(model, of_component)
        self._prior = model.given(of_prior).prior
        self._weights: tuple[np.ndarray, np.ndarray] | None = None

    def _resume(self, states: ChainStates) -> None:
        labels = canonical(states.assignments)
        if torch.equal(labels, self.clusters.labels):
            return
        if self._keeps:
            raise ValueError(
                "assignments are not those of the kernel's latest draw, whose cluster parameters it keeps: "
                "start a new chain there with setup, and use no other kernel that moves points beside it"
            )
        self.clusters = ChainClusters.of(labels)

    def _sweep(self, clusters: ChainClusters) -> tuple[ChainClusters, Tensor]:
        drawn = self._updates.draw(clusters, self._families)
        return self._visit(drawn, self._families, self._seating(clusters.labels))

    def _seating(self, labels: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of choices, which change where a number of components is drawn beside them."""
        if self._weights is not None:
            return self._weights
        prior, bounds = self._prior, self._model.constraints
        if isinstance(prior, DynamicMixturesPrior):
            prior = prior.with_components(prior.sample_components(labels))
        weights = seating_weights(
            prior,
            labels.shape[-1],
            num_chains=len(labels),
            num_auxiliary=self._num_auxiliary,
            clusters=None if bounds is None else bounds.clusters,
        )
        self._weights = weights if self._prior.drawn_components is None else None
        return weights

    def log_prior_of_parameters(self) -> Tensor:
        """Return the log-density of the parameters of each chain's clusters in nats, ``(C,)``."""
        log_prior = self._model.component.log_prior(self.clusters.parameters).double()
        num_chains = len(self.clusters.labels)
        return log_prior.new_zeros(num_chains).index_add_(0, self.clusters.chain_of_row, log_prior)

    def _collapsed(self, labels: Tensor, states: ChainStates) -> Tensor:
        """Return log p(c, x, hyperparameters), ``(draws, C)``."""
        some = max(1, _MAX_LABELS // labels[0].numel())
        parts = [log_joint(self._model, self._raw, few, states.hyperparameters) for few in labels.split(some)]
        return torch.cat(parts)

    def _uncollapsed(self, labels: Tensor, scores: Tensor, states: ChainStates) -> Tensor:
        """Return log p(c, theta, x, hyperparameters), ``(draws, C)``."""
        return scores + log_prior_of_states(self._model, labels, states.hyperparameters)


class AuxiliaryGibbs(PartitionKernel):
    r"""Gibbs sampling of partition and cluster parameters with auxiliary parameters, for any component.

    A sweep draws the parameters :math:`\theta_k` of the clusters given the partition, then visits every
    point, which chooses among the K clusters of the others and m draws :math:`\theta_{K+1}, \dots` of the
    prior (the first of them its own parameters, where it was alone):

    .. math:: p(c_i = k \mid \cdot) \propto (n_{-i,k} - d) \, F(x_i; \theta_k), \qquad
        p(c_i = K + j \mid \cdot) \propto \frac{1}{m} \frac{V_N(K + 1)}{V_N(K)} \, F(x_i; \theta_{K+j})

    Parameters of conjugate families come from their exact posterior, all others from slice sampling. The
    likelihoods of all points under all clusters are one batched call a sweep, and one more for each cluster
    that opens; the visits are compiled. Cost O(N (K + m) D) a sweep; the table of likelihoods goes in blocks
    of bounded size, so memory is O(N m).

    Where parameters are kept from sweep to sweep (:attr:`keeps_parameters`), ``log_joint`` is
    log p(assignments, parameters, data, hyperparameters), else log p(assignments, data, hyperparameters).
    Beside kept parameters, a :class:`Compose` takes only kernels that leave the points where they are.

    Args:
        model: a model of any prior and component.
        num_auxiliary: auxiliary parameters m a visit: more of them mix faster a sweep, and cost more.
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

    def bind(self, data: Tensor, states: ChainStates, generator: np.random.Generator) -> AuxiliaryTransition:
        """Prepare chains, and choose their first parameters where these are kept."""
        self.bound = AuxiliaryTransition(
            self.model,
            data,
            updates=self.parameter_updates,
            num_auxiliary=self.num_auxiliary,
            thin=self.thin,
            states=states,
            generator=generator,
        )
        return self.bound
