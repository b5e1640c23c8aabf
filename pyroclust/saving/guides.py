"""Guides as a folder of weights and a card, changed together; no pickled code is ever run."""

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from msgspec.structs import replace
from safetensors import SafetensorError
from safetensors import torch as safetensors
from torch import Tensor

from pyroclust.core.files import (
    check_outside_the_package,
    check_replaceable,
    checksum,
    clear_leftovers,
    locked_folder,
    parse_json,
    read_regular,
    read_text,
    replace_file,
    sync_folder,
)
from pyroclust.core.machine import single_precision
from pyroclust.core.messages import unknown_name
from pyroclust.core.random_state import preserved_random_state
from pyroclust.core.registry import arguments_of, find
from pyroclust.distributions import Component
from pyroclust.distributions.protocols import data_shape
from pyroclust.guides import AmortizedGuide, SequentialGuide
from pyroclust.guides.base import parts_of
from pyroclust.nn.modules import tensors_difference
from pyroclust.saving.cards import (
    CARD_FILE,
    WEIGHTS_FILE,
    Described,
    GuideCard,
    Weights,
    find_guide,
    parse_card,
    read_card,
)
from pyroclust.saving.codec import call, describe
from pyroclust.saving.models import build_model, describe_model

_NOTES = frozenset({"about", "min_points", "max_points", "recipe", "seeds", "certificate"})
_LIBRARIES = ("pyroclust", "torch", "pyro-ppl", "safetensors")


def load_guide(name_or_folder: str | PathLike[str]) -> Any:
    """Build a pretrained guide from its folder, in evaluation mode.

    Args:
        name_or_folder: name on the shelf (``pyroclust guides`` lists it), or a folder written by
            :func:`save_guide`.

    Returns:
        The guide; ``guide.model`` is the Pyro model it was trained on, ``guide.posterior(data)`` the
        distribution over partitions.

    Raises:
        ValueError: if the guide is unknown, or its card or weights are missing, damaged or do not fit.

    Example:
        >>> import torch
        >>> guide = load_guide("filter-nig1d")
        >>> draws, log_prob = guide.posterior(torch.randn(20, 1)).sample_and_log_prob((5,))
        >>> draws.shape, log_prob.shape
        (torch.Size([5, 20]), torch.Size([5]))
    """
    folder = find_guide(name_or_folder)
    while True:
        before = _identity(folder / CARD_FILE)
        try:
            return _load(folder)
        except ValueError:
            # Where another guide was saved meanwhile, card and weights were of two guides.
            if _identity(folder / CARD_FILE) == before:
                raise


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what changes whenever a file is replaced."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _load(folder: Path) -> Any:
    card = read_card(folder)
    guide = _build(card, folder / CARD_FILE)
    if card.weights_sha256 is not None:
        _load_weights(guide, folder / WEIGHTS_FILE, card.weights_sha256)
    elif guide.state_dict():
        raise ValueError(
            f"'{folder / CARD_FILE}' names no weights, and a {card.guide_class} has "
            f"{sum(one.numel() for one in guide.state_dict().values()):,}: it would be untrained; restore "
            "the file or train the guide again"
        )
    _check_dimensions(guide.eval(), folder / CARD_FILE)
    return guide


def save_guide(guide: Any, folder: str | PathLike[str], *, card: Mapping[str, Any] | None = None) -> None:
    """Write a guide as ``weights.safetensors`` and ``card.json``, both replaced at once.

    A process killed at any moment leaves the folder with the old guide, or with the new one.

    Args:
        guide: a guide of a known class, on a mixture that :func:`~pyroclust.saving.models.describe_model` can
            write as JSON: any known prior with any known family, their hyperparameters being numbers,
            batches or random.
        folder: where; created if needed.
        card: any of ``about``, ``min_points``, ``max_points``, ``recipe``, ``seeds`` and ``certificate``,
            JSON-able; see :class:`~pyroclust.saving.cards.GuideCard`.

    Raises:
        ValueError: if the card has an unknown or malformed entry or the certificate of another guide, the
            guide or its model could not be built again, the folder lies inside of the installed package, or
            another process is writing into it.
        OSError: if the folder cannot be written; an old guide is then still there.

    Example:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> save_guide(load_guide("filter-nig1d"), folder, card={"about": "the exact filter"})
        >>> load_guide(folder).model.name
        'nig_mixture'
    """
    notes = dict(card or {})
    for entry in sorted(set(notes) - _NOTES):
        raise ValueError(f"card: {unknown_name('entry', entry, _NOTES)}")
    path = Path(folder)
    if not isinstance(guide, AmortizedGuide):
        raise ValueError(f"guide is a {type(guide).__name__}, expected a guide, as load_guide returns")
    written, weights = card_of(guide, path.name, notes)
    written = _with_checked_certificate(written)
    text = _text_of(written, path / CARD_FILE)
    state = {} if weights is None else safetensors.load(weights)
    _check_state(_build(written, path / CARD_FILE).state_dict(), state, path / WEIGHTS_FILE)
    write_guide_files(path, text, weights)


def _text_of(card: GuideCard, path: Path) -> str:
    """Return the text of a card that can be read again."""
    try:
        text = card.to_json()
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"card cannot be written as JSON ({error}), expected numbers, text and tables"
        ) from None
    parse_card(text, path)
    return text


def _with_checked_certificate(card: GuideCard) -> GuideCard:
    """Refuse the certificate of another guide; the arguments may have been written in an earlier form."""
    certificate = card.certificate
    made_for = certificate.get("made_for") if isinstance(certificate, Mapping) else None
    if not isinstance(made_for, Mapping):
        return card
    made_for = {**made_for, "guide": card.made_for["guide"]}
    doubt = card.doubt_of({"made_for": made_for})
    if doubt:
        raise ValueError(f"card: the guide {doubt}; leave the certificate out, or measure it anew")
    return replace(card, certificate={**certificate, "made_for": made_for})


def card_of(guide: AmortizedGuide, name: str, notes: Mapping[str, Any]) -> tuple[GuideCard, bytes | None]:
    """Return the card of a guide, and its weights as they are stored; ``None`` without any."""
    model, described = describe_model(guide.model), describe_guide(guide)
    state = {one: value.detach().cpu().contiguous().clone() for one, value in guide.state_dict().items()}
    weights = safetensors.save(state) if state else None
    card = GuideCard(
        name=name,
        guide_class=described["class"],
        arguments=described["arguments"],
        described_model=Described(model["name"], model["arguments"]),
        weights=None if weights is None else Weights(hashlib.sha256(weights).hexdigest()),
        fits_any_table=guide.fits_any_model,
        versions={library: version(library) for library in _LIBRARIES},
        **notes,
    )
    return card, weights


def describe_guide(guide: AmortizedGuide) -> dict[str, Any]:
    """Return the class of a guide with its arguments, ready for JSON; its model is described by itself."""
    context = _context(type(guide), guide.model, arguments_of(guide))
    if isinstance(guide, SequentialGuide):
        # A filter is made of the model again, and no argument: it must be that of the model.
        describe(guide.scorer, where="guide.scorer", context=context)
    described: dict[str, Any] = describe(guide, where="guide", context=context)
    return described


def _context(kind: Any, model: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a guide and its parts take from outside when they are built."""
    # A guide need not be one of ours.
    of_network = getattr(kind, "model_of_network", lambda model, arguments: model)
    return parts_of(of_network(model, arguments)) | {"model": model}


@single_precision()
def _build(card: GuideCard, path: Path) -> Any:
    try:
        kind = find(AmortizedGuide, card.guide_class, where=f"'{path}'")
    except ValueError as error:
        raise ValueError(f"{error}; install a newer version, or import the module of the class") from None
    try:
        model = build_model({"name": card.model, "arguments": card.model_arguments})
    except ValueError as error:
        raise ValueError(
            f"'{path}' describes a model that cannot be built ({error}); restore the file or install a newer "
            "version"
        ) from None
    try:
        # The initial weights are thrown away: drawing them must not move the caller's random state.
        with preserved_random_state():
            context = _context(kind, model, card.arguments)
            return call(kind, card.arguments, where="guide", context=context)
    except ValueError as error:
        raise ValueError(f"'{path}' has arguments that do not fit ({error}); restore the file") from None


@single_precision()
def _check_dimensions(guide: Any, path: Path) -> None:
    """Refuse a network for points of another shape than those of its model: it would answer to nothing."""
    shape = tuple(guide.model.event_shape)
    try:
        with preserved_random_state(), torch.no_grad():
            values = {name: guide.model.hyperpriors[name].sample() for name in guide.conditions}
            (guide.condition(**values) if values else guide).posterior(_two_points(guide.model))
    except (RuntimeError, IndexError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(
            f"'{path}' describes a network that does not fit points of shape {shape}, those of its model "
            f"({reason}); restore the file"
        ) from None


def _two_points(model: Any) -> Tensor:
    """Return a small data set that the model's family takes: zeros, or halves where only these may be."""
    zeros = torch.zeros(data_shape(model, 2))
    component = getattr(model, "component", None)
    can_be = not isinstance(component, Component) or bool(component.support.check(zeros).all())
    return zeros if can_be else zeros + 0.5


def _load_weights(guide: Any, path: Path, sha256: str) -> None:
    # The file holds the weights and a list of their names; what is much larger is none of ours.
    expected = sum(one.numel() * 8 + 1000 for one in guide.state_dict().values()) + 100_000
    if path.is_file() and path.stat().st_size > expected:
        raise ValueError(
            f"'{path}' has {path.stat().st_size:,} bytes, expected at most {expected:,} for a guide of this "
            "size; restore the file or train the guide again"
        )
    try:
        state = safetensors.load(read_weights(path.parent, sha256))
    except SafetensorError as error:
        raise ValueError(f"'{path}' is not a safetensors file ({error}); restore the file") from None
    _check_state(guide.state_dict(), state, path)
    guide.load_state_dict(state)


def _check_state(expected: Mapping[str, Tensor], state: Mapping[str, Tensor], path: Path) -> None:
    different = tensors_difference(state, expected)
    if different:
        raise ValueError(
            f"'{path}' does not fit its card ({different}); restore the file, use the pyroclust version that "
            "wrote it, or before saving make the weights finite and of that type, as guide.float() does"
        )


_LARGEST_WEIGHTS = 1 << 33


def write_guide_files(folder: Path, card: str, weights: bytes | None) -> None:
    """Write card and weights into a folder, in the place of those of another guide.

    The weights are first written under a name that holds their checksum. From the moment that the new card
    takes the place of the old one the folder holds the new guide: :func:`read_weights` finds its weights
    under either name. Before that moment it holds the old one.
    """
    check_outside_the_package(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with locked_folder(folder):
        clear_leftovers(folder)
        _finish_earlier(folder)
        _check_ours(folder)
        staged = None if weights is None else _staged(folder, hashlib.sha256(weights).hexdigest())
        try:
            if staged is not None and weights is not None:
                replace_file(staged, weights)
            replace_file(folder / CARD_FILE, card.encode())
            if weights is None:
                (folder / WEIGHTS_FILE).unlink(missing_ok=True)
        finally:
            _finish_earlier(folder)


def write_card(folder: Path, card: str) -> None:
    """Replace the card of a guide, whose weights stay."""
    check_outside_the_package(folder)
    with locked_folder(folder):
        _check_ours(folder)
        replace_file(folder / CARD_FILE, card.encode())


def read_weights(folder: Path, sha256: str) -> bytes:
    """Return the weights with a checksum."""
    path = folder / WEIGHTS_FILE
    damaged = None
    # Twice under their own name, which they may get from a writer after it was looked at.
    for one in (path, _staged(folder, sha256), path):
        with suppress(FileNotFoundError, IsADirectoryError):
            try:
                content = read_regular(one, largest=_LARGEST_WEIGHTS)
            except ValueError as error:
                raise ValueError(f"'{one}' is not read: {error}") from None
            if hashlib.sha256(content).hexdigest() == sha256:
                return content
            damaged = content if one == path else damaged
    if damaged is None:
        raise ValueError(f"there is no '{path}'; restore the file or train the guide again")
    raise ValueError(
        f"'{path}' was cut off or changed (sha256 {hashlib.sha256(damaged).hexdigest()[:12]}, its card says "
        f"{sha256[:12]}); restore the file or train the guide again"
    )


def check_guide_files(folder: Path) -> None:
    """Refuse a folder whose files named as card and weights are no guide, or were changed."""
    with locked_folder(folder):
        _finish_earlier(folder)
        _check_ours(folder)


def _check_ours(folder: Path) -> None:
    """Refuse to replace files that are no card, or not the weights that belong to it."""
    path, ours = folder / CARD_FILE, {}
    with suppress(OSError, ValueError):
        card = parse_card(path.read_text(encoding="utf-8"), path)
        ours = {CARD_FILE: checksum(path), WEIGHTS_FILE: card.weights_sha256 or ""}
    for name in (CARD_FILE, WEIGHTS_FILE):
        check_replaceable(folder / name, ours)


def _staged(folder: Path, sha256: str) -> Path:
    return folder / f".weights-{sha256[:32]}.safetensors"


def _finish_earlier(folder: Path) -> None:
    """Give the weights of the present card their name, and remove those that no card came for."""
    sha256 = _sha256_of_card(folder / CARD_FILE)
    for path in sorted(folder.glob(_staged(folder, "?" * 32).name)):
        if sha256 is not None and path == _staged(folder, sha256):
            os.replace(path, folder / WEIGHTS_FILE)
            sync_folder(folder)
        else:
            with suppress(OSError):
                path.unlink()


def _sha256_of_card(path: Path) -> str | None:
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        return str(parse_json(read_text(path))["weights"]["sha256"])
    return None
