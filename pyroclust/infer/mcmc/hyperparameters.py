"""Kernels that draw random hyperparameters: alone, or together with the whole partition."""

from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from pyroclust.core.numbers import check_number
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.mcmc.compiled.chain import hyper_places
from pyroclust.infer.mcmc.compiled.hyperparameters import Code, Reallocation, SliceUpdate, density_code
from pyroclust.infer.mcmc.compiled.proposals import ACCEPTED, PROPOSED
from pyroclust.infer.mcmc.compiled.runner import END_OF_STEP
from pyroclust.infer.mcmc.compiled_kernel import CompiledKernel
from pyroclust.infer.mcmc.states import Starts

# The farthest step on the log or logit scale: in eight columns a cluster of a hundred points has 40 times the
# scale of many.
_WIDTH = 6.0


def _densities(model: CollapsedModel, codes: dict[str, Code]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return places, kinds and parameters of the prior densities of hyperparameters, in order of name."""
    places, names = hyper_places(model), sorted(codes)
    return (
        np.array([places[name] for name in names]),
        np.array([codes[name][0] for name in names]),
        np.array([codes[name][1:] for name in names]),
    )


class SliceHyperparameters(CompiledKernel):
    r"""Draw every random hyperparameter given the partition by univariate slice sampling, compiled.

    .. math:: p(h \mid c, x) \propto p(h) \, p(c \mid h) \prod_k p(x_{c = k} \mid h)

    on the log or logit scale, with stepping out and shrinkage. It does not move points: use it in
    :class:`Compose` beside a kernel that does. Cost of a hyperparameter: about 8 evaluations of O(K F) each,
    O(K D^3) for full covariances, and O(N F) at the end.

    Args:
        model: a model with random hyperparameters; their priors may be Gamma, Exponential, InverseGamma,
            LogNormal, HalfNormal, HalfCauchy, FisherSnedecor, Beta, Uniform or Normal.
        init: where chains start, see :class:`PartitionKernel`.
        thin: rounds over all hyperparameters a draw.
        width: first width of the slice on the log, logit or plain scale.

    Raises:
        ValueError: if no hyperparameter of the model is random, or a prior is of another kind.

    Example:
        >>> import torch
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
    needs_marginals = False

    def __init__(
        self,
        model: CollapsedModel,
        *,
        init: Starts | Tensor | None = None,
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
        return frozenset(self.model.hyperpriors)

    def moves(self, num_points: int) -> tuple[SliceUpdate]:
        return (SliceUpdate(*_densities(self.model, self._codes), width=self.width),)


class Reallocate(CompiledKernel):
    r"""Propose another value of a random hyperparameter of the family and, under it, another partition.

    .. math:: r = \frac{p(h', z', x)}{p(h, z, x)} \, \frac{q(z \mid h)}{q(z' \mid h')} \,
        \Bigl(\frac{K'}{K}\Bigr)^2

    on the log or logit scale of h; q allocates points one after the other by their predictive densities, in
    an order that is drawn and the same both ways. The last factor belongs to a random bound of K', which ends
    proposals that would take long. Few wide clusters and many narrow ones can each be a mode, and partitions
    in between be improbable under every scale: then no move of the partition given the scale leads from many
    to few. This one does, and once there hardly anything is accepted: put other kernels beside it in
    :class:`Compose`. A proposal costs about three sweeps.
    """

    keeps_constraints = False

    def __init__(
        self,
        model: CollapsedModel,
        *,
        init: Starts | Tensor | None = None,
        thin: int = 1,
        share: float = 1.0,
    ) -> None:
        super().__init__(model, init=init, thin=thin)
        self.share = share
        self._counts = np.zeros(2, dtype=np.int64)

    @property
    def updates(self) -> frozenset[str]:
        """The random hyperparameters of the family, and the concentration where it has a Gamma prior."""
        return super().updates | self.model.component.hyperpriors.keys()

    def moves(self, num_points: int) -> tuple[NamedTuple, ...]:
        priors = self.model.component.hyperpriors
        densities = _densities(self.model, {name: density_code(prior) for name, prior in priors.items()})
        self._counts = np.zeros(2, dtype=np.int64)
        return (Reallocation(*densities, _WIDTH, self.share, self._counts), *END_OF_STEP)

    def diagnostics(self) -> dict[str, Any]:
        """Return the share of proposals accepted in the latest run, nan where nothing was proposed."""
        with np.errstate(invalid="ignore"):
            share = self._counts[ACCEPTED] / self._counts[PROPOSED]
        return {**super().diagnostics(), "reallocations accepted": float(share)}
