"""Cards and weights of guides that were damaged, or written by somebody else."""

import copy
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from faults.cases import Case, refused, refuses, run_command, snapshot
from safetensors.torch import load, save

from pyroclust.analysis.picking import pick_guide
from pyroclust.calibration import CertificateSettings
from pyroclust.calibration.checking import check_guide, store_certificate
from pyroclust.data.datasets import read_table
from pyroclust.data.tables import standardise
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.models import nig_mixture
from pyroclust.nn.features import ConditionInputs
from pyroclust.results.data import AnalysedData
from pyroclust.saving.cards import read_card
from pyroclust.saving.guides import load_guide, save_guide

CARD, WEIGHTS = "card.json", "weights.safetensors"
State = dict[str, torch.Tensor]


@cache
def saved() -> tuple[str, bytes]:
    """Return the card and the weights of a small guide."""
    with TemporaryDirectory() as folder:
        save_guide(NeuralClusteringProcess(nig_mixture(1)).eval(), folder, card={"about": "a test"})
        return Path(folder, CARD).read_text(), Path(folder, WEIGHTS).read_bytes()


def card_case(name: str, write: Callable[[], tuple[bytes, bytes | None]], words: str) -> Case:
    """Loading a folder with this card and these weights has to end in one sentence."""

    def run(folder: Path) -> str:
        card, weights = write()
        (folder / CARD).write_bytes(card)
        if weights is not None:
            (folder / WEIGHTS).write_bytes(weights)
        return refused(lambda: load_guide(folder), words)

    return Case("cards", name, f"refused: “{words}”", run)


def edited(name: str, words: str, path: str, value: Any) -> Case:
    """A card with one entry changed, of which dots say where it is."""

    def write() -> tuple[bytes, bytes | None]:
        card, weights = saved()
        content = json.loads(card)
        *places, last = path.split(".")
        reduce(getitem, places, content)[last] = value
        return json.dumps(content).encode(), weights

    return card_case(name, write, words)


def scored(name: str, words: str, path: str, value: Any) -> Case:
    """A card with one argument of its scorer changed."""
    return edited(name, words, f"arguments.scorer.arguments.{path}", value)


def text(name: str, words: str, make: Callable[[str], str | bytes]) -> Case:
    """A card with other text."""

    def write() -> tuple[bytes, bytes | None]:
        card, weights = saved()
        made = make(card)
        return made.encode() if isinstance(made, str) else made, weights

    return card_case(name, write, words)


def weighted(name: str, words: str, change: Callable[[State], State]) -> Case:
    """Other weights, with the checksum that fits them."""

    def write() -> tuple[bytes, bytes | None]:
        card, weights = saved()
        changed = save(change(load(weights)))
        content = json.loads(card) | {"weights": {"sha256": hashlib.sha256(changed).hexdigest()}}
        return json.dumps(content).encode(), changed

    return card_case(name, write, words)


def with_one(number: float) -> Callable[[State], State]:
    """Put a number into the middle of the largest tensor."""

    def change(state: State) -> State:
        largest = max(state, key=lambda name: state[name].numel())
        changed = state[largest].clone()
        changed.view(-1)[changed.numel() // 2] = number
        return {**state, largest: changed}

    return change


def removed(key: str) -> Callable[[str], str]:
    """Leave an entry out."""

    def change(card: str) -> str:
        content: Mapping[str, Any] = json.loads(card)
        return json.dumps({one: value for one, value in content.items() if one != key})

    return change


def no_weights() -> tuple[bytes, bytes | None]:
    return saved()[0].encode(), None


def others_weights() -> tuple[bytes, bytes | None]:
    card, weights = saved()
    state = copy.deepcopy(load(weights))
    return card.encode(), save({name: value + 1 for name, value in state.items()})


def short_weights() -> tuple[bytes, bytes | None]:
    card, weights = saved()
    content = json.loads(card) | {"weights": {"sha256": hashlib.sha256(weights[:-100]).hexdigest()}}
    return json.dumps(content).encode(), weights[:-100]


def huge_weights() -> tuple[bytes, bytes | None]:
    card, weights = saved()
    return card.encode(), weights + bytes(10_000_000)


def certified(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], str]:
    """A guide with a certificate that passes, whose card is changed afterwards: it counts as uncertified."""

    def run(folder: Path) -> str:
        verdict = {"passed": True, "findings": [{"what": "calibration", "passed": True}]}
        card, weights = saved()
        content = json.loads(card)
        (folder / WEIGHTS).write_bytes(weights)
        (folder / CARD).write_text(card)
        made_for = read_card(folder).made_for
        content["certificate"] = {"seed": 1, "made_for": made_for, "verdict": verdict}
        (folder / CARD).write_text(json.dumps(content))
        before = read_card(folder)
        assert before.passed
        assert not before.doubt
        changed = json.loads(json.dumps(content))
        change(changed)
        if changed["weights"] != content["weights"]:
            (folder / WEIGHTS).write_bytes(OTHER[0])
        (folder / CARD).write_text(json.dumps(changed))
        load_guide(folder)
        found = read_card(folder)
        assert found.passed is None
        assert found.verdict == found.doubt
        table = read_table("galaxies")
        data = AnalysedData(table, standardise(table))
        assert found.doubt in pick_guide(folder, data, conditions={}).notes[0]
        code, out, err = run_command(["check", str(folder), "--quick"])
        assert code == 0, err
        assert "uncertified" in " ".join(out.split())
        with pytest.raises(ValueError, match="counts as uncertified"):
            save_guide(load_guide(folder), folder / "other", card={"certificate": content["certificate"]})
        return found.doubt

    return run


def _new_weights(content: dict[str, Any]) -> None:
    state = load(saved()[1])
    OTHER[:] = [save({name: value * 1.01 for name, value in state.items()})]
    content["weights"] = {"sha256": hashlib.sha256(OTHER[0]).hexdigest()}


def _new_model(content: dict[str, Any]) -> None:
    content["model"]["arguments"]["concentration"] = 2.0


def unstorable(folder: Path) -> str:
    """The guide is replaced by another while its certificate is measured."""
    save_guide(NeuralClusteringProcess(nig_mixture(1)).eval(), folder / "g")
    settings = replace(CertificateSettings.nothing(), num_exact=2, exact_points=3)
    found = check_guide(folder / "g", settings=settings)
    save_guide(NeuralClusteringProcess(nig_mixture(1)).eval(), folder / "g")
    before = snapshot(folder)
    said = refused(lambda: store_certificate(folder / "g", found.certificate), "was changed meanwhile")
    assert snapshot(folder) == before
    return said


def _notes(name: str, words: str, **notes: Any) -> Case:
    """A guide saved with notes that no card can hold, into a folder with another one that stays."""

    def run(folder: Path) -> str:
        guide = NeuralClusteringProcess(nig_mixture(1)).eval()
        save_guide(guide, folder / "g")
        before = snapshot(folder)
        said = refused(lambda: save_guide(guide, folder / "g", card=notes), words)
        assert snapshot(folder) == before
        return said

    return Case("cards", name, f"refused: “{words}”", run)


OTHER: list[bytes] = []
NESTED = json.loads("[" * 99 + "]" * 99)
OF_PARTS = {"name": "mine", "arguments": {"prior": {"class": "PitmanYor"}, "component": {}}}
RIGHT = {"what": "calibration", "figure": 1, "limit": 2, "passed": True}
WRONG = {"what": "calibration", "figure": 1, "limit": 2, "passed": "yes"}

CASES = [
    edited("a model of another dimension", "does not fit points of shape (3,)", "model.arguments.dim", 3),
    refuses(
        "cards",
        "inputs of conditions that are empty",
        lambda: ConditionInputs({}),
        "inputs are empty, expected at least one",
    ),
    edited("weights are null, the network would be untrained", "names no weights", "weights", None),
    edited("weights without a checksum", "missing required field `sha256`", "weights", {}),
    edited("a checksum that is a number", "sha256: Expected `str`", "weights", {"sha256": 5}),
    edited("a checksum that is a path", "matching regex", "weights", {"sha256": "/../../../etc/passwd"}),
    edited("a path beside the checksum", "unknown field `file`", "weights", {"file": "/etc"}),
    edited("the checksum of other weights", "cut off or changed", "weights", {"sha256": "0" * 64}),
    weighted("one weight is nan, the checksum fits", "nan or infinite", with_one(float("nan"))),
    weighted("one weight is infinite, the checksum fits", "nan or infinite", with_one(float("inf"))),
    weighted("weights of float64", "torch.float64", lambda s: {k: v.double() for k, v in s.items()}),
    weighted("weights of float16", "torch.float16", lambda s: {k: v.half() for k, v in s.items()}),
    weighted("weights are true and false", "torch.bool", lambda s: {k: v > 0 for k, v in s.items()}),
    weighted("weights of another shape", "has shape", lambda s: {k: v.flatten() for k, v in s.items()}),
    weighted("a tensor too many", "not expected: extra", lambda s: {**s, "extra": torch.zeros(1)}),
    weighted("a tensor missing", "missing: ", lambda s: dict(list(s.items())[1:])),
    card_case("weights cut off, the checksum fits", short_weights, "is not a safetensors file"),
    edited("a model of nothing", "has a missing or malformed entry", "model", {}),
    edited("an unknown model", "unknown model 'nix'", "model", {"name": "nix", "arguments": {}}),
    edited("an unknown prior", "did you mean 'PitmanYorPrior'", "model", OF_PARTS),
    edited("an unknown argument", "arguments that do not fit", "arguments", {"depth": 3}),
    edited(
        "brackets in valid JSON",
        "nested more than 24 deep",
        "arguments.order",
        json.loads("[" * 99 + "]" * 99),
    ),
    card_case("no file of weights", no_weights, "there is no"),
    card_case("weights of another guide", others_weights, "cut off or changed"),
    card_case("weights far larger than the guide", huge_weights, "expected at most"),
    text("an empty card", "not valid JSON", lambda card: ""),
    text("a card of null", "format_version None", lambda card: "null"),
    text("a card in UTF-16", "no UTF-8", lambda card: card.encode("utf-16")),
    text("a card cut off", "not valid JSON", lambda card: card[:200]),
    text("a card of brackets", "nested too deeply", lambda card: "[" * 100_000),
    text("a card of 20 MiB", "more than 16 MiB", lambda card: card + " " * (20 << 20)),
    text("a key twice", "comes twice", lambda card: card.replace("{", '{"about": "", ', 1)),
    text(
        "NaN in a card",
        "no number of JSON",
        lambda card: card.replace('"max_points": null', '"max_points": NaN'),
    ),
    text(
        "1e999 in a card", "too large", lambda card: card.replace('"max_points": null', '"max_points": 1e999')
    ),
    text("a number of 5000 digits", "5000 digits", lambda card: card.replace("null", "9" * 5000)),
    *[
        text(f"no entry {key}", f"missing required field `{key}`", removed(key))
        for key in ("class", "arguments", "model", "weights")
    ],
    edited("a card of the future", "format_version 3, expected 1 to 2", "format_version", 3),
    edited("a version that is text", "format_version '2'", "format_version", "2"),
    edited("an entry that nobody knows", "unknown field `clas`", "clas", 1),
    edited("a class that is Python code", "unknown class 'os.system'", "class", "os.system"),
    edited("a class that is a number", "class: Expected `str`, got `int`", "class", 5),
    edited("arguments that are a list", "arguments: Expected `object`, got `array`", "arguments", []),
    edited("a model that is text", "model: Expected `object`, got `str`", "model", "x"),
    edited("max_points is text", "max_points: Expected `int | null`, got `str`", "max_points", "many"),
    edited("max_points is negative", "max_points: Expected `int` >= 1", "max_points", -5),
    edited("max_points is true", "max_points: Expected `int | null`, got `bool`", "max_points", True),
    edited("min_points is text", "min_points: Expected `int`, got `str`", "min_points", "few"),
    edited("min_points is 0", "min_points: Expected `int` >= 1", "min_points", 0),
    edited("a negative seed", "seeds[...]: Expected `int` >= 0", "seeds", {"weights": -1}),
    edited("about is a table", "about: Expected `str`, got `object`", "about", {"a": 1}),
    edited("a certificate that is text", "certificate: Expected `object`", "certificate", "x"),
    edited("a verdict that is a number", "verdict: Expected `object | null`", "certificate", {"verdict": 3}),
    edited(
        "a finding passed “yes”",
        "findings[0].passed: Expected `bool`, got `str`",
        "certificate",
        {"verdict": {"passed": True, "findings": [WRONG]}},
    ),
    edited(
        "findings without what follows",
        "does not say whether they are passed",
        "certificate",
        {"verdict": {"findings": [RIGHT]}},
    ),
    edited(
        "a mean KL that is text",
        "mean_kl: Expected `float | null`",
        "certificate",
        {"exact": [{"mean_kl": "x"}]},
    ),
    edited(
        "what a certificate is for is text", "made_for: Expected `object`", "certificate", {"made_for": "x"}
    ),
    edited(
        "what a certificate is for is a number",
        "made_for[...]: Expected `str | null`",
        "certificate",
        {"made_for": {"weights": 5}},
    ),
    Case(
        "cards",
        "the certificate of other weights",
        "counts as uncertified",
        certified(_new_weights),
        slow=True,
    ),
    Case(
        "cards", "the certificate of another model", "counts as uncertified", certified(_new_model), slow=True
    ),
    Case("cards", "a guide replaced while it is measured", "its certificate is not stored", unstorable),
    _notes("save_guide with a certificate that is a number", "certificate: Expected", certificate=5),
    _notes("save_guide with an array as a note", "cannot be written as JSON", recipe={"a": torch.zeros(2)}),
    _notes("save_guide with nan in a note", "cannot be written as JSON", recipe={"a": float("nan")}),
    _notes("save_guide with a negative seed", "seeds[...]: Expected `int` >= 0", seeds={"weights": -1}),
    _notes("save_guide with a name as its number of points", "max_points: Expected", max_points="x"),
    scored("width 0", "width is 0", "width", 0),
    scored("width -1", "width is -1", "width", -1),
    scored("width 2.0", "width is 2.0, expected a whole number", "width", 2.0),
    scored("width true", "width is True", "width", True),
    scored("a width of a million asks for terabytes", "allocate memory", "width", 10**6),
    scored("a width of a million million million", "width is", "width", 10**18),
    scored("a million blocks of attention", "num_attention is 1000000", "num_attention", 10**6),
    scored("a scale of 0", "scale is 0", "shape.arguments.scale", 0),
    scored("a scale of 1e308", "scale is 1e+308", "shape.arguments.scale", 1e308),
    scored("a bandwidth of 0", "bandwidths[0] is 0", "bandwidths", [0.0]),
    edited("num_orders 0", "num_orders is 0", "arguments", {"num_orders": 0}),
    edited("a model of no dimension", "dim is 0", "model", {"name": "nig_mixture", "arguments": {"dim": 0}}),
]
