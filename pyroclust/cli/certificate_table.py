"""A certificate as tables for the terminal."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from pyroclust.calibration.certificate import Certificate, SampledRow
    from pyroclust.calibration.certify import CheckResult
    from pyroclust.calibration.rows import ClusterCountRow, TruthRow

__all__ = ["certificate_view"]

_SHOWN_LEVELS = (0.5, 0.8, 0.9, 0.95)


def certificate_view(result: "CheckResult") -> RenderableType:
    """Lay out a certificate by part, leaving out what was not measured, the verdict last."""
    certificate, judgement = result.certificate, result.judgement
    head = f"{result.card.name} ({result.card.guide_class} of {result.card.model}), seed {certificate.seed}"
    if certificate.seconds is not None:
        head += f", measured in {certificate.seconds:.0f} s"
    parts: list[RenderableType] = [Text(head)]
    if certificate.exact or certificate.sampled or certificate.truth:
        parts.append(_accuracy(certificate))
    if certificate.calibration:
        parts.append(_calibration(certificate))
    if certificate.num_clusters is not None:
        parts.append(_num_clusters(certificate.num_clusters))
    parts += [Text(line) for line in _lines(certificate)]
    parts.append(Text(judgement.sentence, style="bold"))
    return Group(*parts)


def _accuracy(certificate: "Certificate") -> Table:
    table = Table(title="Distance from the posterior, data sets in brackets", title_justify="left")
    table.add_column("points", justify="right")
    columns = ["KL, nats", "efficiency, median (5-95 %)", "Pareto k > 0.7", "log q of the truth, nats"]
    if certificate.baseline is not None:
        columns.append(f"above {certificate.baseline}'s")
    for column in columns:
        table.add_column(column)
    for exact in certificate.exact:
        kl = f"{exact.mean_kl:.4f} ± {exact.mean_kl_se:.4f} ({exact.num_datasets})"
        table.add_row(str(exact.num_points), kl)
    sampled = {row.num_points: row for row in certificate.sampled}
    truth = {row.num_points: row for row in certificate.truth}
    for points in sorted(sampled.keys() | truth.keys()):
        table.add_row(str(points), "", *_weights(sampled.get(points)), *_truth(truth.get(points)))
    return table


def _weights(row: "SampledRow | None") -> tuple[str, str]:
    if row is None:
        return "", ""
    high = "?" if row.high_efficiency is None else f"{row.high_efficiency:.2f}"
    band = f"{row.median_efficiency:.2f} ({row.low_efficiency:.2f}-{high}) ({row.num_datasets})"
    if row.share_high_k is None:
        return band, "-"
    k = "none" if row.median_pareto_k is None else f"{row.median_pareto_k:.2f}"
    return band, f"{100 * row.share_high_k:.0f} %, median {k}"


def _truth(row: "TruthRow | None") -> tuple[str, ...]:
    if row is None:
        return ()
    mean = f"{row.log_prob:.3f} ({row.num_datasets})"
    if row.mean_difference is None or row.difference_se is None:
        return (mean,)
    return mean, f"{row.mean_difference:+.3f} ± {row.difference_se:.3f}"


def _calibration(certificate: "Certificate") -> Table:
    import numpy as np

    from pyroclust.diagnostics import uniformity

    first = certificate.calibration[0]
    title = f"Calibration, {first.num_datasets} data sets of {first.num_points} points"
    table = Table(title=title, title_justify="left")
    table.add_column("functional")
    for column in ("chi-square p", "ECDF band p", "mean rank"):
        table.add_column(column, justify="right")
    for row in certificate.calibration:
        counts = np.array(row.counts)
        found = uniformity(counts)
        middle = (counts * (np.arange(len(counts)) + 0.5)).sum() / counts.sum() / len(counts)
        table.add_row(row.functional, f"{found.chi_square:.2g}", f"{found.ecdf:.2g}", f"{middle:.3f}")
    return table


def _num_clusters(row: "ClusterCountRow") -> Table:
    table = Table(title=f"Number of clusters at N = {row.num_points}", title_justify="left")
    for column in ("clusters", "prior", "simulated", "averaged posterior"):
        table.add_column(column, justify="right")
    last = len(row.averaged) - 1 if len(row.averaged) < row.num_points else -1
    for index, (average, error) in enumerate(zip(row.averaged, row.averaged_se, strict=True)):
        prior = "-" if row.prior is None else f"{row.prior[index]:.3f}"
        name = f"{index + 1}" + (" or more" if index == last and row.prior else "")
        table.add_row(name, prior, f"{row.simulated[index]:.3f}", f"{average:.3f} ± {error:.3f}")
    return table


def _lines(certificate: "Certificate") -> list[str]:
    found = []
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
    if speed is not None:
        found.append(f"Draws a second at N = {speed.num_points} on one thread: {speed.draws_per_second:,.0f}")
    return found


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
