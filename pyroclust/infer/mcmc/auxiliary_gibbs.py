"""Gibbs sampling of a mixture of any components: Neal's Algorithm 8."""

import numpy as np
from torch import Tensor

from pyroclust.distributions import ConjugateComponent
from pyroclust.infer.mcmc.auxiliary_transition import AuxiliaryTransition
from pyroclust.infer.mcmc.kernel import PartitionKernel
from pyroclust.infer.mcmc.parameter_updates import ExactParameters, ParameterUpdates, SliceParameters
from pyroclust.infer.mcmc.protocol import CollapsedModel
from pyroclust.infer.mcmc.starts import Starts
from pyroclust.infer.mcmc.states import ChainStates

__all__ = ["AuxiliaryGibbs"]


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
        torch.Size([2, 5, 3])
        >>> kernel.parameters["loc"].shape[:2]
        torch.Size([2, 3])

    References:
        Neal (2000), Markov chain sampling methods for Dirichlet process mixture models, Algorithm 8.
        https://doi.org/10.1080/10618600.2000.10474879
        Favaro and Teh (2013), MCMC for normalized random measure mixture models, section 3, for other priors.
        https://doi.org/10.1214/13-STS422
    """

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
        if num_auxiliary < 1:
            raise ValueError(f"num_auxiliary is {num_auxiliary}, expected at least 1")
        exact = isinstance(model.component, ConjugateComponent)
        default = ExactParameters() if exact else SliceParameters()
        self.num_auxiliary = num_auxiliary
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
