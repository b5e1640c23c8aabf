"""Cards of format version 1, whose scorers, networks and distributions were written in forms of their own."""

from collections.abc import Mapping
from typing import Any


def modernised(value: Any) -> Any:
    """Return a part of a card of version 1 in today's form; what has that form stays as it is.

    * Arguments that stood beside the class, or beside its other arguments, are among them.
    * A filter is an object instead of true or false, conditions are those of the light scorer, and a
      clusterwise network has a class, as have the encoders in it.

    Example:
        >>> modernised({"class": "Gamma", "concentration": 2.0, "rate": 4.0})
        {'class': 'Gamma', 'arguments': {'concentration': 2.0, 'rate': 4.0}}
    """
    if isinstance(value, list):
        return [modernised(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    modern = {key: modernised(one) for key, one in value.items()}
    if isinstance(modern.get("conditions"), Mapping) and "class" not in modern["conditions"]:
        _name_conditions(modern)
    if isinstance(modern.get("network"), Mapping) and "class" not in modern["network"]:
        modern["network"] = _with_class("ClusterwiseNetwork", _with_encoders(modern["network"]))
    if isinstance(modern.get("scorer"), Mapping):
        _name_filter(modern)
    if "class" not in modern:
        return modern
    beside = {key: one for key, one in modern.items() if key not in ("class", "arguments")}
    return _with_class(modern["class"], {**modern.get("arguments", {}), **beside})


def _name_conditions(guide: dict[str, Any]) -> None:
    inputs = {name: _with_class("ConditionInput", one) for name, one in guide["conditions"].items()}
    guide["conditions"] = _with_class("ConditionInputs", {"inputs": inputs})


def _name_filter(guide: dict[str, Any]) -> None:
    """Turn the filter of the light scorer into an object, and give the scorer the conditions."""
    arguments = guide["scorer"].get("arguments", {})
    if not isinstance(arguments.get("filter"), bool):
        return
    conditions = guide.pop("conditions", None)
    names = [] if conditions is None else list(conditions["arguments"]["inputs"])
    filtered = _with_class("FilterScorer", {"conditions": names}) if arguments["filter"] else None
    arguments.update(filter=filtered, conditions=conditions)


def _with_encoders(network: dict[str, Any]) -> dict[str, Any]:
    encoders = {place: network.get(place) for place in ("up_front", "each_step")}
    return network | {
        place: None if one is None else _with_class("SetEncoder", {"width": network["width"], **one})
        for place, one in encoders.items()
    }


def _with_class(name: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"class": name, "arguments": dict(arguments)}
