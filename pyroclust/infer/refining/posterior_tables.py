"""Tables of any columns with partitions of their own model's posterior: what to train guides of tables on."""

from collections.abc import Mapping
from typing import Any

import pyro
import torch
from pyro.distributions import Delta
from torch import Tensor

from pyroclust.core.counts import check_count
from pyroclust.distributions.programs import SimulatedModel, sampled
from pyroclust.distributions.protocols import LawOfModels
from pyroclust.infer.refining.posterior_chains import PosteriorChains, check_shares

__all__ = ["PosteriorTables"]


class PosteriorTables:
    r"""A law of models: simulations of many, and data sets of other laws with partitions drawn by chains.

    .. math::
        (m, x) \sim r, \qquad c \sim p_m(c \mid x), \qquad
        L(\phi) = E_{r(m, x)} E_{p_m(c \mid x)}[-\log q_\phi(c \mid x, m)]

    What :class:`~pyroclust.infer.PosteriorPool` is to one model, for models that change with every batch. A
    chain on each data set begins at a draw of the exact filter; nothing is kept from one batch to the next.

    Cost of a batch: ``O(N K)`` predictives for each of ``burn_in + partitions * sweeps`` draws of the default
    kernel, a data set; some 0.1 s for 100 points in 10 columns.

    Args:
        prior: law of models whose simulations have partitions of their posterior.
        laws: other laws of models, whose data sets have none, each with its share.
        share: of the prior's law; shares are divided by their sum.
        partitions: draws of a chain for each data set.
        sweeps: draws of the default kernel between two of these.
        burn_in: draws of the kernel before the first.

    Raises:
        ValueError: if a number is out of range, or there is no share above 0.

    Example:
        >>> from pyro import poutine
        >>> from pyroclust.models import AnyTable, NoisyTables
        >>> tables = AnyTable(most_columns=4)
        >>> law = PosteriorTables(tables, {NoisyTables(tables): 1.0}, share=0.0, partitions=2)
        >>> one = law.draw_model()
        >>> trace = poutine.trace(poutine.uncondition(one)).get_trace(torch.empty(6, 8, *one.event_shape))
        >>> trace.nodes["assignments"]["value"].shape
        torch.Size([6, 8])

    References:
        Naesseth, Lindsten and Blei (2020), Markovian score climbing. https://arxiv.org/abs/2003.10374
    """

    def __init__(
        self,
        prior: LawOfModels,
        laws: Mapping[Any, float],
        *,
        share: float = 0.5,
        partitions: int = 4,
        sweeps: int = 5,
        burn_in: int = 100,
    ) -> None:
        self.prior, self.laws = prior, tuple(laws)
        self._shares = check_shares("share", share, laws.values())
        self.partitions, self.sweeps = check_count("partitions", partitions), check_count("sweeps", sweeps)
        self.burn_in = check_count("burn_in", burn_in)

    def draw_model(self) -> Any:
        """Draw a law of data sets and partitions, with the model that these are of."""
        place = int(self._shares.multinomial(1))
        if place == 0:
            return self.prior.draw_model()
        return _WithPartitions(self.laws[place - 1].draw_model(), self)

    def __repr__(self) -> str:
        """Name the laws."""
        return f"PosteriorTables({', '.join(map(repr, (self.prior, *self.laws)))})"


class _WithPartitions(SimulatedModel):
    """Data sets of a law, each several times, with partitions of a chain."""

    def __init__(self, law: Any, settings: PosteriorTables) -> None:
        self.law, self.model, self.name, self._settings = law, law.model, law.name, settings

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one point."""
        return tuple(self.law.event_shape)

    def __call__(self, data: Tensor) -> Tensor:
        """Run the program on a template ``(B, N, D)``, of which the shape counts."""
        each = min(self._settings.partitions, len(data))
        points: Tensor = sampled(self.law, data[: max(1, len(data) // each)])["data"]["value"]
        chains = PosteriorChains(self.model, sweeps=self._settings.sweeps)
        labels = torch.cat([self._drawn(chains, one, each) for one in points])
        points = points.repeat_interleave(each, 0)
        with pyro.plate("datasets", len(points)):
            pyro.sample("assignments", Delta(labels, event_dim=1))
            return pyro.sample("data", Delta(points, event_dim=2), obs=points)

    def _drawn(self, chains: PosteriorChains, points: Tensor, number: int) -> Tensor:
        labels, hyper = chains.start(points), chains.draw_hyperparameters()
        burn_in = -(-self._settings.burn_in // self._settings.sweeps)
        return chains.advance(points, labels, hyper=hyper, draws=burn_in + number)[-number:]
