"""Handlers of a program of cluster parameters, which runs over a whole batch of clusters at once."""

from collections.abc import Callable, Mapping
from typing import Any

from pyro.distributions.torch_distribution import TorchDistributionMixin
from pyro.poutine.messenger import Messenger, block_messengers
from torch import Size, Tensor

ParameterProgram = Callable[[], dict[str, Tensor]]
"""A Pyro program that samples the parameters of a cluster and returns them by the names of their sites."""


class PrefixedSites(Messenger):
    """Put a prefix before the names of all sites."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self.prefix = prefix

    def _pyro_sample(self, msg: dict) -> None:
        msg["name"] = self.prefix + msg["name"]


class BatchedSites(Messenger):
    """Draw every site over a batch shape: what plates do, at a tenth of their price."""

    def __init__(self, shape: Size) -> None:
        super().__init__()
        self.shape = shape

    def _pyro_sample(self, msg: dict) -> None:
        _refuse_plates(msg)
        if not msg["is_observed"]:
            msg["fn"] = msg["fn"].expand(self.shape)


class ScoredSites(Messenger):
    """Set every site to a value and add up the log-densities."""

    def __init__(self, values: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.values = values
        self.log_density: Tensor | float = 0.0

    def _pyro_sample(self, msg: dict) -> None:
        _refuse_plates(msg)
        name, law = msg["name"], msg["fn"]
        if not msg["is_observed"]:
            if name not in self.values:
                raise ValueError(
                    f"parameters has no {name!r}, expected {', '.join(self.values)} and the site {name!r}"
                )
            msg["value"] = self.values[name]
        msg["done"] = True
        self.log_density = self.log_density + law.log_prob(msg["value"])


def without_handlers() -> Any:
    """Keep the sites of a program from all handlers outside."""
    return block_messengers(lambda _: True)


def _refuse_plates(msg: dict) -> None:
    if not isinstance(msg["fn"], TorchDistributionMixin):
        raise ValueError(
            f"the parameter program has a plate {msg['name']!r}, expected none: "
            "use .expand([...]).to_event(...) for the dimensions of its sites"
        )
