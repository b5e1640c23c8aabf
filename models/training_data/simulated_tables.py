"""Simulated tables: of any columns, with lost cells and noise, and of clusters that no model would make."""

import math

import pyro
import torch
from pyro.distributions import Delta
from torch import Tensor

from pyroclust.core.numbers import check_count, check_number
from pyroclust.distributions import (
    ChineseRestaurantPrior,
    ConjugateComponent,
    PartitionPrior,
    PitmanYorPrior,
)
from pyroclust.distributions.families.partly_observed import ColumnGroups
from pyroclust.distributions.points import check_shape, standardised
from pyroclust.distributions.protocols import Model, SimulatedModel, sampled
from pyroclust.models.mixture import Mixture
from pyroclust.models.standardised import named_prior
from pyroclust.models.table_mixture import table_mixture

_MEANS, _LEVELS, _TRIALS = (0.3, 20.0), (3, 8), (2.0, 50.0)
_CONCENTRATIONS, _DISCOUNTS = (0.2, 3.0), (0.05, 0.5)
_HALF = 0.5


class LosingCells(SimulatedModel):
    r"""Data sets of a mixture of which cells are lost, each with the same probability, whatever they hold.

    Columns of a cell are lost together, as successes and their trials.

    .. math:: (c, x) \sim \text{model}, \qquad r_{id} \sim \text{Bernoulli}(p), \qquad x_{id} \leftarrow
        \text{nan where } r_{id} = 1
    """

    def __init__(self, model: Mixture, share: float) -> None:
        self.share = check_number("share", share, at_least=0, below=1)
        if not model.component.takes_missing:
            raise ValueError(
                f"model has the family {type(model.component).__name__}, expected one that takes missing "
                "cells, as table_mixture(..., missing=True) has"
            )
        component = ConjugateComponent.of(model.component, otherwise="other cells do not integrate out")
        self.widths = torch.tensor(ColumnGroups(component).widths)
        self.model, self.name = model, f"{model.name}, {self.share:.0%} lost"
        self.event_shape, self.typical_scale = tuple(model.event_shape), model.typical_scale

    def __call__(self, data: Tensor) -> Tensor:
        check_shape(data, self.event_shape)
        sites = sampled(self.model, data)
        points, labels = sites["data"]["value"], sites["assignments"]["value"]
        is_lost = torch.rand(*points.shape[:-1], len(self.widths)) < self.share
        points = points.masked_fill(is_lost.repeat_interleave(self.widths, -1), torch.nan)
        with pyro.plate_stack("datasets", data.shape[:-2]):
            pyro.sample("assignments", Delta(labels, event_dim=1))
            return pyro.sample("data", Delta(points.to(data), event_dim=2), obs=data)


class ShuffledColumns(SimulatedModel):
    r"""Data sets of another law, in some columns of which the cells have changed places: noise.

    .. math:: x_{nd} \leftarrow x_{\pi_d(n) d}, \qquad \pi_d \text{ a random permutation where d is noise}

    The partition of the simulation is no draw of the posterior any more, and there is none:
    :class:`~pyroclust.infer.PosteriorTables` draws some.
    """

    def __init__(self, law: LosingCells, share: float) -> None:
        self.share = check_number("share", share, at_least=0, at_most=1)
        self.law, self.model, self.name = law, law.model, f"{law.name}, {self.share:.0%} noise"
        self.event_shape = law.event_shape

    def __call__(self, data: Tensor) -> Tensor:
        points: Tensor = sampled(self.law, data)["data"]["value"]
        widths = self.law.widths
        shape = *points.shape[:-1], len(widths)
        is_noise = torch.rand(*points.shape[:-2], 1, len(widths)) < self.share
        place = torch.arange(points.shape[-2]).unsqueeze(-1).expand(shape)
        place = torch.where(is_noise, torch.rand(shape).argsort(-2), place)
        points = points.gather(-2, place.repeat_interleave(widths, -1))
        with pyro.plate_stack("datasets", data.shape[:-2]):
            return pyro.sample("data", Delta(points, event_dim=2), obs=points)


class NoisyTables:
    """The law of :class:`AnyTable`, with a share of columns that are noise.

    Args:
        tables: the law.
        most_noise: largest share of the columns of a table that are noise.

    Example:
        >>> NoisyTables(AnyTable()).draw_model().name.endswith("noise")
        True
    """

    def __init__(self, tables: "AnyTable", *, most_noise: float = 0.6) -> None:
        self.tables = tables
        self.most_noise = check_number("most_noise", most_noise, at_least=0, at_most=1)

    def draw_model(self) -> ShuffledColumns:
        """Draw a model, how many of its cells are lost, and how many of its columns are noise."""
        return ShuffledColumns(self.tables.draw_model(), _between(0, self.most_noise))

    def __repr__(self) -> str:
        return f"NoisyTables({self.tables!r}, up to {self.most_noise:.0%} noise)"


class AnyTable:
    r"""A law of mixtures for tables: how many columns of which kinds, which prior, how many cells are lost.

    .. math::
        D \sim \text{log-uniform}, \quad w \sim \text{Dirichlet}(1/2, \ldots), \quad
        (n_\text{numbers}, n_\text{counts}, n_\text{yes/no}, n_\text{categories}, \ldots) \sim
        \text{Multinomial}(D, w)

    Then come ordered answers, overdispersed counts, places on a circle, and successes in a number of trials.
    Counts have a mean that is log-uniform between 0.3 and 20, categories and ordered answers 3 to 8 levels,
    successes a number of trials that is log-uniform between 2 and 50; families are those of
    :func:`~pyroclust.models.table_mixture`. Half of the models have the Chinese restaurant process with a
    Gamma law of its concentration, the others that process with a concentration between 0.2 and 3, a
    Pitman-Yor process, or a mixture of finite mixtures. In half of them no cell is lost, in the others a
    share up to ``most_lost``. Every batch of the training of a guide with a
    :class:`~pyroclust.nn.ColumnScorer` has the model that :meth:`draw_model` gives.

    Args:
        least_columns: smallest D.
        most_columns: largest D; successes have the column of their trials besides.
        most_lost: largest share of cells that are lost.

    Example:
        >>> 2 <= AnyTable(most_columns=12).draw_model().event_shape[0] <= 24
        True
    """

    def __init__(self, *, least_columns: int = 2, most_columns: int = 30, most_lost: float = 0.3) -> None:
        self.least_columns = check_count("least_columns", least_columns)
        self.most_columns = check_count("most_columns", most_columns, at_least=self.least_columns)
        self.most_lost = check_number("most_lost", most_lost, at_least=0, below=1)

    def draw_model(self) -> LosingCells:
        """Draw a model, and how many of its cells are lost."""
        columns = random_number_of_columns(self.least_columns, self.most_columns)
        shares = torch.distributions.Dirichlet(torch.full((8,), _HALF)).sample()
        kinds = shares.multinomial(columns, replacement=True).bincount(minlength=8).tolist()
        numbers, counts, yes_no, categories, ordered, overdispersed, circular, binomial = kinds
        mean = _log_uniform(_MEANS)
        model = table_mixture(
            numbers=numbers,
            count_means=[mean] * counts,
            yes_no=yes_no,
            levels=_random_levels(categories),
            ordered=_random_levels(ordered),
            overdispersed_means=[mean] * overdispersed,
            periods=[1.0] * circular,
            trials=[[round(_log_uniform(_TRIALS))] for _ in range(binomial)],
            missing=True,
        )
        lost = _between(0, self.most_lost) if _happens(_HALF) else 0.0
        return LosingCells(Mixture(_any_prior(), model.component, name="table"), lost)

    def __repr__(self) -> str:
        return (
            f"AnyTable({self.least_columns} to {self.most_columns} columns, up to {self.most_lost:.0%} lost)"
        )


def _random_levels(number: int) -> list[int]:
    return torch.randint(_LEVELS[0], _LEVELS[1] + 1, (number,)).tolist()


def random_number_of_columns(least: int, most: int) -> int:
    """Draw a number that is log-uniform."""
    return min(int(_log_uniform((least, most + 1))), most)


def _any_prior() -> PartitionPrior:
    if _happens(_HALF):
        return named_prior("gamma-crp")
    concentration = _log_uniform(_CONCENTRATIONS)
    makers = (
        lambda: ChineseRestaurantPrior(concentration),
        lambda: PitmanYorPrior(_between(*_DISCOUNTS), concentration),
        lambda: named_prior("mfm", concentration=_between(_HALF, 2.0)),
    )
    return makers[int(torch.randint(len(makers), ()))]()


def _log_uniform(bounds: tuple[float, float]) -> float:
    return math.exp(_between(*map(math.log, bounds)))


def _between(low: float, high: float) -> float:
    return low + (high - low) * torch.rand((), dtype=torch.float64).item()


def _happens(probability: float) -> bool:
    return torch.rand((), dtype=torch.float64).item() < probability


class DistortedClusters(SimulatedModel):
    r"""Data sets of a model, each changed in some of five ways, and standardised: for training guides on.

    .. math::
        \text{tails:} \quad & x_i \leftarrow m_{c_i} + (x_i - m_{c_i}) \sqrt{\nu / g_i}, \;
            g_i \sim \chi^2_\nu, \; \nu \sim U(2, 8) \\
        \text{bends:} \quad & x_i \leftarrow x_i + a \sin(W x_i + b), \;
            a \sim U(0, .6), \; W \sim N(0, I), \; b \sim U(0, 2 \pi) \\
        \text{skews:} \quad & x_{id} \leftarrow \sinh(\operatorname{arcsinh}(x_{id}) + e_d), \;
            e_d \sim N(0, .7^2) \\
        \text{contamination:} \quad & x_i \leftarrow U(\text{box of the data}) \;
            \text{with probability } \epsilon \sim U(0, .1) \\
        \text{rounding:} \quad & x_{id} \leftarrow r \lfloor x_{id} / r + 1/2 \rfloor, \; r \sim U(.01, .3)

    with m the means of the clusters. Each happens to a data set with the same probability. The only site is
    ``"data"``: a :class:`~pyroclust.infer.PosteriorPool` draws partitions. Cost O(N D^2) a data set.

    Args:
        model: what data sets are simulated from: points are vectors.
        probability: of each way.
        name: what messages call the law.

    Raises:
        ValueError: if points are no vectors, or the probability is none.

    Example:
        >>> from pyro import poutine
        >>> from pyroclust.models import niw_mixture
        >>> law = DistortedClusters(niw_mixture(2))
        >>> trace = poutine.trace(poutine.uncondition(law)).get_trace(torch.empty(3, 20, 2))
        >>> trace.nodes["data"]["value"].shape
        torch.Size([3, 20, 2])
    """

    def __init__(self, model: Model, *, probability: float = 0.4, name: str = "distorted_clusters") -> None:
        if len(model.event_shape) != 1:
            raise ValueError(
                f"model has points of shape {tuple(model.event_shape)}, expected vectors, (D,): other points "
                "have no columns to distort"
            )
        self.model, self.name, self.event_shape = model, name, tuple(model.event_shape)
        self.probability = check_number("probability", probability, at_least=0, at_most=1)

    def __call__(self, data: Tensor) -> Tensor:
        check_shape(data, self.event_shape)
        batch = data.shape[:-2]
        nodes = sampled(self.model, data.reshape(-1, *data.shape[-2:]))
        points, labels = nodes["data"]["value"], nodes["assignments"]["value"]
        with pyro.plate_stack("datasets", batch):
            changed = self._changed(standardised(points), labels).view(data.shape)
            return pyro.sample("data", Delta(changed.to(data), event_dim=2), obs=data)

    def _changed(self, points: Tensor, labels: Tensor) -> Tensor:
        for change in (_tails, _bends, _skews, _contamination, _rounding):
            chosen = torch.rand(len(points), 1, 1) < self.probability
            points = torch.where(chosen, change(points, labels), points)
        return standardised(points)


def _uniform(like: Tensor, low: float, high: float) -> Tensor:
    """Draw one number a data set, ``(B, 1, 1)``."""
    return low + (high - low) * torch.rand(len(like), 1, 1, dtype=like.dtype)


def _tails(points: Tensor, labels: Tensor) -> Tensor:
    member = torch.nn.functional.one_hot(labels).to(points)
    means = member @ ((member.mT @ points) / member.sum(1).unsqueeze(-1).clamp(min=1))
    freedom = _uniform(points, 2.0, 8.0).expand(-1, points.shape[1], -1)
    gamma = torch.distributions.Chi2(freedom).sample().clamp(min=1e-3)
    return means + (points - means) * (freedom / gamma).sqrt()


def _bends(points: Tensor, labels: Tensor) -> Tensor:
    sets, _, dim = points.shape
    turn = torch.randn(sets, dim, dim, dtype=points.dtype)
    phase = 2 * math.pi * torch.rand(sets, 1, dim, dtype=points.dtype)
    return points + _uniform(points, 0.0, 0.6) * (points @ turn + phase).sin()


def _skews(points: Tensor, labels: Tensor) -> Tensor:
    shift = 0.7 * torch.randn(len(points), 1, points.shape[2], dtype=points.dtype)
    return (points.asinh() + shift).sinh()


def _contamination(points: Tensor, labels: Tensor) -> Tensor:
    low, high = points.amin(1, keepdim=True), points.amax(1, keepdim=True)
    anywhere = low + (high - low) * torch.rand_like(points)
    outlier = torch.rand(*points.shape[:2], 1) < _uniform(points, 0.0, 0.1)
    return torch.where(outlier, anywhere, points)


def _rounding(points: Tensor, labels: Tensor) -> Tensor:
    step = _uniform(points, 0.01, 0.3)
    return (points / step).round() * step
