"""Certificates whose figures are of a wrong kind: refused, and never a traceback of a list or a page."""

import copy
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faults.cases import Case, refuses, table
from rich.console import Console

from pyroclust import list_guides, load_guide
from pyroclust.calibration import Certificate
from pyroclust.calibration.certificate import judge_certificate
from pyroclust.cli.guides import guide_list
from pyroclust.saving.cards import find_guide, read_card

CASES, _case, case = table("certificates")

_VALUES = (None, -1, 1e308, 2**70, "x", [], {}, True, {"a": [[1]]})
_EXACT = {"num_points": 8, "num_datasets": 20, "mean_kl": 0.1, "median_kl": 0.1, "mean_kl_se": 0.1}
_SAMPLED = {
    "num_points": 8,
    "num_datasets": 20,
    "num_draws": 9,
    "median_efficiency": 0.5,
    "mean_efficiency": 0.5,
    "low_efficiency": 0.5,
    "log_prob_truth": -1.0,
    "log_evidence": None,
}


def _refused(name: str, words: str, **content: Any) -> Case:
    return refuses("certificates", name, lambda: Certificate.from_dict({"seed": 1, **content}), words)


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every entry; of lists the first two."""
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value[:2] if isinstance(value, list) else ())
    )
    for key, one in entries:
        yield (*path, key)
        yield from _leaves(one, (*path, key))


def _used(folder: Path) -> None:
    """Do with a card all that lists, picking and check do with it."""
    card = read_card(folder)
    Console(file=io.StringIO()).print(guide_list([card]))
    assert (card.passed, repr(card)) is not None
    if card.certificate:
        judge_certificate(Certificate.from_dict(card.certificate))
    load_guide(folder)


@case("every entry of a card in turn of another kind", "one sentence, or read", slow=True)
def _every_entry(folder: Path) -> str:
    """Replace every entry of a card in turn by values of other kinds."""
    text = (find_guide("filter-nig1d") / "card.json").read_text(encoding="utf-8")
    content = json.loads(text)
    tried = refused = 0
    for path in _leaves(content):
        for value in _VALUES:
            changed = copy.deepcopy(content)
            place = changed
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value
            (folder / "card.json").write_text(json.dumps(changed))
            tried += 1
            try:
                _used(folder)
            except ValueError as error:
                refused += 1
                said = " ".join(str(error).split())
                assert len(said) <= 700, said
                assert said.isprintable(), said
    assert refused > tried / 2
    return f"{refused} of {tried} cards refused in a sentence, the others read"


@case("those of the shelf", "unchanged, and of their own guides")
def _shelf_as_before(folder: Path) -> None:
    for card in list_guides():
        again = Certificate.from_dict(card.certificate).to_dict()
        for name, value in card.certificate.items():
            assert name == "verdict" or again[name] == value, (card.name, name)
        assert not card.doubt
        assert card.certificate["made_for"] == card.made_for


@case("nan, which JSON does not have", "null, read as nan")
def _nan_comes_back(folder: Path) -> None:
    found = Certificate.from_dict({"seed": 1, "sampled": [_SAMPLED]}).sampled[0]
    assert found.log_evidence != found.log_evidence
    with pytest.raises(ValueError, match=r"sampled\[0\]\.num_points"):
        Certificate.from_dict({"seed": 1, "sampled": [{**_SAMPLED, "num_points": None}]})


CASES += [
    _refused(
        "a mean that is text", "mean_kl: Expected `float`, got `str`", exact=[{**_EXACT, "mean_kl": "x"}]
    ),
    _refused(
        "a number of points of 2.5", "num_points: Expected `int`", exact=[{**_EXACT, "num_points": 2.5}]
    ),
    _refused("a number of points that is true", "got `bool`", exact=[{**_EXACT, "num_points": True}]),
    _refused("a row without its figures", "missing", exact=[{"num_points": 8}]),
    _refused("rows that are a number", "malformed entry", exact=5),
    _refused("a row that is text", "malformed entry", exact=["x"]),
    _refused("a share of 3", "share_high_k: Expected `float`", sampled=[{**_SAMPLED, "share_high_k": 3.0}]),
    _refused(
        "counts that are text", "counts: Expected `array`", calibration=[{"functional": "a", "counts": "x"}]
    ),
    _refused("conditions that are a number", "conditions: Expected `array`", conditions=5),
    _refused("a seed that is text", "seed: Expected `int`", seed="x"),
    _refused("versions that are a list", "malformed entry", versions=["x"]),
]
