"""Blocked Gibbs sampling of large tables: all rows at once, given parameters of the clusters."""

from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from pyroclust.core.random_state import preserved_random_state
from pyroclust.distributions.compiled.protocol import draws_parameters, family_of
from pyroclust.distributions.protocols import CollapsedModel, is_of_graphs
from pyroclust.infer.mcmc.compiled.births import BirthsAndDeaths
from pyroclust.infer.mcmc.compiled.blocked import BlockedProposals, BlockedSweep
from pyroclust.infer.mcmc.compiled.runner import END_OF_STEP
from pyroclust.infer.mcmc.compiled.visits import OpenAndClose, SomeVisits
from pyroclust.infer.mcmc.compiled_kernel import CompiledKernel
from pyroclust.infer.mcmc.split_merge import shares_accepted
from pyroclust.infer.mcmc.states import Starts

# Of all rows one in so many is visited a step, but no fewer than so many.
_VISITED, _FEWEST_VISITS = 20, 500
# Proposals that a row is alone, or is so no more, a step.
_ALONE = 100
# Births or deaths of whole clusters a step, and rows that they learn from.
_BIRTHS, _SEEN = 4, 4
# Splits and merges a step; most merges are refused by their densities alone, before a row is looked at.
_PROPOSALS, _SPLITS = 10, 0.1
# Rows that find where a cluster may be split, how often they are drawn, and all rows of it then.
_ROWS, _SCANS, _STAGES = 200, 2, 2


def can_draw_at_once(model: CollapsedModel) -> bool:
    """Return whether :class:`BlockedGibbs` can run on a model."""
    if is_of_graphs(model) or not model.is_conjugate:
        return False
    if model.constraints is not None or model.row_weights is not None:
        return False
    with preserved_random_state():
        known = model.given({name: prior.sample() for name, prior in model.hyperpriors.items()})
    return draws_parameters(family_of(known.component, np.zeros((1, known.component.dim)), 1, 1))


class BlockedGibbs(CompiledKernel):
    r"""Gibbs sampling of all rows at once given parameters of the clusters, with splits and merges, compiled.

    .. math::
        (w_k) \mid c \sim \mathrm{Dirichlet}(n_k - d), \quad
        \theta_k \mid c, x \sim p(\theta \mid x_k), \qquad
        p(c_i = k \mid w, \theta) \propto w_k \, f(x_i \mid \theta_k)

    for all rows but the first of each cluster in a random order, and for clusters whose first row comes
    before i: given these rows the number of clusters is fixed, and the draw is exact. Clusters are opened and
    closed by Gibbs visits, as of :class:`CollapsedGibbs`, to a twentieth of the rows; by proposals that a row
    is alone, or is so no more; by births and deaths of clusters among all rows, parameters :math:`\phi` and
    share v of which are drawn given a few rows u that come from one cluster; one birth, of m rows around the
    row a, which is one of S clusters then that may die, has the ratio

    .. math::
        r = \frac{V_N(K + 1)}{V_N(K)} \, \frac{p(x_m) \, p(x_u)}{p(x_m, x_u)} \,
        \frac{\Gamma(N - (K + 1) d)}{\Gamma(N - K d) \Gamma(1 - d)} \,
        L \, v^{-d} (1 - v)^{-K d - 1} \, \frac{N}{m S} \, q_a
        \prod_i \Big( 1 - v + v \frac{f(x_i \mid \phi)}{\sum_k w_k f(x_i \mid \theta_k)} \Big)

    where log v is uniform on an interval of length L, and :math:`q_a` the probability that row a is of the
    new cluster; and by splits and merges whose rows are drawn at once, too, after some rows of the cluster
    have found where it may be split,

    .. math::
        r = \frac{V_N(K + 1)}{V_N(K)} \, \frac{w(n_A) \, w(n_B)}{w(n_S)} \, \frac{p(x_A) \, p(x_B)}{p(x_S)} \,
        \frac{1}{\prod_i q_i} \, \frac{n_S (n_S - 1)}{(K + 1) \, n_A n_B} \, \frac{1 - s}{s}

    with the probability :math:`q_i` of the side of row i, and the share s of splits among proposals: clusters
    are chosen with equal probability, and one row of each side is. It is made for large tables, where a step
    costs less than a sweep of :class:`CollapsedGibbs`; it is exact for all.

    Cost O(N K D) a step, O(N K D^2) for full covariances.

    Args:
        model: a model of a conjugate family whose parameters compiled code can draw: normal columns with
            known or unknown variances or covariances, flags, categories, Poisson and multinomial counts, with
            missing cells and together; no constraints, no weights.
        init: where chains start, see :class:`PartitionKernel`.
        thin: steps a draw.

    Raises:
        ValueError: if the model is of another kind, or ``thin`` is not positive.

    Example:
        >>> import torch
        >>> from pyroclust.infer.mcmc import OneCluster
        >>> from pyroclust.models import gaussian2d
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> kernel = BlockedGibbs(gaussian2d(), init=OneCluster())
        >>> kernel.run(data, num_draws=5, warmup=20, num_chains=2, seed=0).assignments[:, -1].tolist()
        [[0, 0, 1], [0, 0, 1]]

    References:
        Ishwaran and James (2001), Gibbs sampling methods for stick-breaking priors.
        https://doi.org/10.1198/016214501750332758
        Chang and Fisher (2013), Parallel sampling of DP mixture models using sub-cluster splits. Advances in
        Neural Information Processing Systems 26.
    """

    keeps_constraints = False
    takes_powers = False

    def __init__(self, model: CollapsedModel, *, init: Starts | Tensor | None = None, thin: int = 1) -> None:
        super().__init__(model, init=init, thin=thin)
        if not can_draw_at_once(model):
            raise ValueError(
                f"model.component is a {type(model.component).__name__}, expected a family whose parameters "
                "compiled code can draw, as those of normal columns: use CollapsedGibbs"
            )
        self._counts = np.zeros((2, 2), dtype=np.int64)

    def moves(self, num_points: int) -> tuple[NamedTuple, ...]:
        visits = min(num_points, max(_FEWEST_VISITS, num_points // _VISITED))
        self._counts = np.zeros((2, 2), dtype=np.int64)
        proposals = BlockedProposals(_PROPOSALS, _SPLITS, _ROWS, _SCANS, _STAGES, self._counts)
        return (
            BlockedSweep(),
            SomeVisits(visits),
            OpenAndClose(_ALONE),
            BirthsAndDeaths(_BIRTHS, _SEEN),
            proposals,
            *END_OF_STEP,
        )

    def diagnostics(self) -> dict[str, Any]:
        """Return the shares of splits and of merges accepted in the latest run, as :class:`SplitMerge`."""
        return {**super().diagnostics(), **shares_accepted(self._counts)}
