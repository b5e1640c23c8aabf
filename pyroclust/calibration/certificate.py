"""The certificate of a guide: what was measured on fresh data of its model, and how it is stored."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar

from pyroclust.calibration.rows import (
    CalibrationRow,
    ClusterCountRow,
    CoverageRow,
    ExactRow,
    OrderRow,
    ReliabilityRow,
    SampledRow,
    SpeedRow,
    TruthRow,
)

__all__ = ["Certificate"]

Row = TypeVar("Row")


@dataclass(frozen=True)
class Certificate:
    """What was measured, by part; a part that was left out, or that the model cannot have, is empty.

    Attributes:
        seed: of all data sets and draws.
        exact: divergence from enumerated posteriors.
        sampled: importance sampling, a row a size.
        truth: log q of the truth beside a baseline, a row a size.
        calibration: ranks of the truth, a row a functional.
        num_clusters: prior against averaged posterior of K.
        coverage: of credible balls of partitions, in the draws of the calibration.
        reliability: of pair probabilities, in the same draws.
        order: dependence on the visiting order.
        speed: draws a second.
        seconds: what the certificate took.
        baseline: class of the baseline; ``None`` without one.
        conditions: hyperparameters that the guide is told; eight values are drawn from their priors.
        versions: of the libraries that measured.
        failures: why parts could not be measured, by their names.
        made_for: what was measured, as :attr:`~pyroclust.saving.cards.GuideCard.made_for` says it; empty for
            a guide that no card can describe, and in certificates of earlier versions.
    """

    seed: int
    exact: tuple[ExactRow, ...] = ()
    sampled: tuple[SampledRow, ...] = ()
    truth: tuple[TruthRow, ...] = ()
    calibration: tuple[CalibrationRow, ...] = ()
    num_clusters: ClusterCountRow | None = None
    order: OrderRow | None = None
    speed: SpeedRow | None = field(default=None, compare=False)
    seconds: float | None = field(default=None, compare=False)
    baseline: str | None = None
    conditions: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    coverage: CoverageRow | None = None
    reliability: ReliabilityRow | None = None
    made_for: Mapping[str, str | None] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return what was measured, and how near the guide is to the posterior."""
        parts = [f"seed {self.seed}"]
        parts += [f"mean KL {one.mean_kl:.3g} nats at N = {one.num_points}" for one in self.exact]
        parts += [f"efficiency {one.median_efficiency:.2g} at N = {one.num_points}" for one in self.sampled]
        if self.calibration:
            first = self.calibration[0]
            parts.append(f"calibrated on {first.num_datasets} data sets of {first.num_points} points")
        return f"Certificate({', '.join(parts)})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, strings, lists and ``None``, ready for JSON; what a card stores."""
        content: dict[str, Any] = _plain(asdict(self))
        return content if self.failures else {key: one for key, one in content.items() if key != "failures"}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Certificate":
        """Read what :meth:`to_dict` wrote; entries that are missing are empty, others are passed over.

        Raises:
            ValueError: if an entry has not the right form.

        Example:
            >>> row = ExactRow(8, 200, 0.01, 0.005, 0.001)
            >>> Certificate.from_dict(Certificate(1, (row,)).to_dict()).exact[0] == row
            True
        """
        try:
            parts: dict[str, Any] = {
                name: tuple(_row(kind, one) for one in content.get(name, ())) for name, kind in _ROWS
            }
            parts |= {name: _row(kind, content[name]) for name, kind in _SINGLE if content.get(name)}
            parts |= {
                name: content[name]
                for name in ("seconds", "baseline", "versions", "made_for", "failures")
                if name in content
            }
            names = tuple(content.get("conditions", ()))
            return cls(seed=int(content["seed"]), conditions=names, **parts)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"content has a missing or malformed entry of a certificate ({error})") from None


_ROWS: tuple[tuple[str, type[Any]], ...] = (
    ("exact", ExactRow),
    ("sampled", SampledRow),
    ("truth", TruthRow),
    ("calibration", CalibrationRow),
)
_SINGLE: tuple[tuple[str, type[Any]], ...] = (
    ("num_clusters", ClusterCountRow),
    ("coverage", CoverageRow),
    ("reliability", ReliabilityRow),
    ("order", OrderRow),
    ("speed", SpeedRow),
)


def _plain(value: Any) -> Any:
    """Turn tuples into lists, and numbers that JSON does not have into ``None``."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value


def _row(kind: type[Row], content: Mapping[str, Any]) -> Row:
    known = {one.name for one in fields(kind)}  # type: ignore[arg-type]
    values = {name: tuple(one) if isinstance(one, list) else one for name, one in content.items()}
    return kind(**{name: one for name, one in values.items() if name in known})
