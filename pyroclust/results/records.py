"""What an analysis keeps of its model and its guide, and what repeats it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

__all__ = ["GuideRecord", "ModelRecord", "Repeat", "installed_versions"]

_VERSIONS = ("pyroclust", "numpy", "torch", "numba", "pyro-ppl")


@dataclass(frozen=True)
class ModelRecord:
    """The model whose posterior is drawn from.

    Attributes:
        name: of the model.
        in_words: which model it is, in words and as a formula.
        description: what builds it again, as cards have it; ``None`` where nothing does.
        has_likelihood: whether a partition has a log joint density.
    """

    name: str
    in_words: str = ""
    description: Mapping[str, Any] | None = None
    has_likelihood: bool = True


@dataclass(frozen=True)
class GuideRecord:
    """A guide beside its draws.

    Attributes:
        name: of the guide.
        is_exact: whether log q of its draws is exact, not an estimate.
        num_orders: visiting orders that share its draws in equal parts, one after the other.
        certificate: what its card says was measured; empty without one.
        is_asked_for: whether somebody named it, so that its draws are the answer where they agree.
    """

    name: str
    is_exact: bool = True
    num_orders: int = 1
    certificate: Mapping[str, Any] = field(default_factory=dict)
    is_asked_for: bool = False


@dataclass(frozen=True)
class Repeat:
    """What repeats an analysis.

    Attributes:
        command: as it can be typed.
        arguments: those that are not the default, by name.
        seed: of everything random.
        run: checksum of all that the result depends on.
        table: checksum of the table; empty without one.
        guide: checksum of the guide's weights; empty without one.
        versions: of the libraries that make the draws.
    """

    command: str
    arguments: Mapping[str, Any]
    seed: int
    run: str = ""
    table: str = ""
    guide: str = ""
    versions: Mapping[str, str] = field(default_factory=lambda: installed_versions())

    def figures(self) -> dict[str, Any]:
        """Return what ``summary.json`` says of it."""
        return {name: dict(one) if isinstance(one, Mapping) else one for name, one in vars(self).items()}


def installed_versions() -> dict[str, str]:
    """Return the versions of the libraries that draws depend on."""
    found = {}
    for name in _VERSIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
