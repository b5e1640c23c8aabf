"""Truncated variational Bayes of Gaussian mixtures by scikit-learn, as a reference for partitions."""

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.special import betaln, gammaln
from torch import Tensor

from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    NormalInverseGamma,
    NormalInverseWishart,
)
from pyroclust.infer.checks import check_points
from pyroclust.infer.mcmc.compiled.protocol import CollapsedModel
from pyroclust.infer.variational import VariationalDraws
from pyroclust.partitions import canonical

__all__ = ["truncated_gaussian_mixture"]


class _NormalWishart(NamedTuple):
    """The prior of a component as scikit-learn has it: covariances of scale psi and dof nu."""

    mean: float
    kappa: float
    dof: float
    scale: float


def truncated_gaussian_mixture(
    model: CollapsedModel,
    data: Tensor,
    *,
    num_components: int,
    num_draws: int = 1000,
    seed: int = 0,
    num_starts: int = 10,
    max_steps: int = 1000,
) -> VariationalDraws:
    r"""Fit scikit-learn's ``BayesianGaussianMixture`` to a model's own prior, then draw partitions.

    .. math:: q(z, w, \theta) = \prod_i q(z_i) \; q(w) \prod_k q(\theta_k)

    Full covariances under the model's normal-inverse-Wishart prior; Dirichlet process weights for a Chinese
    restaurant prior, Dirichlet weights for a Dirichlet-multinomial one. Labels are drawn independently from
    the responsibilities :math:`q(z_i)`: this is what mean-field says of the partition, and it is too sure of
    it.

    The lower bound is scikit-learn's with the constants put back that it leaves out, so that it bounds the
    log-evidence of the model.

    Args:
        model: a model with a Chinese restaurant or Dirichlet-multinomial prior and normal-inverse-Wishart
            components (normal-inverse-gamma ones in one dimension), hyperparameters known.
        data: points, ``(N, D)``.
        num_components: components T of the approximation, at most N; the M of a Dirichlet-multinomial prior.
        num_draws: partitions S.
        seed: seed of starts and draws.
        num_starts: runs from different starts, the best of which is kept.
        max_steps: most steps a run, each O(N T D^2).

    Raises:
        ValueError: if the model has no counterpart in scikit-learn, or a count does not fit.

    Example:
        >>> from pyroclust.models import Mixture
        >>> model = Mixture(ChineseRestaurantPrior(1.0), NormalInverseWishart(1, 0.1, dof=3.0, scale=1.0))
        >>> data = torch.tensor([[0.0], [0.3], [0.1], [9.0], [9.2], [9.1]])
        >>> truncated_gaussian_mixture(model, data, num_components=3, num_draws=2).assignments[0]
        tensor([0, 0, 0, 1, 1, 1])

    References:
        Blei & Jordan (2006), Variational inference for Dirichlet process mixtures.
        https://doi.org/10.1214/06-BA104
    """
    from sklearn.mixture import BayesianGaussianMixture

    check_points(data, model.component.dim)
    prior = _normal_wishart(model)
    kind, concentration = _weights(model, num_components)
    if not 1 <= num_components <= len(data) or num_draws < 1:
        raise ValueError(
            f"num_components and num_draws are {num_components} and {num_draws}, "
            f"expected 1 to {len(data)}, the number of points, and at least 1"
        )
    points = data.detach().cpu().double().numpy()
    dim = points.shape[1]
    fitted = BayesianGaussianMixture(
        n_components=num_components,
        weight_concentration_prior_type=kind,
        weight_concentration_prior=concentration,
        mean_precision_prior=prior.kappa,
        mean_prior=np.full(dim, prior.mean),
        degrees_of_freedom_prior=prior.dof,
        covariance_prior=prior.scale * np.eye(dim),
        reg_covar=0.0,
        init_params="k-means++",
        n_init=num_starts,
        max_iter=max_steps,
        tol=1e-4,
        random_state=seed,
    ).fit(points)
    constant = _left_out(prior, kind, concentration, num_components=num_components, shape=points.shape)
    elbo = torch.tensor(fitted.lower_bounds_, dtype=torch.float64) + constant
    return VariationalDraws(_draw(fitted, points, num_draws=num_draws, seed=seed), elbo)


def _normal_wishart(model: CollapsedModel) -> _NormalWishart:
    component = model.component
    if isinstance(component, NormalInverseWishart):
        names = ("mean", "kappa", "dof", "scale")
        return _NormalWishart(*(component.value(name).item() for name in names))
    if isinstance(component, NormalInverseGamma) and component.dim == 1:
        mean, kappa, shape, rate = (
            component.value(name).item() for name in ("mean", "kappa", "shape", "rate")
        )
        return _NormalWishart(mean, kappa, 2 * shape, 2 * rate)
    raise ValueError(
        f"model.component is a {type(component).__name__} of dimension {component.dim}, expected a "
        "NormalInverseWishart, or a NormalInverseGamma of dimension 1: scikit-learn has no other prior"
    )


def _weights(model: CollapsedModel, num_components: int) -> tuple[str, float]:
    """Return scikit-learn's name of the prior of the weights, and its parameter."""
    if isinstance(model.prior, ChineseRestaurantPrior):
        return "dirichlet_process", model.prior.value("concentration").item()
    if isinstance(model.prior, DirichletMultinomialPrior):
        if num_components != int(model.prior.value("num_components")):
            raise ValueError(
                f"num_components is {num_components}, expected {int(model.prior.value('num_components'))}, "
                "as the prior has it"
            )
        return "dirichlet_distribution", model.prior.value("weight_concentration").item()
    raise ValueError(
        f"model.prior is a {type(model.prior).__name__}, expected a ChineseRestaurantPrior or a "
        "DirichletMultinomialPrior: scikit-learn has no other; fix a random concentration to a number"
    )


def _left_out(
    prior: _NormalWishart, kind: str, concentration: float, *, num_components: int, shape: tuple[int, ...]
) -> float:
    """Return what scikit-learn's bound lacks: the normalisers of the priors, and powers of 2 pi."""
    num_points, dim = shape
    log_wishart = 0.5 * dim * prior.dof * (math.log(2.0) - math.log(prior.scale)) + float(
        gammaln(0.5 * (prior.dof - np.arange(dim))).sum()
    )
    components = num_components * (0.5 * dim * math.log(prior.kappa) - log_wishart)
    if kind == "dirichlet_process":
        weights = -num_components * float(betaln(1.0, concentration))
    else:
        weights = float(gammaln(num_components * concentration) - num_components * gammaln(concentration))
    return components + weights - 0.5 * num_points * dim * math.log(2 * math.pi)


def _draw(fitted: Any, points: np.ndarray, *, num_draws: int, seed: int) -> Tensor:
    shares = fitted.predict_proba(points).cumsum(-1)
    uniform = np.random.default_rng(seed).random((num_draws, len(points), 1))
    labels = (uniform * shares[:, -1:] >= shares).sum(-1)
    return canonical(torch.from_numpy(labels))
