"""Models as JSON: what a card stores and a recipe says, and how the model is built from it again."""

import inspect
import reprlib
from collections.abc import Mapping
from math import prod
from typing import Any

from pyroclust.core.errors import unknown_name
from pyroclust.core.registry import arguments_of, name_of, registered
from pyroclust.distributions import Component, PartitionPrior
from pyroclust.distributions.protocols import Model
from pyroclust.models import AbsentTables, LabelledTables, Mixture, PartiallyLabelled
from pyroclust.saving.depth import check_depth
from pyroclust.saving.numbers import build_number, build_tensor
from pyroclust.saving.objects import build, call, describe

__all__ = ["build_model", "describe_model"]

_PARTS: dict[str, Any] = {"prior": PartitionPrior, "component": Component}


def describe_model(model: Model) -> dict[str, Any]:
    """Return the name and the arguments of a model, ready for JSON; cost O(size of the hyperparameters).

    A registered model is described by its dimension and the numbers in which it differs from the registered
    one, any other mixture by its prior and its component, each a class with its arguments. Random
    hyperparameters are distributions, batches are nested lists. A model of a class of its own, registered by
    ``@register(Model, name=...)``, is described by its arguments. Of labelled tables only shape and scale are
    kept.

    Raises:
        ValueError: if it is no mixture and of no registered class, or a part of it is of an unknown class or
            holds code.

    Example:
        >>> from pyro.distributions import Gamma
        >>> from pyroclust.distributions import BernoulliBeta, ChineseRestaurantPrior
        >>> from pyroclust.models import overlap2d
        >>> describe_model(overlap2d().given({"concentration": 1.5}))
        {'name': 'overlap2d', 'arguments': {'dim': 2, 'concentration': 1.5}}
        >>> model = Mixture(ChineseRestaurantPrior(Gamma(2.0, 4.0)), BernoulliBeta(9))
        >>> describe_model(model)["arguments"]["prior"]["arguments"]["concentration"]
        {'class': 'Gamma', 'arguments': {'concentration': 2.0, 'rate': 4.0}}
    """
    if isinstance(model, LabelledTables | AbsentTables | PartiallyLabelled):
        arguments: dict[str, Any] = {"dim": prod(model.event_shape), "typical_scale": model.typical_scale}
        if len(model.event_shape) > 1:
            arguments["event_shape"] = list(model.event_shape)
        return {"name": AbsentTables.name, "arguments": arguments}
    if type(model) in registered(Model).values():
        own = {key: describe(one, where=key) for key, one in arguments_of(model).items()}
        return {"name": name_of(model), "arguments": own}
    if type(model) is not Mixture:
        raise ValueError(
            f"model is a {type(model).__name__}, expected a Mixture or a class with @register(Model): only "
            "these are described; or save guide.state_dict() and keep the code"
        )
    if model.constraints is not None or model.row_weights is not None:
        has = "weights of rows" if model.constraints is None else "constraints"
        raise ValueError(
            f"model has {has}, which belong to one data set, expected a model without: save the guide "
            "that it is a view of, or guide.under(None)"
        )
    if not isinstance(model.name, str):
        raise ValueError(f"model.name is {reprlib.repr(model.name)}, expected text")
    parts = _describe_parts(model)
    return {"name": model.name, "arguments": _as_registered(model, parts) or parts}


def build_model(described: Mapping[str, Any]) -> Any:
    """Build a model from its description; only constructors of known names are called.

    Args:
        described: what :func:`describe_model` returned, or the same with the arguments beside the name, as in
            the table ``[model]`` of a recipe. The arguments are either ``prior`` and ``component``, the name
            being free and ``"mixture"`` by default; or those of a registered class of models; or those of a
            registered mixture, and hyperparameters by name that are set as by
            :meth:`~pyroclust.models.Mixture.given`.

    Raises:
        ValueError: if a name or an argument is unknown, missing or of another kind than expected, in one
            sentence that says where; the nearest known name is offered.

    Example:
        >>> build_model({"name": "gaussian2d", "dim": 3, "prior_scale": 5.0}).component.prior_scale
        5.0
        >>> prior = {"class": "PitmanYorPrior", "discount": 0.25, "concentration": 1.0}
        >>> build_model({"prior": prior, "component": {"class": "BernoulliBeta", "dim": 9}}).prior.discount
        0.25
    """
    name, arguments = _name_and_arguments(described)
    classes = registered(Model)
    if name in classes:
        return call(classes[name], arguments, where=name)
    if not arguments.keys().isdisjoint(_PARTS):
        return _build_parts(name, arguments)
    if name == AbsentTables.name:
        return call(AbsentTables, arguments, where=name)
    known = registered(Mixture)
    if name not in known:
        unknown = unknown_name("model", name, known | classes)
        raise ValueError(f"{unknown}; or give its prior and its component")
    own = inspect.signature(known[name]).parameters
    model = call(known[name], {key: arguments[key] for key in own if key in arguments}, where=name)
    return _with_hyperparameters(model, {key: one for key, one in arguments.items() if key not in own})


def _describe_parts(model: Mixture) -> dict[str, Any]:
    return {part: describe(getattr(model, part), where=part) for part in _PARTS}


def _as_registered(model: Mixture, parts: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments from which the registered model of that name comes out the same, if there are."""
    known = registered(Mixture)
    if model.name not in known:
        return None
    own = {"dim": model.component.dim}
    try:
        default = known[model.name](**own)
        changed = _changed_numbers(default, model)
        again = _with_hyperparameters(default, changed)
    except ValueError:
        return None
    return own | changed if _describe_parts(again) == parts else None


def _changed_numbers(default: Mixture, model: Mixture) -> dict[str, float]:
    """List the hyperparameters that are numbers in one model and other ones, or none, in another."""
    usual, found = _describe_parts(default), _describe_parts(model)
    return {
        name: value
        for part in _PARTS
        for name in getattr(model, part).hyper_names
        for value in [found[part]["arguments"].get(name)]
        if isinstance(value, int | float) and usual[part]["arguments"].get(name) != value
    }


def _with_hyperparameters(model: Mixture, values: Mapping[str, Any]) -> Mixture:
    """Set hyperparameters, random ones first: what then remains of them decides whose a shared name is."""
    known = {*model.hyperpriors, *model.prior.hyper_names, *model.component.hyper_names}
    for name, value in sorted(values.items(), key=lambda item: item[0] not in model.hyperpriors):
        where = f"{model.name}.{name}"
        if name not in known:
            known |= set(inspect.signature(registered(Mixture)[model.name]).parameters)
            places = [f"{model.name}.{one}" for one in known]
            raise ValueError(unknown_name("argument", where, places))
        as_list = isinstance(value, list | tuple)
        one = build_tensor(value, where=where) if as_list else build_number(value, where=where)
        try:
            model = model.given({name: one})
        except ValueError as error:
            raise ValueError(f"{where}: {' '.join(str(error).split())}") from None
    return model


def _build_parts(name: str, arguments: Mapping[str, Any]) -> Mixture:
    for key in arguments:
        if key not in _PARTS:
            raise ValueError(unknown_name("argument beside prior and component", key, _PARTS))
    for key in _PARTS:
        if key not in arguments:
            raise ValueError(f"model lacks '{key}', expected both prior and component")
    return Mixture(*(build(arguments[key], kind, where=key) for key, kind in _PARTS.items()), name=name)


def _name_and_arguments(described: Any) -> tuple[str, dict[str, Any]]:
    """Take apart both forms: arguments in a table of their own, or beside the name."""
    if not isinstance(described, Mapping):
        raise ValueError(f"model is {reprlib.repr(described)}, expected a table with a name")
    check_depth(described, where="model")
    name = described.get("name", "mixture")
    if not isinstance(name, str):
        raise ValueError(f"model.name is {reprlib.repr(name)}, expected text")
    beside = {str(key): one for key, one in described.items() if key != "name"}
    if "arguments" not in beside:
        return name, beside
    if not isinstance(beside["arguments"], Mapping):
        raise ValueError(f"model.arguments is {reprlib.repr(beside['arguments'])}, expected a table")
    for key in beside.keys() - {"arguments"}:
        raise ValueError(unknown_name("entry of the model beside its arguments", key, ["name", "arguments"]))
    return name, {str(key): one for key, one in beside["arguments"].items()}
