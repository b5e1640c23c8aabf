"""Models as JSON: what a card stores and a recipe says, and how the model is built from it again."""

import inspect
import reprlib
from collections.abc import Mapping
from math import prod
from typing import Any

from pyroclust.core.messages import unknown_name
from pyroclust.core.registry import arguments_of, name_of, registered
from pyroclust.distributions import Component, PartitionPrior
from pyroclust.distributions.protocols import Model
from pyroclust.models import LabelledTables, Mixture, PartiallyLabelled
from pyroclust.models.training_data.labelled_tables import AbsentTables
from pyroclust.saving.cards import check_depth
from pyroclust.saving.codec import build, build_numbers, call, check_arguments, describe

_PARTS: dict[str, Any] = {"prior": PartitionPrior, "component": Component}


def describe_model(model: Model) -> dict[str, Any]:
    """Return the name and the arguments of a model, ready for JSON.

    A registered mixture is described by its dimension and the numbers in which it differs from the registered
    one, any other mixture by its prior and its component, a model of a registered class by its arguments. Of
    labelled tables only shape and scale are kept.

    Raises:
        ValueError: if it is no mixture and of no registered class, or a part of it is of an unknown class or
            holds code.

    Example:
        >>> from pyroclust.models import overlap2d
        >>> describe_model(overlap2d().given({"concentration": 1.5}))
        {'name': 'overlap2d', 'arguments': {'dim': 2, 'concentration': 1.5}}
    """
    if isinstance(model, LabelledTables | AbsentTables | PartiallyLabelled):
        arguments: dict[str, Any] = {"dim": prod(model.event_shape), "typical_scale": model.typical_scale}
        if len(model.event_shape) > 1:
            arguments["event_shape"] = list(model.event_shape)
        return {"name": AbsentTables.name, "arguments": arguments}
    if type(model) in registered(Model).values():
        described = {key: describe(one, where=key) for key, one in arguments_of(model).items()}
        return {"name": name_of(model), "arguments": described}
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
    """Build a model from its description; only constructors of registered names are called.

    Args:
        described: what :func:`describe_model` returned, or the same with the arguments beside the name, as in
            the table ``[model]`` of a recipe. The arguments are ``prior`` and ``component``, the name being
            free and ``"mixture"`` by default; or those of a registered class; or those of a registered
            mixture beside hyperparameters by name, set as by :meth:`~pyroclust.models.Mixture.given`.

    Raises:
        ValueError: if a name or an argument is unknown, missing or of another kind than expected; the
            sentence says where.

    Example:
        >>> build_model({"name": "gaussian2d", "dim": 3, "prior_scale": 5.0}).component.prior_scale
        5.0
    """
    name, arguments = _name_and_arguments(described)
    classes = registered(Model)
    if name in classes:
        return call(classes[name], arguments, where=name)
    if not arguments.keys().isdisjoint(_PARTS):
        check_arguments(arguments, _PARTS, _PARTS, where="model")
        return Mixture(*(build(arguments[key], kind, where=key) for key, kind in _PARTS.items()), name=name)
    if name == AbsentTables.name:
        return call(AbsentTables, arguments, where=name)
    known = registered(Mixture)
    if name not in known:
        unknown = unknown_name("model", name, known | classes)
        raise ValueError(f"{unknown}; or give its prior and its component")
    of_factory = inspect.signature(known[name]).parameters
    model = call(known[name], {key: one for key, one in arguments.items() if key in of_factory}, where=name)
    return _with_hyperparameters(model, {key: one for key, one in arguments.items() if key not in of_factory})


def _describe_parts(model: Mixture) -> dict[str, Any]:
    return {part: describe(getattr(model, part), where=part) for part in _PARTS}


def _as_registered(model: Mixture, parts: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments from which the registered model of that name comes out the same, if there are."""
    known = registered(Mixture)
    if model.name not in known:
        return None
    dim = {"dim": model.component.dim}
    try:
        default = known[model.name](**dim)
        changed = _changed_numbers(default, model)
        again = _with_hyperparameters(default, changed)
    except ValueError:
        return None
    return dim | changed if _describe_parts(again) == parts else None


def _changed_numbers(default: Mixture, model: Mixture) -> dict[str, float]:
    """List the hyperparameters that are numbers in one model and other ones, or none, in another."""
    usual, changed = _describe_parts(default), _describe_parts(model)
    return {
        name: value
        for part in _PARTS
        for name in getattr(model, part).hyper_names
        for value in [changed[part]["arguments"].get(name)]
        if isinstance(value, int | float) and usual[part]["arguments"].get(name) != value
    }


def _with_hyperparameters(model: Mixture, values: Mapping[str, Any]) -> Mixture:
    """Set hyperparameters, random ones first: what then remains of them decides whose a shared name is."""
    known = {*model.hyperpriors, *model.prior.hyper_names, *model.component.hyper_names}
    for name, value in sorted(values.items(), key=lambda item: item[0] not in model.hyperpriors):
        where = f"{model.name}.{name}"
        if name not in known:
            known |= set(inspect.signature(registered(Mixture)[model.name]).parameters)
            raise ValueError(unknown_name("argument", where, [f"{model.name}.{one}" for one in known]))
        number = build_numbers(value, where=where)
        try:
            model = model.given({name: number})
        except ValueError as error:
            raise ValueError(f"{where}: {' '.join(str(error).split())}") from None
    return model


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
    check_arguments(beside, ["arguments"], [], where="model")
    return name, {str(key): one for key, one in beside["arguments"].items()}
