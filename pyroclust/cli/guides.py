"""The commands that list, measure and train guides; guides and their certificates as tables."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pyroclust.cli.console import end_strictly, print_plainly, standard_output
from pyroclust.cli.options import OPTIONS, Option, argument, options, takes
from pyroclust.core.files import check_file, write_file
from pyroclust.core.long_runs import raise_if_interrupted, stages
from pyroclust.core.messages import Attempts, listed, visible
from pyroclust.saving.cards import CARD_FILE, find_guide, list_guides, read_card

if TYPE_CHECKING:
    from pyroclust.calibration import Certificate, CertificateSettings, CheckResult
    from pyroclust.calibration.certificate import ClusterCountRow
    from pyroclust.saving.cards import GuideCard

_PICTURE, _CONTENT = "certificate.png", "certificate.json"


@takes(options("as_json"))
def guides(*, as_json: bool) -> None:
    """List the guides that come with the package, with figures measured on fresh data."""
    cards = list_guides()
    if as_json:
        print(json.dumps({card.name: json.loads(card.to_json()) for card in cards}, indent=2))
        return
    standard_output().print(guide_list(cards))


@takes(
    {"guide": argument("GUIDE", "Guide by name or folder; see 'pyroclust guides'.")}
    | options(
        "seed quick out overwrite strict as_json",
        seed=replace(OPTIONS["seed"], says="Same seed, same data sets.", default=1),
        out="Folder for certificate.json and certificate.png.",
        datasets=Option("N", "Data sets of the calibration.", int, least=1),
        points=Option("A,B", "Sizes of data sets, separated by commas, such as 20,50,1000."),
        save=Option(
            "FOLDER", "Store the guide with this certificate there; the guide's own folder is fine.", Path
        ),
    )
)
def check(
    *,
    guide: str,
    seed: int,
    datasets: int | None,
    points: str | None,
    quick: bool,
    save: Path | None,
    out: Path | None,
    overwrite: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Measure a guide on fresh data of its model, judge it, and compare it with its card.

    One to three minutes on one core. Nothing is written without --save or
    --out, and never into the installed package.
    """
    try:
        sizes = None if points is None else tuple(sorted({int(one) for one in points.split(",")}))
    except ValueError:
        raise ValueError(
            f"--points is '{points}', expected whole numbers separated by commas, such as 20,50,100"
        ) from None
    folder = find_guide(guide)
    if save is not None:
        _check_place(folder, save, overwrite=overwrite, quick=quick)
    with stages(first="loading") as tell:
        from pyroclust.calibration import check_guide
        from pyroclust.calibration.certificate import certificate_content
        from pyroclust.calibration.checking import store_certificate
        from pyroclust.plots import plot_certificate, png_bytes
        from pyroclust.results.files import name_of_run, results_folder, write_files, write_json

        settings = replace(_effort(quick=quick), seed=seed)
        if datasets is not None:
            settings = replace(settings, num_calibrated=datasets)
        card = (folder / CARD_FILE).read_bytes() if (folder / CARD_FILE).is_file() else b""
        run = name_of_run("check", card=card, settings=repr(settings), sizes=sizes)
        with results_folder(out, run=run, overwrite=overwrite, record=_CONTENT) as results:
            result = check_guide(guide, settings=settings, sampled_points=sizes, progress=tell)
            raise_if_interrupted()
            tries, picture = Attempts(), None
            if results is not None or save is not None:
                picture = tries.value_or_none(
                    f"The picture {_PICTURE}",
                    lambda: png_bytes(plot_certificate(result.certificate.to_dict(), name=result.card.name)),
                )
            content = {
                "guide": result.card.name,
                "certificate": certificate_content(result.certificate),
                "answers_changed": list(result.changed),
                "failures": [*result.failures, *tries.failures],
            }
            if results is not None:
                with write_files(results) as part:
                    write_json(part / _CONTENT, content | {"run": run})
                    if picture is not None:
                        (part / _PICTURE).write_bytes(picture)
        note = "Not stored: --save FOLDER stores the guide with this certificate."
        failure: OSError | None = None
        if save is not None:
            try:
                store_certificate(result.folder, result.certificate, into=save)
                note = f"Stored: {save / CARD_FILE}"
                if picture is not None:
                    write_file(save / _PICTURE, picture, overwrite=True)
                    note += f", {_PICTURE}"
            except OSError as error:
                # What was measured for minutes is shown first.
                note, failure = f"Not stored: '{save}' cannot be written.", error
    if as_json:
        print(json.dumps(content | {"note": note}, indent=2, allow_nan=False))
    else:
        # Its tables fit into the 80 columns of a pipe.
        console = Console()
        console.print(certificate_view(result), highlight=False)
        print_plainly(console, " ".join((note, *tries.failures)))
    if failure is not None:
        raise failure
    end_strictly(result.verdict, strict=strict)


def _effort(*, quick: bool) -> "CertificateSettings":
    from pyroclust.calibration import CertificateSettings

    return CertificateSettings.quick() if quick else CertificateSettings()


def _check_place(guide: Path, save: Path, *, overwrite: bool, quick: bool) -> None:
    """Refuse, before anything is measured, a folder that must not be changed or cannot be."""
    from pyroclust.calibration.checking import same_but_for_the_certificate
    from pyroclust.results.files import prepare_folder
    from pyroclust.saving.guides import check_guide_files

    folder = prepare_folder(save)
    held = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    own = folder.resolve() == guide.resolve() or same_but_for_the_certificate(guide, folder)
    if held and not own and not overwrite:
        raise ValueError(
            f"folder '{folder}' holds other files ({listed(held, 3)}); choose another with --save, or "
            "--overwrite"
        )
    check_guide_files(folder)
    check_file(folder / _PICTURE, overwrite=True)
    if quick and not overwrite and CARD_FILE in held and read_card(folder).certificate:
        raise ValueError(
            f"'{folder / CARD_FILE}' has a certificate, which a quick look does not replace; leave out "
            "--quick, or --overwrite"
        )


@takes(
    {"recipe": argument("RECIPE", "TOML file, or the name of a shipped guide, as ncp-overlap2d.", kind=Path)}
    | options(
        "out overwrite quick as_json",
        out=replace(OPTIONS["out"], says="Folder of the guide, its logs and its checkpoint.", default=...),
        overwrite="Start anew where an earlier guide or training is; no other files are replaced.",
        quick="Measure a rough certificate only.",
        resume=Option("", "Go on from the folder's checkpoint.", bool, default=False),
        max_steps=Option("N", "Stop earlier; --resume goes on.", int, least=1),
        accelerator=Option("NAME", "cpu, gpu or auto.", default="cpu"),
        precision=Option("NAME", "32-true or bf16-mixed.", default="32-true"),
    )
)
def train(
    *,
    recipe: Path,
    out: Path,
    accelerator: str,
    precision: str,
    quick: bool,
    as_json: bool,
    **typed: Any,
) -> None:
    """Train a guide from a recipe, save it, and measure its certificate on fresh data.

    Ctrl-C and SIGTERM keep the guide as it is then; a killed training loses at
    most 20 seconds, and goes on with --resume to the same weights. Several
    processes: torchrun --nproc-per-node 2 -m pyroclust train ...
    """
    from pyroclust.infer import Devices
    from pyroclust.recipes import read_recipe
    from pyroclust.recipes.training_runs import train_recipe
    from pyroclust.results.files import prepare_folder

    if typed["resume"] and typed["overwrite"]:
        raise ValueError("--resume goes on and --overwrite starts anew, expected one of them; leave one out")
    read_recipe(recipe)
    folder = prepare_folder(out)
    devices = Devices(accelerator=accelerator, precision=precision)
    settings = _effort(quick=quick)
    with stages() as tell:
        trained = train_recipe(recipe, folder, devices=devices, certificate=settings, say=tell, **typed)
    result, certificate = trained.result, trained.certificate
    if as_json:
        figures = ("steps", "loss", "num_datasets", "seconds", "interrupted", "validation")
        content = {name: getattr(result, name) for name in figures}
        content["certificate"] = None if certificate is None else certificate.to_dict()
        print(json.dumps(content, indent=2))
    elif not result.interrupted:
        console = standard_output()
        console.print(guide_list([read_card(folder)]))
        print_plainly(console, f"Written: {folder} (card.json, weights.safetensors, training.png)")
    if result.interrupted:
        raise KeyboardInterrupt(
            f"after step {result.steps}; the guide in '{folder}' is usable, --resume goes on"
        )


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
    for row in certificate.mixture:
        true = row.true_log_likelihood
        beside = "" if true is None else f" (true parameters {true:.3f})"
        yield (
            f"Mixture at N = {row.num_points}: log-likelihood a point {row.log_likelihood:.3f}{beside}, "
            f"memberships off by {row.ece:.4f}, number of clusters by {row.cluster_error:.2f}"
        )
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
