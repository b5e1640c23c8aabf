"""Cards of pretrained guides, and the shelf of guides that come with the package."""

import hashlib
import json
import re
import reprlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from pyroclust.core.counts import check_count, check_seed
from pyroclust.core.errors import unknown_name
from pyroclust.core.files import parse_json, read_text
from pyroclust.core.text import listed
from pyroclust.saving.depth import check_depth
from pyroclust.saving.entries import check_keys, list_entry, table_entry, text_entry
from pyroclust.saving.version_1 import modernised

__all__ = [
    "CARD_FILE",
    "FORMAT_VERSION",
    "NO_GUIDE",
    "WEIGHTS_FILE",
    "GuideCard",
    "find_guide",
    "list_guides",
    "parse_card",
    "read_card",
]

FORMAT_VERSION = 2
CARD_FILE = "card.json"
# What stands for no guide at all where a guide is named; a folder of that name is ./none.
NO_GUIDE = "none"
WEIGHTS_FILE = "weights.safetensors"
_ENTRIES = (
    "format_version",
    "about",
    "class",
    "arguments",
    "model",
    "weights",
    "min_points",
    "max_points",
    "fits_any_table",
    "recipe",
    "seeds",
    "certificate",
    "versions",
)
_HEADLINES = {"exact": "mean_kl", "sampled": "median_efficiency"}
_MADE_FOR = {"weights": "other weights", "model": "another model", "guide": "other arguments"}


@dataclass(frozen=True)
class GuideCard:
    """What is known about a pretrained guide without building it.

    Attributes:
        name: name of its folder.
        guide_class: name of its class among the guides.
        arguments: JSON arguments of its constructor, without the model.
        model: name of its model.
        model_arguments: JSON arguments of the model, see :func:`pyroclust.saving.models.describe_model`.
        weights_sha256: checksum of its weights; ``None`` for a guide without weights.
        about: one line for lists.
        min_points: number of points from which it was trained.
        max_points: number of points up to which it was trained; ``None`` where any number is fine.
        recipe: how it was trained.
        seeds: seeds of the training.
        certificate: figures measured on fresh data.
        versions: library versions that wrote it.
        fits_any_table: whether its weights serve the models of tables of any columns.
        doubt: why the certificate in the file does not count, and is left out here; empty where it does.
    """

    name: str
    guide_class: str
    arguments: Mapping[str, Any]
    model: str
    model_arguments: Mapping[str, Any]
    weights_sha256: str | None
    about: str = ""
    min_points: int = 1
    max_points: int | None = None
    recipe: Mapping[str, Any] = field(default_factory=dict)
    seeds: Mapping[str, int] = field(default_factory=dict)
    certificate: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    fits_any_table: bool = False
    doubt: str = ""

    def __repr__(self) -> str:
        """Name the guide and its model, and say whether it passes its certificate."""
        kind = ", a reference" if self.is_reference else ", passes its certificate" if self.passed else ""
        dim = "" if self.dim is None else f", {self.dim}-D"
        return f"GuideCard({self.name}: {self.guide_class} of {self.model}{dim}{kind})"

    @property
    def passed(self) -> bool | None:
        """Whether the guide passes its certificate, as it was judged; ``None`` where nothing was tested.

        Example:
            >>> read_card(find_guide("ncp-nig1d")).passed
            True
        """
        verdict = self.certificate.get("verdict") or {}
        findings = verdict.get("findings")
        return verdict["passed"] and all(one["passed"] for one in findings) if findings else None

    @property
    def num_failed(self) -> int | None:
        """How many tests of its certificate the guide fails; ``None`` where nothing was tested.

        Example:
            >>> read_card(find_guide("ncp-mfm2d")).num_failed
            1
        """
        findings = (self.certificate.get("verdict") or {}).get("findings")
        return sum(not one["passed"] for one in findings) if findings else None

    @property
    def is_reference(self) -> bool:
        """Whether it fails its certificate: good to compare with, and never picked by default.

        Example:
            >>> read_card(find_guide("ncp-published-gaussian2d")).is_reference
            True
        """
        return self.passed is False

    @property
    def verdict(self) -> str:
        """What the certificate says, in one line, or why it does not count; empty where nothing was tested.

        Example:
            >>> read_card(find_guide("ncp-mfm2d")).verdict
            'fails 1 of 18 tests of its certificate: share of Pareto k above 0.7 at N = 300'
        """
        findings = (self.certificate.get("verdict") or {}).get("findings") or []
        failed = [
            str(one["what"]).removesuffix(", p").removesuffix(", nats")
            for one in findings
            if not one["passed"]
        ]
        if not findings:
            return self.doubt
        if not failed:
            return f"passes all {len(findings)} tests of its certificate"
        more = f"; and {len(failed) - 2} more" if len(failed) > 2 else ""
        return (
            f"fails {len(failed)} of {len(findings)} tests of its certificate: {'; '.join(failed[:2])}{more}"
        )

    @property
    def dim(self) -> int | None:
        """Dimension of the points that its model is for, ``None`` where its description leaves it out.

        Example:
            >>> read_card(find_guide("filter-nig1d")).dim
            1
        """
        return _dim(self.model_arguments.get("component", self.model_arguments))

    @property
    def made_for(self) -> dict[str, str | None]:
        """What a certificate of this guide is made for: checksums of weights, model, and class and arguments.

        Example:
            >>> card = read_card(find_guide("ncp-nig1d"))
            >>> card.made_for["weights"] == card.weights_sha256
            True
        """
        return {
            "weights": self.weights_sha256,
            "model": _digest(self.model, self.model_arguments),
            "guide": _digest(self.guide_class, self.arguments),
        }

    def doubt_of(self, certificate: Mapping[str, Any]) -> str:
        """Return why a certificate does not count for this guide; empty where it does, or does not say.

        Example:
            >>> read_card(find_guide("ncp-nig1d")).doubt_of({"made_for": {"weights": "0" * 64}})
            'has a certificate that was measured with other weights, and counts as uncertified'
        """
        said, own = certificate.get("made_for") or {}, self.made_for
        other = [words for name, words in _MADE_FOR.items() if said.get(name, own[name]) != own[name]]
        if not other:
            return ""
        return f"has a certificate that was measured with {listed(other, 3)}, and counts as uncertified"

    def to_json(self) -> str:
        """Write the card as the text of ``card.json``.

        Example:
            >>> card = GuideCard("filter", "PredictiveFilter", {}, "nig_mixture", {"dim": 1}, None)
            >>> json.loads(card.to_json())["model"]
            {'name': 'nig_mixture', 'arguments': {'dim': 1}}
        """
        content = {
            "format_version": FORMAT_VERSION,
            "about": self.about,
            "class": self.guide_class,
            "arguments": self.arguments,
            "model": {"name": self.model, "arguments": self.model_arguments},
            "weights": {"sha256": self.weights_sha256} if self.weights_sha256 else None,
            "min_points": self.min_points,
            "max_points": self.max_points,
            "recipe": self.recipe,
            "seeds": self.seeds,
            "certificate": self.certificate,
            "versions": self.versions,
            **({"fits_any_table": True} if self.fits_any_table else {}),
        }
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read_card(folder: Path) -> GuideCard:
    """Read ``card.json`` of a guide's folder.

    Raises:
        ValueError: if the card is missing, is not JSON, lacks an entry, or has another format version.

    Example:
        >>> read_card(find_guide("filter-nig1d")).guide_class
        'PredictiveFilter'
    """
    path = folder / CARD_FILE
    if not path.is_file():
        raise ValueError(f"'{folder}' holds no {CARD_FILE}; give the folder of a saved guide")
    try:
        text = read_text(path)
    except ValueError as error:
        raise _no_json(path, error) from None
    card = parse_card(text, path)
    doubt = card.doubt_of(card.certificate)
    return replace(card, certificate={}, doubt=doubt) if doubt else card


def parse_card(text: str, path: Path) -> GuideCard:
    """Return what the text of a card says; its certificate is that of the text, whatever guide it is for.

    Raises:
        ValueError: if the text is not JSON, lacks an entry, has a wrong one, or has another format version.
    """
    try:
        content = parse_json(text)
    except ValueError as error:
        raise _no_json(path, error) from None
    version = content.get("format_version") if isinstance(content, dict) else None
    if type(version) is not int or version not in range(1, FORMAT_VERSION + 1):
        raise ValueError(
            f"'{path}' has format_version {reprlib.repr(version)}, expected 1 to {FORMAT_VERSION}; "
            "install the pyroclust version that wrote it or save the guide again"
        )
    try:
        check_depth(content, where="it")
        check_keys(content, _ENTRIES, what="entry")
        card = _card_from(content, path.parent.name)
        return _modern(card) if version == 1 else card
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        reason = f"'{error.args[0]}' is missing" if isinstance(error, KeyError) else error
        raise ValueError(f"'{path}' has a missing or malformed entry ({reason}); restore the file") from None


def _no_json(path: Path, error: ValueError) -> ValueError:
    return ValueError(f"'{path}' is not valid JSON ({error}); restore the file or train the guide again")


def _card_from(content: dict[str, Any], name: str) -> GuideCard:
    model = table_entry(content, "model")
    check_keys(model, ("name", "arguments"), what="entry of the model")
    seeds = table_entry(content, "seeds", {})
    versions = table_entry(content, "versions", {})
    least, most = check_count("min_points", content.get("min_points", 1)), content.get("max_points")
    return GuideCard(
        name=name,
        guide_class=text_entry(content, "class"),
        arguments=table_entry(content, "arguments"),
        model=text_entry(model, "name"),
        model_arguments=table_entry(model, "arguments"),
        weights_sha256=_checksum(content),
        about=text_entry(content, "about", ""),
        min_points=least,
        max_points=None if most is None else check_count("max_points", most, at_least=least),
        recipe=table_entry(content, "recipe", {}),
        seeds={one: check_seed(seeds[one], name=f"seeds.{one}") for one in seeds},
        certificate=_certificate(table_entry(content, "certificate", {})),
        versions={one: text_entry(versions, one) for one in versions},
        fits_any_table=content.get("fits_any_table") is True,
    )


def _digest(name: str, arguments: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps([name, arguments], sort_keys=True).encode()).hexdigest()


def _checksum(content: dict[str, Any]) -> str | None:
    if content["weights"] is None:
        return None
    weights = table_entry(content, "weights")
    check_keys(weights, ("sha256",), what="entry of the weights")
    checksum = text_entry(weights, "sha256")
    if re.fullmatch(r"[0-9a-f]{64}", checksum) is None:
        raise ValueError(f"'sha256' is {reprlib.repr(checksum)}, expected 64 digits from 0 to f")
    return checksum


def _certificate(content: dict[str, Any]) -> dict[str, Any]:
    """Return a certificate whose verdict has the form that lists and pages read."""
    for name, value in table_entry(content, "made_for", {}).items():
        if not isinstance(value, str | None):
            raise ValueError(f"'made_for.{name}' is {reprlib.repr(value)}, expected text or null")
    for part, figure in _HEADLINES.items():
        for row in list_entry(content, part):
            for key in ("num_points", figure):
                number = row.get(key)
                if number is not None and (type(number) not in (int, float) or abs(number) > 1e18):
                    raise ValueError(f"'{part}.{key}' is {reprlib.repr(number)}, expected a number")
    verdict = content.get("verdict")
    if verdict is None:
        return content
    table = table_entry(content, "verdict")
    for one in list_entry(table, "findings"):
        text_entry(one, "what")
        if not isinstance(one.get("passed"), bool):
            raise ValueError(f"'passed' is {reprlib.repr(one.get('passed'))}, expected true or false")
    if not isinstance(table.get("passed", None if table.get("findings") else False), bool):
        raise ValueError(f"'passed' is {reprlib.repr(table.get('passed'))}, expected true or false")
    return content


def _modern(card: GuideCard) -> GuideCard:
    arguments = modernised(card.arguments)
    if "network" in arguments:
        arguments["network"]["arguments"].setdefault("dim", card.dim)
    return replace(card, arguments=arguments, model_arguments=modernised(card.model_arguments))


def _dim(described: Any) -> int | None:
    """Return the dimension of a described family, that of a product being the sum over its parts."""
    if not isinstance(described, Mapping):
        return None
    described = described.get("arguments", described)
    if not isinstance(described, Mapping):
        return None
    parts = described.get("parts")
    if not isinstance(parts, list):
        return described.get("dim")
    dims = [_dim(part) for part in parts]
    known = [one for one in dims if one is not None]
    return sum(known) if len(known) == len(dims) else None


def shelf() -> Path:
    """Return the folder of the guides that come with the package."""
    return Path(str(files("pyroclust").joinpath("pretrained_guides")))


def list_guides() -> tuple[GuideCard, ...]:
    """List the cards of the guides that come with the package, by name.

    Example:
        >>> "filter-nig1d" in [card.name for card in list_guides()]
        True
    """
    if not shelf().is_dir():
        return ()
    return tuple(read_card(path.parent) for path in sorted(shelf().glob(f"*/{CARD_FILE}")))


def find_guide(name_or_folder: str | PathLike[str]) -> Path:
    """Return the folder of a guide, given its name on the shelf or a folder.

    Names on the shelf come first: write ``./name`` for a folder of the same name.

    Raises:
        ValueError: if it is neither; the nearest known name is offered.

    Example:
        >>> find_guide("filter-nig1d").name
        'filter-nig1d'
    """
    text = str(name_or_folder)
    known = [path.parent.name for path in shelf().glob(f"*/{CARD_FILE}")]
    if text in known:
        return shelf() / text
    # Names that are too long for the system are no folders, and none is the one we stand in.
    with suppress(OSError):
        if text and Path(text).is_dir():
            return Path(text)
    raise ValueError(f"{unknown_name('guide', text, known)}; or give the folder of a saved guide")
