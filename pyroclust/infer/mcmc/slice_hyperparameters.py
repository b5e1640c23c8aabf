"""Slice sampling of random hyperparameters."""

import numpy as np
import torch

from pyroclust.core.counts import check_number
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.mcmc.compiled.chain import hyper_places
from pyroclust.infer.mcmc.compiled.hyperparameters import SliceUpdate, density_code
from pyroclust.infer.mcmc.compiled_kernel import CompiledKernel
from pyroclust.infer.mcmc.starts import Starts

__all__ = ["SliceHyperparameters"]


class SliceHyperparameters(CompiledKernel):
    r"""Draw every random hyperparameter given the partition by univariate slice sampling, compiled.

    .. math:: p(h \mid c, x) \propto p(h) \, p(c \mid h) \prod_k p(x_{c = k} \mid h)

    on the log or logit scale, with stepping out and shrinkage: no tuning, no rejections. It does not move
    points: use it in :class:`Compose` beside a kernel that does. Cost of a hyperparameter: about 8
    evaluations of O(K F) each, O(K D^3) for full covariances, and O(N F) at the end.

    Args:
        model: a model with random hyperparameters; their priors may be Gamma, Exponential, InverseGamma,
            LogNormal, HalfNormal, HalfCauchy, FisherSnedecor, Beta, Uniform or Normal.
        init: where chains start, see :class:`PartitionKernel`.
        thin: rounds over all hyperparameters a draw.
        width: first width of the slice on the log, logit or plain scale.

    Raises:
        ValueError: if no hyperparameter of the model is random, a prior is of another kind, or ``thin`` or
            ``width`` are not positive.

    Example:
        >>> from pyro.distributions import Gamma
        >>> from pyroclust.distributions import ChineseRestaurantPrior, NormalInverseGamma
        >>> from pyroclust.infer.mcmc import CollapsedGibbs, Compose
        >>> from pyroclust.models import Mixture
        >>> model = Mixture(ChineseRestaurantPrior(Gamma(2.0, 4.0)),
        ...                 NormalInverseGamma(1, 0.1, shape=2.0, rate=Gamma(2.0, 10.0)))
        >>> kernel = Compose([CollapsedGibbs(model), SliceHyperparameters(model)])
        >>> draws = kernel.run(torch.randn(20, 1), num_draws=5, num_chains=2, seed=0)
        >>> sorted(draws.parameters), draws.parameters["rate"].shape
        (['concentration', 'rate'], (2, 5))

    References:
        Neal (2003), Slice sampling. https://doi.org/10.1214/aos/1056562461
    """

    moves_points = False
    keeps_constraints = True

    def __init__(
        self,
        model: CollapsedModel,
        *,
        init: Starts | torch.Tensor | None = None,
        thin: int = 1,
        width: float = 1.0,
    ) -> None:
        super().__init__(model, init=init, thin=thin)
        self.width = check_number("width", width, above=0)
        self._codes = {
            name: density_code(prior)
            for name, prior in model.hyperpriors.items()
            if name not in model.prior.integrated_names
        }
        if not self._codes:
            raise ValueError(
                "model has no random hyperparameter, expected one besides that of a GammaConcentration: "
                "give a Pyro distribution for a number, for instance ChineseRestaurantPrior(Gamma(2.0, 4.0))"
            )
        of_prior = self._codes.keys() & model.prior.hyperpriors.keys()
        if of_prior and not model.prior.is_pitman_yor and model.prior.drawn_components is None:
            raise ValueError(
                f"model.prior is a {type(model.prior).__name__} with random {', '.join(of_prior)}, expected "
                "numbers: only those of Pitman-Yor priors and of mixtures with a random number of "
                "components are sampled"
            )

    @property
    def updates(self) -> frozenset[str]:
        """All random hyperparameters of the model."""
        return frozenset(self.model.hyperpriors)

    def moves(self, num_points: int) -> tuple[SliceUpdate]:
        """Return ``thin`` rounds over the hyperparameters."""
        places = hyper_places(self.model)
        names = sorted(self._codes)
        return (
            SliceUpdate(
                places=np.array([places[name] for name in names]),
                kind=np.array([self._codes[name][0] for name in names]),
                parameters=np.array([self._codes[name][1:] for name in names]),
                width=self.width,
                rounds=self.thin,
            ),
        )
