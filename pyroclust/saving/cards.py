"""Cards of pretrained guides, and the shelf of guides that come with the package."""

import hashlib
import json
import reprlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import asdict, replace

from pyroclust.core.files import parse_json, read_text
from pyroclust.core.messages import listed, unknown_name, visible
from pyroclust.core.numbers import MAX_SEED

Record = TypeVar("Record")

FORMAT_VERSION = 2
CARD_FILE = "card.json"
# What stands for no guide at all where a guide is named; a folder of that name is ./none.
NO_GUIDE = "none"
WEIGHTS_FILE = "weights.safetensors"

Count = Annotated[int, Meta(ge=1, le=MAX_SEED)]
Seed = Annotated[int, Meta(ge=0, le=MAX_SEED)]
Figure = Annotated[float, Meta(ge=-1e18, le=1e18)]
_MOST_NESTED = 24
_MADE_FOR = {"weights": "other weights", "model": "another model", "guide": "other arguments"}


class StoredFinding(Struct, frozen=True):
    """A test of a certificate."""

    what: str
    passed: bool


class StoredVerdict(Struct, frozen=True):
    """The verdict of a certificate."""

    passed: bool | None = None
    findings: tuple[StoredFinding, ...] = ()


class StoredFigures(Struct, frozen=True):
    """Divergence from exact posteriors, and efficiency of importance weights, as lists show them."""

    num_points: Figure | None = None
    mean_kl: Figure | None = None
    median_efficiency: Figure | None = None


class StoredCertificate(Struct, frozen=True):
    """What lists of guides read of a certificate; :mod:`pyroclust.calibration` reads all of it."""

    made_for: dict[str, str | None] = {}
    exact: tuple[StoredFigures, ...] = ()
    sampled: tuple[StoredFigures, ...] = ()
    verdict: StoredVerdict | None = None
    mixture: tuple[StoredFigures, ...] = ()


class Described(Struct, frozen=True, forbid_unknown_fields=True):
    """A model by its name, see :func:`pyroclust.saving.models.describe_model`."""

    name: str
    arguments: dict[str, Any]


class Weights(Struct, frozen=True, forbid_unknown_fields=True):
    """The checksum of the weights."""

    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class CardEntries(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``card.json`` holds, in this order."""

    format_version: int = FORMAT_VERSION
    about: str = ""
    guide_class: str = field(name="class")
    arguments: dict[str, Any]
    described_model: Described = field(name="model")
    weights: Weights | None
    # Numbers of points that it was trained for; no upper one where any number is fine.
    min_points: Count = 1
    max_points: Count | None = None
    recipe: dict[str, Any] = {}
    seeds: dict[str, Seed] = {}
    certificate: dict[str, Any] = {}
    versions: dict[str, str] = {}
    # Whether its weights serve the models of tables of any columns.
    fits_any_table: bool = False


class GuideCard(CardEntries, frozen=True, kw_only=True):
    """What is known about a pretrained guide without building it.

    ``name`` is that of its folder; ``doubt`` says why the certificate in the file does not count, and is left
    out here, and is empty where it does.
    """

    name: str = ""
    doubt: str = ""

    def __repr__(self) -> str:
        kind = ", a reference" if self.is_reference else ", passes its certificate" if self.passed else ""
        kind = ", claims a mixture" if self.passed and self.claims_mixture else kind
        dim = "" if self.dim is None else f", {self.dim}-D"
        return f"GuideCard({self.name}: {self.guide_class} of {self.model}{dim}{kind})"

    @property
    def model(self) -> str:
        """Name of its model."""
        return self.described_model.name

    @property
    def model_arguments(self) -> dict[str, Any]:
        """JSON arguments of the model."""
        return self.described_model.arguments

    @property
    def weights_sha256(self) -> str | None:
        """Checksum of its weights; ``None`` for a guide without weights."""
        return None if self.weights is None else self.weights.sha256

    @property
    def _judged(self) -> StoredVerdict:
        return decode(self.certificate, StoredCertificate).verdict or StoredVerdict()

    @property
    def passed(self) -> bool | None:
        """Whether the guide passes its certificate, as it was judged; ``None`` where nothing was tested."""
        return self._judged.passed is True and not self.num_failed if self._judged.findings else None

    @property
    def num_failed(self) -> int | None:
        """How many tests of its certificate the guide fails; ``None`` where nothing was tested."""
        findings = self._judged.findings
        return sum(not one.passed for one in findings) if findings else None

    @property
    def claims_mixture(self) -> bool:
        """Whether it claims a mixture and memberships, and no law of partitions; never picked by default."""
        return bool(decode(self.certificate, StoredCertificate).mixture)

    @property
    def is_reference(self) -> bool:
        """Whether it fails its certificate: good to compare with, and never picked by default."""
        return self.passed is False

    @property
    def verdict(self) -> str:
        """What the certificate says, in one line, or why it does not count; empty where nothing was tested.

        Example:
            >>> read_card(find_guide("ncp-mfm2d")).verdict
            'fails 1 of 18 tests of its certificate: share of Pareto k above 0.7 at N = 300'
        """
        findings = self._judged.findings
        failed = [one.what.removesuffix(", p").removesuffix(", nats") for one in findings if not one.passed]
        if not findings:
            return self.doubt
        if not failed and self.claims_mixture:
            return f"passes all {len(findings)} tests of what it claims, a mixture; no law of partitions"
        if not failed:
            return f"passes all {len(findings)} tests of its certificate"
        more = f"; and {len(failed) - 2} more" if len(failed) > 2 else ""
        return (
            f"fails {len(failed)} of {len(findings)} tests of its certificate: {'; '.join(failed[:2])}{more}"
        )

    @property
    def dim(self) -> int | None:
        """Dimension of the points that its model is for, ``None`` where its description leaves it out."""
        return _dim(self.model_arguments.get("component", self.model_arguments))

    @property
    def made_for(self) -> dict[str, str | None]:
        """What a certificate is for: checksums of weights, of the model, and of class and arguments."""
        return {
            "weights": self.weights_sha256,
            "model": _digest(self.model, self.model_arguments),
            "guide": _digest(self.guide_class, self.arguments),
        }

    def doubt_of(self, certificate: Mapping[str, Any]) -> str:
        """Return why a certificate does not count for this guide; empty where it does, or does not say."""
        stated, expected = certificate.get("made_for") or {}, self.made_for
        other = [words for key, words in _MADE_FOR.items() if stated.get(key, expected[key]) != expected[key]]
        if not other:
            return ""
        return f"has a certificate that was measured with {listed(other, 3)}, and counts as uncertified"

    def to_json(self) -> str:
        """Write the card as the text of ``card.json``."""
        content = msgspec.to_builtins(self)
        del content["name"], content["doubt"]
        if not self.fits_any_table:
            del content["fits_any_table"]
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _digest(name: str, arguments: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps([name, arguments], sort_keys=True).encode()).hexdigest()


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
    """Return what the text of a card says; its certificate is that of the text, whatever guide it is for."""
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
        entries = decode(content, CardEntries)
        card = GuideCard(**asdict(entries), name=path.parent.name)
        _check(card)
        return _modern(card) if version == 1 else card
    except (TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"'{path}' has a missing or malformed entry ({error}); restore the file") from None


def _no_json(path: Path, error: ValueError) -> ValueError:
    return ValueError(f"'{path}' is not valid JSON ({error}); restore the file or train the guide again")


def _check(card: GuideCard) -> None:
    verdict = decode(card.certificate, StoredCertificate, where="certificate").verdict
    if verdict is not None and verdict.findings and verdict.passed is None:
        raise ValueError("the certificate has findings and does not say whether they are passed")
    if card.max_points is not None and card.max_points < card.min_points:
        raise ValueError(f"max_points is {card.max_points}, expected at least min_points, {card.min_points}")


def _modern(card: GuideCard) -> GuideCard:
    arguments = modernised(card.arguments)
    if "network" in arguments:
        arguments["network"]["arguments"].setdefault("dim", card.dim)
    model = Described(card.model, modernised(card.model_arguments))
    return replace(card, format_version=FORMAT_VERSION, arguments=arguments, described_model=model)


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
    """Return the folder of a guide, by its name on the shelf or its path.

    Names on the shelf come first: write ``./name`` for a folder of the same name.

    Raises:
        ValueError: if it is neither; the nearest known name is offered.
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


def decode(content: Any, kind: type[Record], *, where: str = "") -> Record:
    """Return JSON as a struct or a dataclass; a ``ValueError`` says which entry is wrong."""
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        said, _, entry = visible(str(error)).partition(" - at `$")
        place = (where + entry.strip("`")).removeprefix(".")
        raise ValueError(f"{place}: {said}" if place else said) from None


def check_depth(content: Any, *, where: str) -> None:
    """Refuse what is nested deeply, level by level: what follows is recursive."""
    level = [content]
    for _ in range(_MOST_NESTED):
        level = [child for one in level for child in _children(one)]
        if not level:
            return
    raise ValueError(
        f"{where} is nested more than {_MOST_NESTED} deep, expected fewer tables inside each other"
    )


def _children(one: Any) -> Collection[Any]:
    if isinstance(one, Mapping):
        return one.values()
    return one if isinstance(one, list | tuple) else ()


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
