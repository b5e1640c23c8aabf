"""Columns of ordered answers, of which neighbouring ones are alike."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from pyro import sample as site
from pyro.distributions import Categorical, Dirichlet
from scipy.special import gammaln
from torch import Tensor

from pyroclust.core.compiling import inner
from pyroclust.core.registry import register
from pyroclust.distributions.compiled.protocol import compile_family, compile_methods, log_rising, log_sum
from pyroclust.distributions.families.categories import Categories
from pyroclust.distributions.families.component import Component

# Laws that a cluster's answers may be near to: a normal variable that is cut between the levels, by its place
# from one level below the first to one above the last, its width in levels, and how many answers it is worth.
_PLACES, _WIDTHS, _STRENGTHS = 7, (0.4, 0.8, 1.6), (6.0, 60.0)
# Counts up to which log rising factorials are tabulated: of five levels that is 7 MB a column.
_LONGEST = 4096


@register(Component)
class OrderedLevels(Categories):
    r"""Independent columns of ordered answers, such as 1 to 5, of which neighbouring ones are alike.

    .. math::
        (m, s, a)_{kd} \sim \mathrm{Uniform}(\text{grid}), \qquad
        p_{kd} \sim \mathrm{Dirichlet}(a\, q(m, s)), \qquad x_{id} \sim \mathrm{Categorical}(p_{kd})

    where q is a cumulative probit with levels at equal distances: with its place m and its width s in levels,

    .. math::
        q_l = \tfrac{49}{50} \Big[\Phi\Big(\tfrac{l + 1/2 - m}{s}\Big) -
        \Phi\Big(\tfrac{l - 1/2 - m}{s}\Big)\Big] + \tfrac{1}{50 L_d},

    the first and the last level reaching to infinity. The probabilities integrate out and the grid sums up,
    so that the family is conjugate. From few rows it learns more than
    :class:`~pyroclust.distributions.Categories` where answers have an order, from many the same. Parameters
    of a cluster: ``"law"`` ``(D,)``, a number on the grid, and ``"probs_0"`` ``(L_0,)``, ``"probs_1"``, ...

    Args:
        levels: number :math:`L_d` of levels of each column, at least 2.

    Shape:
        moments: ``(..., sum of the levels)``, how often each level is there.

    Raises:
        ValueError: if a column has fewer than two levels.

    Example:
        >>> family = OrderedLevels([5])
        >>> block = family.moments(torch.tensor([[3.0], [4.0]])).sum(0)
        >>> probs = family.predictive_parameters(torch.tensor(2.0), block).exp()
        >>> bool(probs[2] > probs[1] > probs[0])  # nearer to what has been seen
        True

    References:
        McCullagh (1980), Regression models for ordinal data. https://doi.org/10.1111/j.2517-6161.1980.tb01109.x
    """

    hyper_names = ()  # type: ignore[assignment]
    expected = "the number 0, 1, ... of a level in every column, or nan"

    def __init__(self, levels: Sequence[int]) -> None:
        super().__init__(levels)
        laws = [_laws(one) for one in self.levels]
        # Pseudo-observations of all levels under every law, (A, sum of the levels).
        self.pseudo = torch.cat([torch.cat([a * one for a in _STRENGTHS]) for one in laws], -1)
        self.strength = torch.tensor(_STRENGTHS, dtype=torch.float64).repeat_interleave(len(laws[0]))

    def _check_hyperparameters(self) -> None:
        pass

    @property
    def typical_scale(self) -> float:
        """The width in the middle of the grid."""
        return _WIDTHS[1]

    def parameters(self) -> dict[str, Tensor]:
        law = Categorical(logits=torch.zeros(self.dim, len(self.strength)), validate_args=False)
        found = {"law": site("law", law.to_event(1))}
        for column, pseudo in enumerate(self.pseudo.split(self.levels, -1)):
            own = pseudo.to(torch.get_default_dtype())[found["law"][..., column].long()]
            name = f"probs_{column}"
            found[name] = site(name, Dirichlet(own, validate_args=False))
        return found

    def _posterior_laws(self, moments: Tensor) -> list[Tensor]:
        """Return log p(law, block) of each column, ``(..., A)``."""
        found = []
        for seen, pseudo in self._by_column(moments):
            rising = ((seen.unsqueeze(-2) + pseudo).lgamma() - pseudo.lgamma()).sum(-1)
            total = seen.sum(-1, keepdim=True) + self.strength
            found.append(rising - total.lgamma() + self.strength.lgamma() - math.log(len(self.strength)))
        return found

    def _by_column(self, moments: Tensor) -> Any:
        return zip(moments.split(self.levels, -1), self.pseudo.split(self.levels, -1), strict=True)

    def log_marginal_by_group(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Return the log marginal likelihood of each column of blocks in nats, ``(..., D)``."""
        return torch.stack([one.logsumexp(-1) for one in self._posterior_laws(moments)], -1)

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack the log-probabilities of all levels."""
        found = []
        for laws, (seen, pseudo) in zip(self._posterior_laws(moments), self._by_column(moments), strict=True):
            total = (seen.sum(-1, keepdim=True) + self.strength).unsqueeze(-1)
            log_probs = (seen.unsqueeze(-2) + pseudo).log() - total.log()
            found.append((laws.log_softmax(-1).unsqueeze(-1) + log_probs).logsumexp(-2))
        return torch.cat(found, -1)

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        drawn = [Categorical(logits=one).sample() for one in self._posterior_laws(moments)]
        found = {"law": torch.stack(drawn, -1)}
        for column, (law, (seen, pseudo)) in enumerate(zip(drawn, self._by_column(moments), strict=True)):
            found[f"probs_{column}"] = Dirichlet(seen + pseudo[law], validate_args=False).sample()
        return found


def _laws(levels: int) -> Tensor:
    """Return the probabilities of so many levels under every place and width, ``(A, L)``."""
    places = torch.linspace(-1, levels, _PLACES, dtype=torch.float64)
    widths = torch.tensor(_WIDTHS, dtype=torch.float64)
    cuts = torch.arange(levels - 1, dtype=torch.float64) + 0.5
    below = torch.special.ndtr((cuts - places[:, None, None]) / widths[:, None]).flatten(0, 1)
    below = torch.nn.functional.pad(torch.nn.functional.pad(below, (1, 0)), (0, 1), value=1.0)
    return 0.98 * below.diff(dim=-1) + 0.02 / levels


@compile_methods
class OrderedTables(NamedTuple):
    r"""Levels of the points, and what clusters cache: log-probabilities of all levels.

    With posterior weights :math:`w_a` of the laws, each with :math:`\alpha_{al}` pseudo-observations of a
    level and :math:`\alpha_a` in all, a level that has been seen :math:`s_l` times in n points has
    the probability :math:`\sum_a w_a (\alpha_{al} + s_l) / (\alpha_a + n)`. Without one of its points it is
    :math:`1 / \sum_a w_a (\alpha_a + n - 1) / (\alpha_{al} + s_l - 1)`.
    """

    hyper: np.ndarray  # none
    # place of each point's level among those of all columns, -1 where it is missing, (N, D)
    code: np.ndarray
    first: np.ndarray  # place of the first level of each column, and of one after the last, (D + 1,)
    pseudo: np.ndarray  # (sum of L, A)
    strength: np.ndarray  # (A,)
    rising: np.ndarray  # log rising factorials of the pseudo-observations, (sum of L, T, A)
    rising_total: np.ndarray  # and of their sum, (T, A)
    weights: np.ndarray  # scratch space, (A,)
    log_probs: np.ndarray  # of each level, (S, sum of L)
    log_without: np.ndarray  # the same where one of the points of that level is taken out

    def tabulate(self) -> None:
        pass

    def refresh(self, sums: np.ndarray, slot: int, size: int) -> None:
        weights, number = self.weights, len(self.weights)
        for d in range(self.code.shape[1]):
            begin, end = self.first[d], self.first[d + 1]
            cells = _weigh(self, sums, begin, end)
            log_total = log_sum(weights)
            for a in range(number):
                weights[a] = math.exp(weights[a] - log_total)
            for place in range(begin, end):
                seen, found, inverse = int(sums[place] + 0.5), 0.0, 0.0
                for a in range(number):
                    found += weights[a] * (self.pseudo[place, a] + seen) / (self.strength[a] + cells)
                self.log_probs[slot, place] = math.log(found)
                if seen > 0:
                    for a in range(number):
                        less = (self.strength[a] + cells - 1) / (self.pseudo[place, a] + seen - 1)
                        inverse += weights[a] * less
                    self.log_without[slot, place] = -math.log(inverse)

    def log_predictive(self, point: int, slot: int, size: int, floor: float) -> float:
        total = 0.0
        for d in range(self.code.shape[1]):
            if self.code[point, d] >= 0:
                total += self.log_probs[slot, self.code[point, d]]
        return total

    def log_predictives_by_column(self, point: int, slot: int, found: Any) -> int:
        dim: int = self.code.shape[1]
        for d in range(dim):
            place = self.code[point, d]
            found[d] = self.log_probs[slot, place] if place >= 0 else 0.0
        return dim

    def log_predictive_without(self, point: int, slot: int, size: int) -> float:
        total = 0.0
        for d in range(self.code.shape[1]):
            if self.code[point, d] >= 0:
                total += self.log_without[slot, self.code[point, d]]
        return total

    def log_marginal(self, sums: np.ndarray, slot: int, size: int) -> float:
        found, number = 0.0, len(self.weights)
        for d in range(self.code.shape[1]):
            _weigh(self, sums, self.first[d], self.first[d + 1])
            found += log_sum(self.weights) - math.log(number)
        return found


@inner
def _weigh(tables: Any, sums: Any, begin: int, end: int) -> int:
    """Write what laws weigh in the cells of a column, and return how many cells there are."""
    weights, number, cells = tables.weights, len(tables.weights), 0
    for a in range(number):
        weights[a] = 0.0
    for place in range(begin, end):
        seen = int(sums[place] + 0.5)
        cells += seen
        for a in range(number):
            if seen < len(tables.rising_total):
                weights[a] += tables.rising[place, seen, a]
            else:
                weights[a] += log_rising(tables.pseudo[place, a], float(seen))
    for a in range(number):
        if cells < len(tables.rising_total):
            weights[a] -= tables.rising_total[cells, a]
        else:
            weights[a] -= log_rising(tables.strength[a], float(cells))
    return cells


@compile_family.register
def _(component: OrderedLevels, data: np.ndarray, num_slots: int, num_points: int) -> OrderedTables:
    first = np.concatenate([[0], np.cumsum(component.levels)]).astype(np.int64)
    pseudo, strength = np.ascontiguousarray(component.pseudo.numpy().T), component.strength.numpy()
    seen = np.arange(min(num_points + 1.0, _LONGEST))[:, None]
    return OrderedTables(
        hyper=np.zeros(0),
        code=np.where(np.isnan(data), -1, np.nan_to_num(data) + first[:-1]).astype(np.int64),
        first=first,
        pseudo=pseudo,
        strength=strength,
        rising=gammaln(pseudo[:, None] + seen) - gammaln(pseudo)[:, None],
        rising_total=gammaln(strength + seen) - gammaln(strength),
        weights=np.zeros(len(strength)),
        log_probs=np.zeros((num_slots, int(first[-1]))),
        log_without=np.zeros((num_slots, int(first[-1]))),
    )
