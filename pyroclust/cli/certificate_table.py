"""A certificate as tables for the terminal."""

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pyroclust.text import visible

if TYPE_CHECKING:
    from pyroclust.calibration import Certificate, CheckResult
    from pyroclust.calibration.rows import ClusterCountRow, RealTablesRow, SampledRow, TruthRow
    from pyroclust.diagnostics import Verdict

__all__ = ["certificate_view"]

_SHOWN_LEVELS = (0.5, 0.8, 0.9, 0.95)


def certificate_view(result: "CheckResult") -> RenderableType:
    """Lay out a certificate by part, leaving out what was not measured; findings and verdict come last."""
    certificate = result.certificate
    head = f"{result.card.name} ({result.card.guide_class} of {result.card.model}), seed {certificate.seed}"
    if certificate.seconds is not None:
        head += f", measured in {certificate.seconds:.0f} s"
    parts: list[RenderableType] = [_text(head)]
    if certificate.sampled or certificate.truth:
        parts.append(_accuracy(certificate))
    if certificate.calibration:
        parts.append(_calibration(certificate))
    if certificate.num_clusters is not None:
        parts.append(_num_clusters(certificate.num_clusters))
    parts += [_text(line) for line in _lines(certificate)]
    if result.verdict.findings:
        parts.append(_findings(result.verdict))
    parts += [_text(f"Note: {sentence}") for sentence in result.failures]
    parts.append(_text(result.verdict.sentence, style="bold"))
    parts += [_text(line) for line in _compared(result)]
    return Group(*parts)


def _table(title: str) -> Table:
    return Table(
        title=_text(title), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False
    )


def _text(words: str, *, style: str = "") -> Text:
    """Names are those of a card: as Text they are no markup, visible they do nothing."""
    return Text(visible(words), style=style)


def _accuracy(certificate: "Certificate") -> Table:
    from pyroclust.diagnostics.limits import MAX_PARETO_K

    against = "" if certificate.baseline is None else f"; baseline: {certificate.baseline}"
    weights = "" if certificate.lacks_likelihood else "Importance weights, and "
    table = _table(f"{weights}log q of the truth in nats{against}")
    of_weights = ["efficiency (5-95 %)", f"k > {MAX_PARETO_K:g}", "median k"] if weights else []
    columns = ["points", *of_weights, "log q"]
    if certificate.baseline is not None:
        columns.append("above baseline")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    sampled = {row.num_points: row for row in certificate.sampled}
    truth = {row.num_points: row for row in certificate.truth}
    for points in sorted(sampled.keys() | truth.keys()):
        own = _weights(sampled.get(points)) if weights else ()
        table.add_row(str(points), *own, *_truth(truth.get(points)))
    return table


def _weights(row: "SampledRow | None") -> tuple[str, str, str]:
    if row is None:
        return "", "", ""
    high = "?" if row.high_efficiency is None else f"{row.high_efficiency:.2f}"
    band = f"{row.median_efficiency:.2f} ({row.low_efficiency:.2f}-{high})"
    if row.share_high_k is None:
        return band, "-", "-"
    k = "none" if row.median_pareto_k is None else f"{row.median_pareto_k:.2f}"
    return band, f"{row.share_high_k:.0%} of {row.num_datasets}", k


def _truth(row: "TruthRow | None") -> tuple[str, ...]:
    if row is None:
        return ()
    if row.mean_difference is None or row.difference_se is None:
        return (f"{row.log_prob:.3f}",)
    return f"{row.log_prob:.3f}", f"{row.mean_difference:+.3f} ± {row.difference_se:.3f}"


def _calibration(certificate: "Certificate") -> Table:
    first = certificate.calibration[0]
    table = _table(f"Calibration, {first.num_datasets} data sets of {first.num_points} points")
    table.add_column("functional")
    for column in ("chi-square p", "ECDF band p", "mean rank"):
        table.add_column(column, justify="right")
    for row in certificate.calibration:
        found = row.uniformity
        figures = (f"{found.chi_square:.2g}", f"{found.ecdf:.2g}", f"{row.mean_rank:.3f}")
        table.add_row(_text(row.functional), *figures)
    return table


def _findings(verdict: "Verdict") -> Table:
    table = _table("Tests")
    table.add_column("test")
    for column in ("found", "wanted", "passed"):
        table.add_column(column, no_wrap=True)
    for one in verdict.findings:
        what = one.question.removesuffix(", p").removesuffix(", nats")
        table.add_row(*(_text(cell) for cell in (what, one.sentence, one.wanted, one.answer)))
    return table


def _compared(result: "CheckResult") -> list[str]:
    if result.card.doubt:
        return [f"The card {result.card.doubt}."]
    if result.stored is None:
        return ["The card has no certificate to compare with."]
    if not result.compared:
        return ["The certificate in the card was measured at other sizes."]
    again = f"Of {len(result.compared)} tests that are in the card's certificate too,"
    if not result.changed:
        return [f"{again} all have the same answer there."]
    return [f"{again} {len(result.changed)} have another answer there: {'; '.join(result.changed)}."]


def _num_clusters(row: "ClusterCountRow") -> Table:
    table = _table(f"Number of clusters at N = {row.num_points}")
    for column in ("clusters", "prior", "simulated", "averaged posterior"):
        table.add_column(column, justify="right")
    last = len(row.averaged) - 1 if len(row.averaged) < row.num_points else -1
    for index, (average, error) in enumerate(zip(row.averaged, row.averaged_se, strict=True)):
        prior = "-" if row.prior is None else f"{row.prior[index]:.3f}"
        name = f"{index + 1}" + (" or more" if index == last and row.prior else "")
        table.add_row(name, prior, f"{row.simulated[index]:.3f}", f"{average:.3f} ± {error:.3f}")
    return table


def _lines(certificate: "Certificate") -> list[str]:
    found = [
        f"KL(exact || guide) at N = {row.num_points}: mean {row.mean_kl:.4f} ± {row.mean_kl_se:.4f}, median "
        f"{row.median_kl:.4f} nats ({row.num_datasets} data sets)"
        for row in certificate.exact
    ]
    if certificate.lacks_likelihood:
        found.append("The model has no likelihood: no weights, no exact posterior to compare with.")
    counts, order, speed = certificate.num_clusters, certificate.order, certificate.speed
    found += _partition_lines(certificate)
    if counts is not None and counts.total_variation is not None:
        found.append(
            f"Total variation between prior and averaged posterior of K: {counts.total_variation:.3f} "
            f"(exact posteriors would show {counts.total_variation_noise:.3f})"
        )
    if order is not None:
        other = "" if order.baseline_median is None else f"; baseline {order.baseline_median:.2f}"
        found.append(
            f"Standard deviation over mean of q over {order.num_orders} orders of {order.num_points} points: "
            f"{order.median:.2f} (5-95 % of {order.num_datasets} data sets: {order.low:.2f}-{order.high:.2f})"
            + other
        )
    if (real := certificate.real_tables) is not None:
        found.append(_real_line(real))
    if speed is not None:
        found.append(f"Draws a second at N = {speed.num_points} on one thread: {speed.draws_per_second:,.0f}")
    return found


def _real_line(row: "RealTablesRow") -> str:
    found = (
        f"On {row.num_tables} real tables ({row.source}), against long chains: largest error of a pair "
        f"probability {row.median_largest:.2f} ({row.num_draws} draws of the posterior: "
        f"{row.median_floor:.2f}), mean {row.median_mean:.3f}, efficiency {row.median_efficiency:.2g}"
    )
    if row.baseline_largest is None or row.baseline_mean is None or row.baseline_efficiency is None:
        return found
    return (
        f"{found}; exact filter: {row.baseline_largest:.2f}, {row.baseline_mean:.3f}, "
        f"{row.baseline_efficiency:.2g} (medians)"
    )


def _partition_lines(certificate: "Certificate") -> list[str]:
    found = []
    balls, pairs = certificate.coverage, certificate.reliability
    if balls is not None:
        shown = [
            f"{observed:.0%} at {level:.0%}"
            for level, observed in zip(balls.levels, balls.observed, strict=True)
            if round(level, 3) in _SHOWN_LEVELS
        ]
        found.append(f"Coverage of credible balls: {', '.join(shown)} (p = {balls.p_value:.2g})")
    if pairs is not None:
        found.append(
            f"Pair probabilities: calibration error {pairs.ece:.4f} (exact posteriors would show "
            f"{pairs.ece_noise:.4f}; p = {pairs.p_value:.2g}), Brier score {pairs.brier:.4f} (base rate "
            f"{pairs.brier_prior:.4f})"
        )
    return found
