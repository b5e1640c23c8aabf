"""Guides as a list, and a certificate as tables, for the terminal."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pyroclust.core.messages import visible

if TYPE_CHECKING:
    from pyroclust.calibration import Certificate, CheckResult
    from pyroclust.calibration.certificate import ClusterCountRow
    from pyroclust.saving.cards import GuideCard


_SHOWN_LEVELS = (0.5, 0.8, 0.9, 0.95)
_INDENT = (0, 0, 0, 4)
_FIGURES = (("KL", "exact", "mean_kl", 3), ("efficiency", "sampled", "median_efficiency", 2))


def guide_list(cards: "Iterable[GuideCard]") -> Group:
    """List guides with the headline figures of their certificates, references last."""
    shown: list[RenderableType] = []
    for card in sorted(cards, key=lambda one: one.is_reference):
        least = f"{card.min_points} to " if card.min_points > 1 else "up to "
        points = "any number of points" if card.max_points is None else f"{least}{card.max_points} points"
        kind = "reference, " if card.is_reference else ""
        dim = "" if card.dim is None else f" ({card.dim}-D)"
        shown += [
            _text(f"{card.name}: {kind}{card.model}{dim}, {points}", style="bold"),
            *(
                Padding(_text(line), _INDENT, expand=False)
                for line in (card.about, _figures(card), card.verdict)
                if line
            ),
        ]
    return Group(*shown)


def _figures(card: "GuideCard") -> str:
    """Return mean divergences and median efficiencies, by the number of points."""
    said = []
    for word, part, key, digits in _FIGURES:
        figures = ((row.get(key), row.get("num_points")) for row in card.certificate.get(part) or ())
        written = [f"{'unknown' if one is None else f'{one:.{digits}f}'} at {size}" for one, size in figures]
        said += [f"{word} {', '.join(written)}"] if written else []
    return "; ".join(said)


def certificate_view(result: "CheckResult") -> RenderableType:
    """Lay out a certificate by part, leaving out what was not measured; findings and verdict come last."""
    certificate, verdict = result.certificate, result.verdict
    head = f"{result.card.name} ({result.card.guide_class} of {result.card.model}), seed {certificate.seed}"
    if certificate.seconds is not None:
        head += f", measured in {certificate.seconds:.0f} s"
    parts: list[RenderableType] = [_text(head)]
    if certificate.sampled or certificate.truth:
        parts.append(_accuracy(certificate))
    if certificate.calibration:
        first = certificate.calibration[0]
        calibration = _table(
            f"Calibration, {first.num_datasets} data sets of {first.num_points} points",
            ("functional", "chi-square p", "ECDF band p", "mean rank"),
            [
                (row.functional, f"{test.chi_square:.2g}", f"{test.ecdf:.2g}", f"{row.mean_rank:.3f}")
                for row in certificate.calibration
                for test in [row.uniformity]
            ],
            words=1,
        )
        parts.append(calibration)
    if certificate.num_clusters is not None:
        parts.append(_num_clusters(certificate.num_clusters))
    parts += [_text(line) for line in _lines(certificate)]
    if verdict.findings:
        cells = [
            (one.question.removesuffix(", p").removesuffix(", nats"), one.sentence, one.wanted, one.answer)
            for one in verdict.findings
        ]
        parts.append(_table("Tests", ("test", "found", "wanted", "passed"), cells, words=4))
    parts += [_text(f"Note: {sentence}") for sentence in result.failures]
    return Group(*parts, _text(verdict.sentence, style="bold"), _text(_compared(result)))


def _text(words: str, *, style: str = "") -> Text:
    """Names are those of a card: as Text they are no markup, visible they do nothing."""
    return Text(visible(words), style=style)


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 0) -> Table:
    """Return a table of figures, whose first so many columns are words."""
    table = Table(
        title=_text(title), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False
    )
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place < words else "right", no_wrap=place > 0)
    for row in rows:
        table.add_row(*map(_text, row))
    return table


def _accuracy(certificate: "Certificate") -> Table:
    from pyroclust.diagnostics.limits import MAX_PARETO_K

    against = "" if certificate.baseline is None else f"; baseline: {certificate.baseline}"
    weighted = not certificate.lacks_likelihood
    columns = ["points", *(["efficiency (5-95 %)", f"k > {MAX_PARETO_K:g}", "median k"] if weighted else [])]
    columns += ["log q", *([] if certificate.baseline is None else ["above baseline"])]
    sampled = {row.num_points: row for row in certificate.sampled}
    truth = {row.num_points: row for row in certificate.truth}
    rows = []
    for points in sorted(sampled.keys() | truth.keys()):
        cells, of_weights, of_truth = [str(points)], sampled.get(points), truth.get(points)
        if weighted and of_weights is None:
            cells += ["", "", ""]
        elif weighted and of_weights is not None:
            high, k = of_weights.high_efficiency, of_weights.median_pareto_k
            share = of_weights.share_high_k
            band = f"{of_weights.low_efficiency:.2f}-{'?' if high is None else f'{high:.2f}'}"
            cells.append(f"{of_weights.median_efficiency:.2f} ({band})")
            cells.append("-" if share is None else f"{share:.0%} of {of_weights.num_datasets}")
            cells.append("-" if share is None else "none" if k is None else f"{k:.2f}")
        if of_truth is not None:
            cells.append(f"{of_truth.log_prob:.3f}")
            if of_truth.mean_difference is not None and of_truth.difference_se is not None:
                cells.append(f"{of_truth.mean_difference:+.3f} ± {of_truth.difference_se:.3f}")
        rows.append(cells)
    before = "Importance weights, and " if weighted else ""
    return _table(f"{before}log q of the truth in nats{against}", columns, rows)


def _num_clusters(row: "ClusterCountRow") -> Table:
    prior = ["-"] * len(row.averaged) if row.prior is None else [f"{one:.3f}" for one in row.prior]
    names = [str(number + 1) for number in range(len(row.averaged))]
    if row.prior and len(row.averaged) < row.num_points:
        names[-1] += " or more"
    averaged = [f"{one:.3f} ± {error:.3f}" for one, error in zip(row.averaged, row.averaged_se, strict=True)]
    simulated = [f"{one:.3f}" for one in row.simulated]
    return _table(
        f"Number of clusters at N = {row.num_points}",
        ("clusters", "prior", "simulated", "averaged posterior"),
        zip(names, prior, simulated, averaged, strict=True),
    )


def _compared(result: "CheckResult") -> str:
    if result.card.doubt:
        return f"The card {result.card.doubt}."
    if result.stored is None:
        return "The card has no certificate to compare with."
    if not result.compared:
        return "The certificate in the card was measured at other sizes."
    again = f"Of {len(result.compared)} tests that are in the card's certificate too,"
    if not result.changed:
        return f"{again} all have the same answer there."
    return f"{again} {len(result.changed)} have another answer there: {'; '.join(result.changed)}."


def _lines(certificate: "Certificate") -> Iterator[str]:
    """Say in a line each what has no table."""
    for exact in certificate.exact:
        yield (
            f"KL(exact || guide) at N = {exact.num_points}: mean {exact.mean_kl:.4f} ± "
            f"{exact.mean_kl_se:.4f}, median {exact.median_kl:.4f} nats ({exact.num_datasets} data sets)"
        )
    if certificate.lacks_likelihood:
        yield "The model has no likelihood: no weights, no exact posterior to compare with."
    if (balls := certificate.coverage) is not None:
        shown = [
            f"{observed:.0%} at {level:.0%}"
            for level, observed in zip(balls.levels, balls.observed, strict=True)
            if round(level, 3) in _SHOWN_LEVELS
        ]
        yield f"Coverage of credible balls: {', '.join(shown)} (p = {balls.p_value:.2g})"
    if (pairs := certificate.reliability) is not None:
        yield (
            f"Pair probabilities: calibration error {pairs.ece:.4f} (exact posteriors would show "
            f"{pairs.ece_noise:.4f}; p = {pairs.p_value:.2g}), Brier score {pairs.brier:.4f} (base rate "
            f"{pairs.brier_prior:.4f})"
        )
    counts = certificate.num_clusters
    if counts is not None and counts.total_variation is not None:
        yield (
            f"Total variation between prior and averaged posterior of K: {counts.total_variation:.3f} "
            f"(exact posteriors would show {counts.total_variation_noise:.3f})"
        )
    if (order := certificate.order) is not None:
        other = "" if order.baseline_median is None else f"; baseline {order.baseline_median:.2f}"
        yield (
            f"Standard deviation over mean of q over {order.num_orders} orders of {order.num_points} points: "
            f"{order.median:.2f} (5-95 % of {order.num_datasets} data sets: {order.low:.2f}-{order.high:.2f})"
            + other
        )
    if (real := certificate.real_tables) is not None:
        line = (
            f"On {real.num_tables} real tables ({real.source}), against long chains: largest error of a pair "
            f"probability {real.median_largest:.2f} ({real.num_draws} draws of the posterior: "
            f"{real.median_floor:.2f}), mean {real.median_mean:.3f}, efficiency {real.median_efficiency:.2g}"
        )
        baseline = (real.baseline_largest, real.baseline_mean, real.baseline_efficiency)
        if None not in baseline:
            largest, mean, efficiency = baseline
            line += f"; exact filter: {largest:.2f}, {mean:.3f}, {efficiency:.2g} (medians)"
        yield line
    if (speed := certificate.speed) is not None:
        yield f"Draws a second at N = {speed.num_points} on one thread: {speed.draws_per_second:,.0f}"
