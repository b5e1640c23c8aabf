"""Values of the hyperparameters that a guide is conditioned on: checking them, and one for each data set."""

from collections.abc import Mapping, Sequence

import torch
from torch import Size, Tensor
from torch.distributions import Distribution

__all__ = ["checked_values", "values_of_data_sets"]


def checked_values(
    values: Mapping[str, float | Tensor], *, names: Sequence[str], hyperpriors: Mapping[str, Distribution]
) -> dict[str, float | Tensor]:
    """Return the values in the order of the names, numbers as floats.

    Raises:
        ValueError: if a name is unknown or missing, or a value lies outside the support of its prior.

    Example:
        >>> from pyro.distributions import Gamma
        >>> priors = {"concentration": Gamma(2.0, 4.0)}
        >>> checked_values({"concentration": 1}, names=["concentration"], hyperpriors=priors)
        {'concentration': 1.0}
    """
    wanted = ", ".join(names)
    for name in values:
        if name not in names:
            raise ValueError(f"condition was given {name!r}, expected the guide's conditions: {wanted}")
    missing = [name for name in names if name not in values]
    if missing:
        raise ValueError(f"condition was not given {', '.join(missing)}, expected all conditions: {wanted}")
    return {name: _checked(name, values[name], hyperpriors[name]) for name in names}


def values_of_data_sets(
    values: Mapping[str, float | Tensor], batch: Size, device: torch.device
) -> dict[str, Tensor]:
    """Return numbers as scalars, and batches flat: one value a data set.

    Shape:
        values: numbers, or tensors that broadcast with ``(*batch)``; output: ``()`` or ``(B,)``.

    Raises:
        ValueError: if a value does not broadcast with the batch of the data.
    """
    found = {}
    for name, one in values.items():
        if not isinstance(one, Tensor):
            found[name] = torch.tensor(one, dtype=torch.float64, device="cpu")
            continue
        try:
            found[name] = one.to(device).expand(batch).reshape(-1)
        except RuntimeError:
            raise ValueError(
                f"{name} has shape {tuple(one.shape)}, expected one number, or one a data set, {tuple(batch)}"
            ) from None
    return found


def _checked(name: str, value: float | Tensor, prior: Distribution) -> float | Tensor:
    given = torch.as_tensor(value)
    if not given.is_floating_point():
        given = given.to(torch.get_default_dtype())
    support = prior.support
    inside = given.isfinite() & (torch.ones_like(given) if support is None else support.check(given)).bool()
    if not bool(inside.all()):
        worst = given[~inside].reshape(-1)[0].item()
        raise ValueError(
            f"{name} is {worst:g}, expected a number{_bounds(prior)}, in the support of its prior "
            f"{type(prior).__name__}"
        )
    return given if given.dim() else float(value)


def _bounds(prior: Distribution) -> str:
    low, high = (getattr(prior.support, f"{side}_bound", None) for side in ("lower", "upper"))
    if low is None:
        return ""
    return f" above {float(low):g}" if high is None else f" from {float(low):g} to {float(high):g}"
