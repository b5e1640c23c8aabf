"""Running a program of cluster parameters outside of any other program, over a whole batch at once."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from pyro.distributions.torch_distribution import TorchDistributionMixin
from pyro.poutine.messenger import Messenger, block_messengers
from torch import Size, Tensor

ParameterProgram = Callable[[], dict[str, Tensor]]
"""A Pyro program that samples the parameters of a cluster and returns them by the names of their sites."""


class PrefixedSites(Messenger):
    """Put a prefix before the names of all sites.

    Args:
        prefix: what to put before the names.
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self.prefix = prefix

    def _pyro_sample(self, msg: dict) -> None:
        msg["name"] = self.prefix + msg["name"]


class _BatchedSites(Messenger):
    """Draw every site over a batch shape: what plates do, at a tenth of their price."""

    def __init__(self, shape: Size) -> None:
        super().__init__()
        self.shape = shape

    def _pyro_sample(self, msg: dict) -> None:
        _refuse_plates(msg)
        if not msg["is_observed"]:
            msg["fn"] = msg["fn"].expand(self.shape)


class _ScoredSites(Messenger):
    """Set every site to a given value and add up the log-densities."""

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
        self.log_density = self.log_density + _log_prob(law, msg["value"])


def _log_prob(law: TorchDistributionMixin, value: Tensor) -> Tensor:
    return law.log_prob(value)


def _refuse_plates(msg: dict) -> None:
    if not isinstance(msg["fn"], TorchDistributionMixin):
        raise ValueError(
            f"the parameter program has a plate {msg['name']!r}, expected none: "
            "use .expand([...]).to_event(...) for the dimensions of its sites"
        )


@contextmanager
def _alone() -> Iterator[None]:
    """Keep the sites of a program from all handlers outside."""
    with block_messengers(lambda _: True):
        yield


def sample_parameters_of_clusters(program: ParameterProgram, shape: Size) -> dict[str, Tensor]:
    """Draw the parameters of a batch of clusters, unseen by the handlers of an enclosing program.

    Shape:
        output: ``(*shape, *event)`` each.
    """
    with _alone(), _BatchedSites(shape):
        return program()


def log_density_of_parameters(program: ParameterProgram, parameters: Mapping[str, Tensor]) -> Tensor:
    """Return the log-density of given parameters under a program in nats.

    Shape:
        parameters: ``(*batch, *event)`` each; output: ``(*batch)``.

    Raises:
        ValueError: if a site is missing, or there is a plate.
    """
    scored = _ScoredSites(parameters)
    with _alone(), scored:
        program()
    if not isinstance(scored.log_density, Tensor):
        raise ValueError("the parameter program has no sites, expected at least one pyro.sample statement")
    return scored.log_density
