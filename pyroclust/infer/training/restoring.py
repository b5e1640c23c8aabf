"""Whether the numbers of a checkpoint can be those of a training: their kinds, and how they fit together."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from pyroclust.infer.training.settings import FitSettings
from pyroclust.nn.state_dicts import tensors_difference

__all__ = ["check_averages", "check_entries", "check_figures", "check_optimizer", "check_tensors"]

_MOMENTS = ("exp_avg", "exp_avg_sq")


def check_entries(state: Mapping[str, Any], expected: Mapping[str, Any], *, others: Sequence[str]) -> None:
    """Check names and kinds of the entries of a state.

    Args:
        state: that of the checkpoint.
        expected: that of the training itself.
        others: names of entries that may be there or be missing.

    Raises:
        ValueError: if an entry is missing, unknown or of another kind.
    """
    for name in sorted({*expected, *map(str, state)}):
        if name not in others and (name not in state or name not in expected):
            raise _refused(name, "is missing" if name in expected else "is unknown")
    for name, own in expected.items():
        if name in state and name != "choice" and isinstance(own, dict) and not isinstance(state[name], dict):
            raise _refused(name, f"is a {type(state[name]).__name__}, expected a table")


def check_tensors(name: str, found: Any, expected: Mapping[str, Tensor]) -> None:
    """Check named tensors, such as the weights.

    Raises:
        ValueError: if they are others than expected, or not finite.
    """
    different = tensors_difference(found, expected)
    if different:
        raise _refused(name, f"do not fit ({different})")


def check_averages(found: Any, expected: Sequence[Tensor]) -> None:
    """Check the averaged weights.

    Raises:
        ValueError: if there are more or fewer than expected, or one does not fit.
    """
    if not isinstance(found, list) or len(found) != len(expected):
        raise _refused("averages", f"do not fit (expected a list of {len(expected)} tensors)")
    check_tensors("averages", dict(zip(_names(found), found, strict=True)), _named(expected))


def check_figures(state: Mapping[str, Any], settings: FitSettings) -> None:
    """Check the counts and the figures that a training reports.

    Raises:
        ValueError: if one of them cannot be, or they do not fit together.
    """
    done, datasets = _whole("done", state), _whole("num_datasets", state)
    if done > settings.steps:
        raise _refused("done", f"is {done}, expected at most {settings.steps} steps")
    if (datasets > 0) != (done > 0) or datasets < done:
        raise _refused("num_datasets", f"is {datasets} after {done} steps")
    seconds, loss = _number("seconds", state), _number("smooth_loss", state)
    if not 0 <= seconds < math.inf:
        raise _refused("seconds", f"is {seconds}, expected a finite number from 0 on")
    if math.isfinite(loss) != (done > 0):
        raise _refused("smooth_loss", f"is {loss} after {done} steps")


def check_optimizer(
    state: Mapping[str, Any],
    own: Mapping[str, Any],
    parameters: Sequence[Tensor],
    rate_at: Callable[[int], float],
    averaged: Mapping[int, tuple[Tensor, Tensor]],
) -> None:
    """Check the state of AdamW: one for each parameter that was ever moved, and its steps.

    Args:
        state: that of the checkpoint, whose figures were checked before.
        own: that of the training's own optimiser.
        parameters: what is trained.
        rate_at: learning rate of a step.
        averaged: weight and average of the checkpoint for each parameter; where it was never moved, they
            are the same.

    Raises:
        ValueError: if something is missing, cannot be, or does not fit the number of steps.
    """
    found, done = state["optimizer"], state["done"]
    groups, moments = found.get("param_groups"), found.get("state")
    if set(found) != set(own) or not isinstance(groups, list) or not isinstance(moments, dict):
        raise _refused("optimizer", "is not the state of an AdamW")
    rate = rate_at(done - 1) if done else own["param_groups"][0]["lr"]
    if len(groups) != 1 or not isinstance(groups[0], dict) or not _same_group(groups[0], own, rate):
        raise _refused("optimizer", f"has other settings or another learning rate than after {done} steps")
    steps = [0]
    for place, one in moments.items():
        if type(place) is not int or not 0 <= place < len(parameters):
            raise _refused("optimizer", f"has a state for a parameter {place!r}, which there is not")
        steps.append(_moved(place, one, parameters[place], done))
    still = [place for place in range(len(parameters)) if place not in moments]
    if (max(steps) > 0) != (done > 0) or not all(torch.equal(*averaged[place]) for place in still):
        raise _refused("optimizer", f"has no state for some parameters that were moved in {done} steps")


def _moved(place: int, found: Any, parameter: Tensor, done: int) -> int:
    expected = {"step": torch.zeros(()), **dict.fromkeys(_MOMENTS, parameter)}
    different = tensors_difference(found, expected)
    if not different and bool((found["exp_avg_sq"] < 0).any()):
        different = "a mean square is negative"
    if different:
        raise _refused("optimizer", f"does not fit (parameter {place}: {different})")
    step = found["step"].item()
    if not 1 <= step <= done or step != int(step):
        raise _refused("optimizer", f"took {step:g} steps with parameter {place}, expected 1 to {done}")
    return int(step)


def _same_group(found: dict[str, Any], own: Mapping[str, Any], rate: float) -> bool:
    expected = own["param_groups"][0]
    if set(found) != set(expected) or any(isinstance(one, Tensor) for one in found.values()):
        return False
    others = all(found[name] == value for name, value in expected.items() if name != "lr")
    found_rate = found["lr"]
    is_number = isinstance(found_rate, int | float)
    return others and is_number and math.isclose(found_rate, rate, rel_tol=1e-12, abs_tol=0.0)


def _whole(name: str, state: Mapping[str, Any]) -> int:
    found = state[name]
    if type(found) is not int or not 0 <= found < 2**63:
        raise _refused(name, f"is {found!r:.60}, expected a whole number from 0 on")
    return found


def _number(name: str, state: Mapping[str, Any]) -> float:
    found = state[name]
    if type(found) is not float:
        raise _refused(name, f"is {found!r:.60}, expected a number")
    return found


def _named(values: Sequence[Tensor]) -> dict[str, Tensor]:
    return dict(zip(_names(values), values, strict=True))


def _names(values: Sequence[Any]) -> list[str]:
    return [f"tensor {place}" for place in range(len(values))]


def _refused(name: str, what: str) -> ValueError:
    return ValueError(
        f"the checkpoint was changed: its entry '{name}' {what}; restore the file, or train anew into "
        "another folder"
    )
