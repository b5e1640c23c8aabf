"""Cards, weights and certificates of guides that were damaged, or written by somebody else."""

import copy
import hashlib
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from faults.cases import Case, refused, refuses, run_command, snapshot, table
from rich.console import Console
from safetensors.torch import load, save

from pyroclust import list_guides
from pyroclust.analysis.picking import pick_guide
from pyroclust.calibration import Certificate, CertificateSettings
from pyroclust.calibration.certificate import judge_certificate
from pyroclust.calibration.checking import check_guide, store_certificate
from pyroclust.cli.guides import guide_list
from pyroclust.data.datasets import read_table
from pyroclust.data.tables import standardise
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.models import nig_mixture
from pyroclust.results.data import AnalysedData
from pyroclust.saving.cards import find_guide, read_card
from pyroclust.saving.guides import load_guide, save_guide

CARD, WEIGHTS = "card.json", "weights.safetensors"
State = dict[str, torch.Tensor]
CASES, _, case = table("cards")


@cache
def saved() -> tuple[str, bytes]:
    """Return the card and the weights of a small guide."""
    with TemporaryDirectory() as folder:
        save_guide(NeuralClusteringProcess(nig_mixture(1)).eval(), folder, card={"about": "a test"})
        return Path(folder, CARD).read_text(), Path(folder, WEIGHTS).read_bytes()


def loaded(name: str, write: Callable[[], tuple[bytes, bytes | None]], words: str) -> Case:
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

    def change(card: str) -> str:
        content = json.loads(card)
        *places, last = path.split(".")
        reduce(getitem, places, content)[last] = value
        return json.dumps(content)

    return text(name, words, change)


def text(name: str, words: str, make: Callable[[str], str | bytes]) -> Case:
    """A card with other text."""

    def write() -> tuple[bytes, bytes | None]:
        card, weights = saved()
        made = make(card)
        return made.encode() if isinstance(made, str) else made, weights

    return loaded(name, write, words)


def weighted(name: str, words: str, change: Callable[[State], State] | None) -> Case:
    """Other weights, or weights cut off, with the checksum that fits them."""

    def write() -> tuple[bytes, bytes | None]:
        card, weights = saved()
        changed = weights[:-100] if change is None else save(change(load(weights)))
        content = json.loads(card) | {"weights": {"sha256": hashlib.sha256(changed).hexdigest()}}
        return json.dumps(content).encode(), changed

    return loaded(name, write, words)


def with_one(number: float) -> Callable[[State], State]:
    """Put a number into the middle of the largest tensor."""

    def change(state: State) -> State:
        largest = max(state, key=lambda name: state[name].numel())
        changed = state[largest].clone()
        changed.view(-1)[changed.numel() // 2] = number
        return {**state, largest: changed}

    return change


def others_weights() -> tuple[bytes, bytes | None]:
    card, weights = saved()
    return card.encode(), save({name: value + 1 for name, value in load(weights).items()})


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
            (folder / WEIGHTS).write_bytes(other_weights())
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


@cache
def other_weights() -> bytes:
    return save({name: value * 1.01 for name, value in load(saved()[1]).items()})


def _new_weights(content: dict[str, Any]) -> None:
    content["weights"] = {"sha256": hashlib.sha256(other_weights()).hexdigest()}


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


@case("every entry in turn of another kind", "one sentence, or read", slow=True)
def _every_entry(folder: Path) -> str:
    """Replace every entry of a card in turn by values of other kinds."""
    content = json.loads((find_guide("filter-nig1d") / CARD).read_text(encoding="utf-8"))
    tried = refused = 0
    for path in _leaves(content):
        for value in (None, -1, 1e308, 2**70, "x", [], {}, True, {"a": [[1]]}):
            changed = copy.deepcopy(content)
            reduce(getitem, path[:-1], changed)[path[-1]] = value
            (folder / CARD).write_text(json.dumps(changed))
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


@case("certificates of the shelf", "unchanged, and of their own guides")
def _shelf_as_before(folder: Path) -> None:
    for card in list_guides():
        again = Certificate.from_dict(card.certificate).to_dict()
        for name, value in card.certificate.items():
            assert name == "verdict" or again[name] == value, (card.name, name)
        assert not card.doubt
        assert card.certificate["made_for"] == card.made_for


@case("nan in a certificate, which JSON does not have", "null, read as nan")
def _nan_comes_back(folder: Path) -> None:
    found = Certificate.from_dict({"seed": 1, "sampled": [SAMPLED]}).sampled[0]
    assert found.log_evidence != found.log_evidence
    with pytest.raises(ValueError, match=r"sampled\[0\]\.num_points"):
        Certificate.from_dict({"seed": 1, "sampled": [{**SAMPLED, "num_points": None}]})


EXACT = {"num_points": 8, "num_datasets": 20, "mean_kl": 0.1, "median_kl": 0.1, "mean_kl_se": 0.1}
EFFICIENCIES = dict.fromkeys(("median_efficiency", "mean_efficiency", "low_efficiency"), 0.5)
SAMPLED = {"num_points": 8, "num_datasets": 20, "num_draws": 9, "log_prob_truth": -1.0, "log_evidence": None}
SAMPLED |= EFFICIENCIES
RIGHT = {"what": "calibration", "figure": 1, "limit": 2, "passed": True}

CASES += [
    *(
        edited(f"{path} is {shown}", words, path, value)
        for path, shown, words, value in (
            ("weights", "null: the network would be untrained", "names no weights", None),
            ("weights", "without a checksum", "missing required field `sha256`", {}),
            ("weights", "a path", "matching regex", {"sha256": "/../../../etc/passwd"}),
            ("weights", "a checksum beside a path", "unknown field `file`", {"file": "/etc"}),
            ("weights", "the checksum of others", "cut off or changed", {"sha256": "0" * 64}),
            ("model.arguments.dim", "3", "does not fit points of shape (3,)", 3),
            ("format_version", "of the future", "format_version 3, expected 1 to 2", 3),
            ("clas", "known to nobody", "unknown field `clas`", 1),
            ("class", "Python code", "unknown class 'os.system'", "os.system"),
            (
                "certificate",
                "without what follows from its findings",
                "does not say whether they are passed",
                {"verdict": {"findings": [RIGHT]}},
            ),
            (
                "certificate",
                "passed “yes”",
                "findings[0].passed: Expected `bool`, got `str`",
                {"verdict": {"passed": True, "findings": [RIGHT | {"passed": "yes"}]}},
            ),
        )
    ),
    *(
        edited(f"the scorer: {words}", words, f"arguments.scorer.arguments.{path}", value)
        for path, words, value in (
            ("width", "allocate memory", 10**6),
            ("width", "width is 1000000000000000000", 10**18),
            ("shape.arguments.scale", "scale is 1e+308", 1e308),
        )
    ),
    weighted("one weight is nan, the checksum fits", "nan or infinite", with_one(float("nan"))),
    weighted("weights of float64", "torch.float64", lambda s: {k: v.double() for k, v in s.items()}),
    weighted("weights are true and false", "torch.bool", lambda s: {k: v > 0 for k, v in s.items()}),
    weighted("weights of another shape", "has shape", lambda s: {k: v.flatten() for k, v in s.items()}),
    weighted("a tensor too many", "not expected: extra", lambda s: {**s, "extra": torch.zeros(1)}),
    weighted("a tensor missing", "missing: ", lambda s: dict(list(s.items())[1:])),
    weighted("weights cut off, the checksum fits", "is not a safetensors file", None),
    loaded("no file of weights", lambda: (saved()[0].encode(), None), "there is no"),
    loaded("weights of another guide", others_weights, "cut off or changed"),
    loaded(
        "weights far larger than the guide",
        lambda: (saved()[0].encode(), saved()[1] + bytes(10_000_000)),
        "expected at most",
    ),
    *(
        text(name, words, make)
        for name, words, make in (
            ("no weights", "field `weights`", lambda card: card.split(',\n  "weights"')[0] + "}"),
            ("a card in UTF-16", "no UTF-8", lambda card: card.encode("utf-16")),
            ("a card of brackets", "nested too deeply", lambda card: "[" * 100_000),
            ("a card of 20 MiB", "more than 16 MiB", lambda card: card + " " * (20 << 20)),
            ("a key twice", "comes twice", lambda card: card.replace("{", '{"about": "", ', 1)),
            ("NaN", "no number of JSON", lambda card: card.replace('_points": null', '_points": NaN')),
            ("1e999", "too large", lambda card: card.replace('_points": null', '_points": 1e999')),
            ("a number of 5000 digits", "5000 digits", lambda card: card.replace("null", "9" * 5000)),
        )
    ),
    *(
        Case(
            "cards",
            f"the certificate of another {what}",
            "counts as uncertified",
            certified(change),
            slow=True,
        )
        for what, change in (("set of weights", _new_weights), ("model", _new_model))
    ),
    Case("cards", "a guide replaced while it is measured", "its certificate is not stored", unstorable),
    _notes("save_guide with a certificate that is a number", "certificate: Expected", certificate=5),
    _notes("save_guide with an array as a note", "cannot be written as JSON", recipe={"a": torch.zeros(2)}),
    *(
        refuses(
            "cards",
            f"a certificate: {words}",
            lambda rows=rows: Certificate.from_dict({"seed": 1, **rows}),
            words,
        )
        for words, rows in (
            ("mean_kl: Expected `float`, got `str`", {"exact": [{**EXACT, "mean_kl": "x"}]}),
            ("malformed entry", {"exact": ["x"]}),
            ("share_high_k: Expected `float`", {"sampled": [{**SAMPLED, "share_high_k": 3.0}]}),
        )
    ),
]
