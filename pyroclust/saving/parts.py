"""Partition priors and component families as JSON: the class beside the arguments of its constructor."""

import inspect
import reprlib
from collections.abc import Callable, Mapping
from typing import Any, get_args

from torch import Tensor
from torch.distributions import Distribution

from pyroclust.distributions import (
    BernoulliBeta,
    ChineseRestaurantPrior,
    ConjugateComponent,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    MultinomialDirichlet,
    NormalIndependent,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PitmanYorPrior,
    PoissonGamma,
    Product,
    PyroComponent,
    student_t,
    von_mises,
)
from pyroclust.distributions.hyperparameters import Hyperparameterised
from pyroclust.errors import unknown_name
from pyroclust.models import warped_arcs
from pyroclust.saving.distributions import build_distribution, describe_distribution
from pyroclust.saving.numbers import build_number, build_tensor, build_whole, describe_numbers

__all__ = ["COMPONENTS", "PRIORS", "build_part", "call_with", "describe_part"]

PRIORS: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (
        ChineseRestaurantPrior,
        DirichletMultinomialPrior,
        FiniteMixturesPrior,
        GammaConcentration,
        PitmanYorPrior,
    )
}
"""Partition priors that a description may name."""

COMPONENTS: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (
        BernoulliBeta,
        MultinomialDirichlet,
        NormalIndependent,
        NormalInverseGamma,
        NormalInverseWishart,
        NormalKnownVariance,
        PoissonGamma,
        Product,
        student_t,
        von_mises,
        warped_arcs,
    )
}
"""Component families, and functions that return one, that a description may name."""


def describe_part(
    part: Hyperparameterised, known: Mapping[str, Callable[..., Any]], *, where: str
) -> dict[str, Any]:
    """Return the class of a prior or a family with its constructor's arguments, ready for JSON.

    Cost O(size of the arguments).

    Args:
        part: what to describe.
        known: :data:`PRIORS` or :data:`COMPONENTS`.
        where: its place in the description, for errors.

    Raises:
        ValueError: if the class is not known, or an argument cannot be written as JSON.

    Example:
        >>> describe_part(ChineseRestaurantPrior(0.7), PRIORS, where="prior")
        {'class': 'ChineseRestaurantPrior', 'concentration': 0.7}
    """
    if isinstance(part, PyroComponent) and part.origin is not None:
        name, arguments = part.origin
    else:
        name, arguments = type(part).__name__, part.arguments
        if type(part) is PyroComponent:
            raise ValueError(
                f"{where} is a PyroComponent, which holds code of its own, expected a family known by name: "
                f"one of {', '.join(sorted(known))}; or save guide.state_dict() and keep the code"
            )
        if name not in known:
            raise ValueError(f"{where}: {unknown_name('class', name, known)}")
        if known[name] is not type(part):
            raise ValueError(f"{where} is a {name} of {type(part).__module__}, expected pyroclust's own")
    described = {key: _describe(value, f"{where}.{key}") for key, value in arguments.items()}
    return {"class": name, **described}


def build_part(described: Any, known: Mapping[str, Callable[..., Any]], *, where: str) -> Any:
    """Build a prior or a family from what :func:`describe_part` returned; nothing else is ever called.

    Args:
        described: the class and the arguments, side by side.
        known: :data:`PRIORS` or :data:`COMPONENTS`.
        where: its place in the description, for errors.

    Raises:
        ValueError: if the class or an argument is unknown, missing, or of another kind than expected.

    Example:
        >>> described = {"class": "ChineseRestaurantPrior", "concentration": 0.7}
        >>> build_part(described, PRIORS, where="prior").concentration
        0.7
    """
    if not isinstance(described, Mapping) or "class" not in described:
        raise ValueError(
            f"{where} is {reprlib.repr(described)}, expected a class with its arguments, "
            f"such as {{'class': '{min(known)}', ...}}"
        )
    name = str(described["class"])
    if name not in known:
        raise ValueError(f"{where}: {unknown_name('class', name, known)}")
    return call_with(known[name], {key: one for key, one in described.items() if key != "class"}, where=where)


def call_with(function: Callable[..., Any], described: Mapping[str, Any], *, where: str) -> Any:
    """Call a constructor, or a function that is one, with arguments from JSON, by its signature.

    Raises:
        ValueError: if an argument is unknown, missing, of another kind than annotated, or refused.

    Example:
        >>> call_with(BernoulliBeta, {"dim": 2}, where="component").dim
        2
    """
    parameters = inspect.signature(function).parameters
    for key in described:
        if key not in parameters:
            raise ValueError(
                f"{where}: {unknown_name(f'argument of {function.__name__}', str(key), parameters)}"
            )
    for key, one in parameters.items():
        if one.default is one.empty and key not in described:
            raise ValueError(
                f"{where} lacks '{key}', expected {function.__name__} with {', '.join(parameters)}"
            )
    values = {
        key: _build(value, parameters[key].annotation, f"{where}.{key}") for key, value in described.items()
    }
    try:
        return function(**values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{where}: {' '.join(str(error).split())}") from None


def _describe(value: Any, where: str) -> Any:
    if isinstance(value, Distribution):
        return describe_distribution(value, where=where)
    if isinstance(value, tuple):
        return [describe_part(one, COMPONENTS, where=f"{where}[{index}]") for index, one in enumerate(value)]
    return describe_numbers(value, where=where)


def _build(value: Any, annotation: Any, where: str) -> Any:
    """Build an argument of a kind that its annotation allows."""
    kinds = get_args(annotation) or (annotation,)
    if ConjugateComponent in kinds and isinstance(value, list | tuple):
        return [build_part(one, COMPONENTS, where=f"{where}[{index}]") for index, one in enumerate(value)]
    if Distribution in kinds and isinstance(value, Mapping):
        return build_distribution(value, where=where)
    if Tensor in kinds and isinstance(value, list | tuple):
        return build_tensor(value, where=where)
    if float in kinds:
        return build_number(value, where=where)
    if int in kinds:
        return build_whole(value, where=where)
    wanted = "a list of component families" if ConjugateComponent in kinds else "a distribution"
    raise ValueError(f"{where} is {reprlib.repr(value)}, expected {wanted}")
