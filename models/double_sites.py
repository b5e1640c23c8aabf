"""Running a Pyro program in double precision, whatever precision its distributions were written in."""

import copy
from typing import Any

from pyro.poutine.messenger import Messenger
from torch import Tensor
from torch.distributions import Distribution

__all__ = ["DoubleSites"]


class DoubleSites(Messenger):
    """Turn the parameters of every site's distribution into float64, so that values and log-densities follow.

    Enumeration contracts the log-densities of many sites, which must be of one type.

    Example:
        >>> import pyro
        >>> import pyro.distributions as dist
        >>> with DoubleSites():
        ...     print(pyro.sample("x", dist.Normal(0.0, 1.0)).dtype)
        torch.float64
    """

    def _pyro_sample(self, msg: dict[str, Any]) -> None:
        if isinstance(msg["fn"], Distribution):
            msg["fn"] = _doubled(msg["fn"])


def _doubled(law: Distribution) -> Distribution:
    new = copy.copy(law)
    for name, one in vars(law).items():
        if isinstance(one, Tensor) and one.is_floating_point():
            vars(new)[name] = one.double()
        elif isinstance(one, Distribution):
            vars(new)[name] = _doubled(one)
    return new
