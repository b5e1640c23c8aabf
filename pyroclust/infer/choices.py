"""Which simulated data sets are worth a training step, judged by the data alone."""

from typing import Protocol

import torch
from torch import Tensor


class Choice(Protocol):
    """Chooses data sets among ``oversampling`` times as many simulations as a step uses.

    A choice may look at the data and at nothing else. Given x, the partition then still follows p(c | x),
    so the guide's target is the same posterior as before; only the p(x) over which it is averaged is tilted.
    """

    oversampling: int

    def __call__(self, data: Tensor, num_kept: int) -> Tensor:
        """Return the indices of the data sets to keep, ``(num_kept,)``."""
        ...

    def learn(self, loss: Tensor) -> None:
        """Take the losses of the data sets kept last, nats per data set, ``(num_kept,)``."""
        ...

    def state_dict(self) -> dict[str, Tensor]:
        """Return what it has learned, for a checkpoint."""
        ...

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on from what was learned before."""
        ...


class HardStandardised:
    """Half of the data sets as they come, half hard ones among the nearly standardised.

    Where clusters overlap and the posterior is wide, early decisions are hardest and simulations rarest.
    The loss per point of a data set is predicted from kernel densities of its points by a ridge regression
    that learns from the losses of the training; of ``hardness`` data sets near to mean 0 and variance 1, the
    one with the highest prediction is kept.
    """

    _bandwidths: tuple[float, ...] = (0.05, 0.15, 0.4, 1.0)

    def __init__(self, oversampling: int = 16, *, hardness: int = 4) -> None:
        if oversampling < hardness + 1 or hardness < 1:
            raise ValueError(
                f"oversampling and hardness are {oversampling} and {hardness}, "
                "expected oversampling > hardness > 0"
            )
        self.oversampling, self.hardness = oversampling, hardness
        width = 2 * len(self._bandwidths) + 2
        self._gram = torch.eye(width, dtype=torch.float64)
        self._target = torch.zeros(width, dtype=torch.float64)
        self._kept, self._points = torch.zeros(0, width, dtype=torch.float64), 1

    def __call__(self, data: Tensor, num_kept: int) -> Tensor:
        """Rank by moments in O(B N D), then the finalists by densities in O(N^2) each."""
        plain = (num_kept + 1) // 2
        hard = num_kept - plain
        competing = torch.arange(plain, device=data.device)
        if hard:
            competing = torch.cat([competing, plain + self._finalists(data[plain:], hard * self.hardness)])
        features = self._features(data[competing])
        prediction = features @ torch.linalg.solve(self._gram, self._target)
        kept = torch.cat([torch.arange(plain), plain + prediction[plain:].topk(hard).indices])
        self._kept, self._points = features[kept], data.shape[1]
        return competing[kept.to(data.device)]

    def learn(self, loss: Tensor) -> None:
        """Update the regression, forgetting slowly."""
        target = loss.detach().double().cpu() / self._points
        self._gram = 0.998 * self._gram + self._kept.T @ self._kept
        self._target = 0.998 * self._target + self._kept.T @ target

    def state_dict(self) -> dict[str, Tensor]:
        """Return the regression."""
        return {"gram": self._gram, "target": self._target}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on from a regression."""
        self._gram, self._target = state["gram"], state["target"]

    def _finalists(self, data: Tensor, number: int) -> Tensor:
        """Return those with the smallest sum over columns of squared mean and squared log variance."""
        score = data.mean(1).square() + data.var(1).clamp(min=1e-6).log().square()
        return score.sum(-1).topk(number, largest=False).indices

    def _features(self, data: Tensor) -> Tensor:
        squared = torch.cdist(data, data).square()
        # Below -60 nothing is left beside the point's own 1; subnormal numbers would take most of the time.
        density = [
            (squared * (-0.5 / h**2)).clamp_(min=-60.0).exp_().mean(-1).log() for h in self._bandwidths
        ]
        means, spreads = ([f(d) for d in density] for f in (lambda d: d.mean(-1), lambda d: d.std(-1)))
        constant = torch.ones_like(means[0])
        return torch.stack([constant, constant / data.shape[1], *means, *spreads], -1).double().cpu()


class HardSimulations(HardStandardised):
    """Half of the data sets as they come, half the ones with the highest predicted loss.

    For models of a known ``scale``, the standard deviation within a cluster and unit of the bandwidths.
    """

    def __init__(self, scale: float, oversampling: int = 4) -> None:
        super().__init__(oversampling, hardness=oversampling - 1)
        self._bandwidths = (0.5 * scale, scale, 2 * scale, 4 * scale)

    def _finalists(self, data: Tensor, number: int) -> Tensor:
        return torch.arange(number, device=data.device)
