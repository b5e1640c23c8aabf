"""The certificate of a guide: what was measured on fresh data of its model, and how it is stored."""

import math
import reprlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from pyroclust.calibration.rows import (
    CalibrationRow,
    ClusterCountRow,
    CoverageRow,
    ExactRow,
    OrderRow,
    RealTablesRow,
    ReliabilityRow,
    SampledRow,
    SpeedRow,
    TruthRow,
)
from pyroclust.core.arrays import json_values
from pyroclust.core.text import short

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
        real_tables: draws on real tables beside long chains; ``None`` unless tables were given.
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
    real_tables: RealTablesRow | None = None

    def __repr__(self) -> str:
        """Return what was measured, and how near the guide is to the posterior."""
        parts = [f"seed {self.seed}"]
        parts += [f"mean KL {one.mean_kl:.3g} nats at N = {one.num_points}" for one in self.exact]
        parts += [f"efficiency {one.median_efficiency:.2g} at N = {one.num_points}" for one in self.sampled]
        if self.calibration:
            first = self.calibration[0]
            parts.append(f"calibrated on {first.num_datasets} data sets of {first.num_points} points")
        return f"Certificate({', '.join(parts)})"

    @property
    def lacks_likelihood(self) -> bool:
        """Whether draws were ranked without the log joint: their model has none, and so no weights.

        Example:
            >>> row = CalibrationRow("entropy", 20, 200, 99, (10,) * 20)
            >>> Certificate(1, calibration=(row,)).lacks_likelihood
            True
        """
        ranked = {row.functional for row in self.calibration}
        return bool(ranked) and "log_joint" not in ranked

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, strings, lists and ``None``, ready for JSON; what a card stores."""
        content: dict[str, Any] = json_values(asdict(self))
        seldom = ("failures", "real_tables")
        return {key: one for key, one in content.items() if one or key not in seldom}

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
                name: tuple(_row(kind, one, name) for one in content.get(name, ())) for name, kind in _ROWS
            }
            parts |= {name: _row(kind, content[name], name) for name, kind in _SINGLE if content.get(name)}
            parts |= {
                name: _figure(kind, content[name], name)
                for name, kind in _ENTRIES
                if content.get(name) is not None
            }
            parts |= {
                name: {
                    str(one): _figure(str | None, said, f"{name}.{one}")
                    for one, said in content[name].items()
                }
                for name in ("versions", "made_for", "failures")
                if name in content
            }
            return cls(seed=_figure(int, content["seed"], "seed"), **parts)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"content has a missing or malformed entry of a certificate ({error})") from None


_ROWS: tuple[tuple[str, type[Any]], ...] = (
    ("exact", ExactRow),
    ("sampled", SampledRow),
    ("truth", TruthRow),
    ("calibration", CalibrationRow),
)
_ENTRIES: tuple[tuple[str, Any], ...] = (
    ("seconds", float),
    ("baseline", str),
    ("conditions", tuple[str, ...]),
)
_LARGEST = 1 << 63
_WORDS = {int: "a whole number, not negative", float: "a number", str: "text"}
_SINGLE: tuple[tuple[str, type[Any]], ...] = (
    ("num_clusters", ClusterCountRow),
    ("coverage", CoverageRow),
    ("reliability", ReliabilityRow),
    ("order", OrderRow),
    ("real_tables", RealTablesRow),
    ("speed", SpeedRow),
)


def _row(kind: type[Row], content: Mapping[str, Any], where: str) -> Row:
    hints = get_type_hints(kind)
    known = {name: one for name, one in content.items() if name in hints}
    return kind(**{name: _figure(hints[name], one, f"{where}.{name}") for name, one in known.items()})


def _figure(kind: Any, value: Any, where: str) -> Any:
    """Return an entry of a kind: a count, a finite number, text, or a list of them."""
    kinds = get_args(kind) if get_origin(kind) in (UnionType, Union) else (kind,)
    if value is None and type(None) in kinds:
        return None
    wanted = next(one for one in kinds if one is not type(None))
    if get_origin(wanted) is tuple and isinstance(value, list | tuple):
        return tuple(_figure(get_args(wanted)[0], one, f"{where}[{i}]") for i, one in enumerate(value))
    if wanted is str and isinstance(value, str):
        return value
    if wanted is float and value is None:
        # JSON has no nan: it is stored as null.
        return math.nan
    if wanted is int and type(value) is int and 0 <= value < _LARGEST:
        return value
    if wanted is float and type(value) in (int, float) and abs(value) < _LARGEST:
        if where.endswith("share_high_k") and not 0 <= value <= 1:
            raise ValueError(f"{where} is {value!r}, expected a share between 0 and 1")
        return value
    word = "a list" if get_origin(wanted) is tuple else _WORDS[wanted]
    raise ValueError(f"the certificate's {where} is {short(reprlib.repr(value), 80)}, expected {word}")
