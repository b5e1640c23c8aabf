"""Parts of a result that fail: a sentence in page, terminal and JSON, never the end of the run."""

import html
import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from io import StringIO
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import report_pages
from faults.cases import Run, refused, run_command, table
from rich.console import Console
from synthetic_comparison import filled, make_comparison

from pyroclust import compare, diagnose
from pyroclust.calibration import CertificateSettings
from pyroclust.diagnostics import Trust
from pyroclust.diagnostics.findings import Question
from pyroclust.guides import PredictiveFilter
from pyroclust.models import nig_mixture
from pyroclust.report import page_of, render_page, terminal_view
from pyroclust.report.parts import Picture
from pyroclust.results.analysis import Analysis
from pyroclust.saving.cards import read_card

_, _case, _ = table("parts")
_BROKEN = RuntimeError("it broke.\nThe second line")
_SUMMARIES, _STEPS = "pyroclust.results.summaries.", "pyroclust.analysis."
_POINTS = np.array([[0.1], [0.2], [-0.4], [2.0], [2.2], [2.1]])
_QUICK = {"raw": True, "num_draws": 20, "mcmc_draws": 20, "num_chains": 2, "warmup": 20}
_FEW = ["--draws", "20", "--mcmc-draws", "20", "--chains", "2"]


def _compared() -> Analysis:
    labels = np.array(["a", "b", None] * 4, dtype=object)
    return filled(make_comparison(num_points=12, draws=40, dim=2, labels=labels), also=report_pages.EVERY)


def _alone() -> Analysis:
    return report_pages.alone_case(labels=np.array(["a", "b"] * 6, dtype=object))


def _diagnosed() -> Analysis:
    draws = np.random.default_rng(0).integers(2, size=(2, 30, 6))
    table = pd.DataFrame({"x": _POINTS[:, 0], "kind": list("aabbab")})
    return diagnose(draws, draws[::-1], data=table, label="kind")


def _run() -> Analysis:
    also = ["familiarity", "witnesses", "calibration", "evidence"]
    return compare(_POINTS, guide=PredictiveFilter(nig_mixture()), also=also, **_QUICK)


def _refined() -> Analysis:
    return compare(_POINTS, guide=PredictiveFilter(nig_mixture()), refine=True, **_QUICK)


_RESULTS = {
    "compare": _compared,
    "a guide alone": _alone,
    "diagnose": _diagnosed,
    "a whole compare": _run,
    "refining": _refined,
}


def _said_everywhere(result: Analysis, words: str) -> str:
    """Return the sentence with the words, which page, terminal and JSON have to hold."""
    figures = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    found = [one for one in figures["failures"] if words in one]
    assert found, f"'{words}' is not in {figures['failures']}"
    with mock.patch.object(Picture, "_drawn", (b"", "")):
        page = page_of(result)
        written, seen = html.unescape(render_page(page)), StringIO()
        Console(file=seen, width=2000).print(terminal_view(result, verbose=True))
    assert not page.failures, page.failures
    for sentence in figures["failures"]:
        assert sentence in written, "the page does not say it"
        assert f"Note: {sentence}" in seen.getvalue(), "the terminal does not say it"
    assert figures["verdict"]["sentence"] in written
    return str(found[0])


def _fails(place: str, kind: str, words: str, asks: Sequence[Question]) -> Run:
    """Break a function and look at the result; the questions about it have to be "cannot tell"."""

    # Four fifths of the time of a result are those of the classical methods.
    others = (
        nullcontext()
        if "baseline" in place
        else mock.patch(f"{_STEPS}diagnose.baseline_rows", return_value=())
    )

    def run(folder: Path) -> str:
        with mock.patch(place, side_effect=_BROKEN), others:
            result = _RESULTS[kind]()
        said = _said_everywhere(result, words)
        findings = {one.question: one for one in result.findings}
        for question in asks:
            assert findings[question.value].passed is None, findings[question.value]
        assert Question.NEAR not in asks or Question.NEAR.value in result.verdict.sentence, result.verdict
        assert "Traceback" not in said
        return said

    return run


_DRAWS = f"{_SUMMARIES}diagnostics."
_ESTIMATE = (Question.CLEAR, Question.LABELS)
_BASELINES = (f"{_STEPS}diagnose.baseline_rows", "The classical methods", ())
_SOURCES = (f"{_STEPS}diagnose.compare_sources", "The comparison of the sources", (Question.SOURCES,))
_POINT = (f"{_DRAWS}point_estimate", "The point estimate of", _ESTIMATE)
_FAMILIAR = "pyroclust.calibration.simulations.SimulatedDatasets.familiarity"
# What is broken, the beginning of the sentence, and the questions without an answer. Summaries are the same
# wherever draws come from: of other results one stands for all.
_BROKEN_PARTS: dict[str, tuple[tuple[str, str, tuple[Question, ...]], ...]] = {
    "diagnose": (
        _POINT,
        (f"{_DRAWS}point_uncertainty", "The uncertainty of the point estimate of", _ESTIMATE),
        (
            f"{_SUMMARIES}adjusted_rand_where_known",
            "The adjusted Rand index to the known labels of",
            (Question.LABELS,),
        ),
        (f"{_DRAWS}credible_ball", "The credible ball of", ()),
        (f"{_DRAWS}ranked_partitions", "The most probable partitions of", ()),
        (f"{_DRAWS}partition_entropy", "The entropy of", ()),
        (f"{_DRAWS}partition_modes", "The modes of", ()),
        (f"{_DRAWS}functionals", "The functionals of", ()),
        (f"{_DRAWS}convergence", "The convergence of", ()),
        (f"{_DRAWS}co_membership_ess", "The effective draws of pairs of", ()),
        (f"{_DRAWS}distance_rhat", "The R-hat of distances of", ()),
        (f"{_DRAWS}cluster_profiles", "The profiles of the clusters of", ()),
        (f"{_SUMMARIES}membership_in", "The membership of the rows of", ()),
        _SOURCES,
        _BASELINES,
    ),
    "compare": (
        _POINT,
        (
            "pyroclust.results.step_results.diagnostics.importance_weights",
            "The importance weights",
            (Question.TAIL, Question.WORTH, Question.WEIGHTED),
        ),
        (
            f"{_STEPS}drawing.distances",
            "The agreement of the guide with MCMC",
            (Question.COUNTS, Question.PAIRS),
        ),
        (f"{_STEPS}of_the_model.importance_evidence", "The log evidence", ()),
    ),
    "a guide alone": (
        (_FAMILIAR, "The familiarity of the data", (Question.FAMILIAR,)),
        (
            f"{_STEPS}of_the_model.calibration_findings",
            "The judgement of the certificate",
            (Question.CERTIFIED,),
        ),
    ),
    "a whole compare": (
        (f"{_STEPS}of_the_model.simulate_datasets", "The familiarity of the data", (Question.FAMILIAR,)),
        (f"{_STEPS}of_the_model.simulate_datasets", "The witnesses of the guide", (Question.WEIGHT_QUALITY,)),
        (f"{_STEPS}of_the_model.calibrate_near", "The calibration of the guide near", (Question.NEAR,)),
        (f"{_STEPS}chains.annealed_log_evidence", "The log evidence", ()),
        (
            "pyroclust.calibration.simulations._log_weights",
            "The weights of the guide's draws of simulations",
            (),
        ),
    ),
    "refining": (
        (f"{_STEPS}drawing.refine", "The refining of the guide's draws", (Question.SETTLED,)),
        ("pyroclust.results.step_results.evidence_by_order", "The spread over visiting orders", ()),
    ),
}


def _no_picture(folder: Path) -> str:
    """Break the drawing of pictures and run a command."""
    pd.DataFrame({"x": _POINTS[:, 0]}).to_csv(folder / "x.csv", index=False)
    with mock.patch("pyroclust.report.parts.plots.new_figure", side_effect=_BROKEN):
        code, out, err = run_command(["compare", "x.csv", *_FEW, "--out", "out", "--quiet", "--verbose"])
    assert code == 0, err
    figures = json.loads((folder / "out" / "summary.json").read_text())
    written = html.unescape((folder / "out" / "report.html").read_text())
    said = " ".join(out.split())
    assert any("A picture of 'How many clusters' could not be made" in one for one in figures["failures"])
    for sentence in figures["failures"]:
        assert sentence in said, "the terminal does not say it"
        assert sentence in written, "the page does not say it"
        assert sentence in figures["notes"]
    assert "This picture could not be made and is left out: it broke." in written
    assert "<img" not in written
    return str(figures["failures"][0])


def _no_section(folder: Path) -> str:
    with mock.patch("pyroclust.report.clusters.counts_picture", side_effect=_BROKEN):
        page, seen = page_of(found := _diagnosed()), StringIO()
        Console(file=seen, width=2000).print(terminal_view(found, verbose=True))
    (said,) = page.failures
    with mock.patch.object(Picture, "_drawn", (b"", "")):
        assert said in html.unescape(render_page(page))
    assert said in seen.getvalue()
    return said


def _check(place: str, words: str) -> Run:
    """Break a part of a certificate, or its picture, and run the command."""

    def run(folder: Path) -> str:
        tiny = replace(
            CertificateSettings.nothing(), num_calibrated=20, calibrated_points=5, num_truths=3, num_timed=1
        )
        with (
            mock.patch("pyroclust.cli.guides._effort", return_value=tiny),
            mock.patch(place, side_effect=_BROKEN),
        ):
            arguments = ["check", "filter-nig1d", "--points", "6", "--out", "out", "--save", "mine"]
            code, out, err = run_command(arguments)
        assert code == 0, err
        figures = json.loads((folder / "out" / "certificate.json").read_text())
        (said,) = figures["failures"]
        assert words in said
        assert said in " ".join(out.split())
        unmeasured = said.startswith("The measuring of")
        assert ("Cannot tell" in " ".join(out.split())) == unmeasured
        card = read_card(folder / "mine")
        assert not (unmeasured and card.passed)
        assert card.certificate.get("failures", {}) == figures["certificate"].get("failures", {})
        return str(said)

    return run


def _no_draws(folder: Path) -> str:
    with mock.patch("pyroclust.analysis.drawing.draw_guide", side_effect=_BROKEN):
        return refused(_run, "could not draw partitions of these points (it broke)")


def _no_mcmc(folder: Path) -> str:
    with mock.patch("pyroclust.analysis.drawing.draw_mcmc", side_effect=_BROKEN):
        compare(_POINTS, guide="filter-nig1d", out=folder / "out", **_QUICK)
    figures = json.loads((folder / "out" / "summary.json").read_text())
    (said,) = [one for one in figures["findings"] if one["question"] == Question.BESIDE.value]
    assert "MCMC failed (it broke)" in said["sentence"]
    assert figures["verdict"]["level"] != Trust.TRUST.value
    assert (folder / "out" / "draws.nc").is_file()
    return str(said["sentence"])


def _whole(arguments: list[str], points: np.ndarray, draws: np.ndarray | None = None) -> Run:
    """Run a command on data that leave little to compute, with labels and without."""

    def run(folder: Path) -> str:
        frame = pd.DataFrame(points, columns=list("ab")[: points.shape[1]])
        frame.assign(kind=["u" if row % 2 else "v" for row in range(len(points))]).to_csv(
            folder / "t.csv", index=False, float_format="%.17g"
        )
        if draws is not None:
            np.save(folder / "d.npy", draws)
        found = []
        for labels in (["--label", "kind"], ["--columns", ",".join(frame.columns)]):
            code, out, err = run_command([*arguments, *labels, "--out", "out", "--overwrite", "--quiet"])
            assert code in (0, 2), err
            if code == 2:
                assert "rescale" in err or "constant" in err, err
                found.append(" ".join(err.split()))
                continue
            figures = json.loads((folder / "out" / "summary.json").read_text())
            said = " ".join(out.split())
            assert all(one in said and "at least two" in one for one in figures["failures"]), figures[
                "failures"
            ]
            assert not figures["failures"] or figures["verdict"]["level"] == Trust.UNKNOWN.value
            found.append(figures["verdict"]["level"])
        return "; ".join(dict.fromkeys(found))

    return run


_RNG = np.random.default_rng(0)
_TABLES = {
    "two points": np.array([[0.0], [1.0]]),
    "two distinct points": np.repeat([[0.0], [1.0]], 6, 0),
    "two distinct points in two columns": np.repeat([[0.0, 1.0], [1.0, -1.0]], 6, 0),
    "duplicates only": np.tile([[1.0, 2.0]], (9, 1)),
    "a constant column": np.c_[_RNG.normal(size=12), np.full(12, 2.0)],
    "columns on one line": np.c_[np.arange(10.0), 2 * np.arange(10.0)],
    "a scale of 1e300": 1e300 * _RNG.normal(size=(10, 1)),
    "a scale of 1e-300": 1e-300 * _RNG.normal(size=(10, 1)),
}
_ALL_DRAWS = {
    "one draw": np.zeros((1, 6), dtype=int),
    "one draw a chain": _RNG.integers(3, size=(5, 1, 6)),
    "two draws": np.array([[0, 0, 1, 1, 0, 0], [0, 1, 1, 0, 0, 0]]),
    "all draws equal": np.tile([0, 0, 1, 1, 2, 0], (2, 30, 1)),
    "one cluster": np.zeros((2, 30, 6), dtype=int),
    "all singletons": np.tile(np.arange(6), (2, 30, 1)),
}


def _guide(points: np.ndarray) -> str:
    return "filter-nig1d" if points.shape[1] == 1 else "filter-niw2d"


CASES = [
    *(
        _case(
            f"{kind}: {place.removeprefix('pyroclust.')} fails: {words}",
            f"“{words} …” everywhere" + (f"; {len(asks)} times “cannot tell”" if asks else ""),
            _fails(place, kind, words, asks),
            slow=kind in ("a whole compare", "refining"),
        )
        for kind, parts in _BROKEN_PARTS.items()
        for place, words, asks in parts
    ),
    _case("a section of a page fails", "a sentence; the other sections are there", _no_section),
    *(
        _case(f"check: {name} fails", "a sentence; it does not pass", _check(place, words), slow=True)
        for name, place, words in (
            (
                "calibration",
                "pyroclust.calibration.certifying.calibration_of",
                "The measuring of calibration",
            ),
            ("log q of the truth", "pyroclust.calibration.certifying.truth_row", "The measuring of log q of"),
            ("the picture", "pyroclust.plots.plot_certificate", "The picture certificate.png"),
        )
    ),
    _case("compare: no picture can be drawn", "a sentence each", _no_picture, slow=True),
    _case("compare: the guide cannot draw", "one sentence", _no_draws, slow=True),
    _case("compare: MCMC fails", "the guide's draws alone, and why", _no_mcmc, slow=True),
    *(
        _case(
            f"compare{' --raw' if raw else ''}: {name}",
            "a whole result or one sentence",
            _whole(["compare", "t.csv", "--guide", _guide(points), *raw, *_FEW], points),
            slow=True,
        )
        for name, points in _TABLES.items()
        for raw in ([], ["--raw"])
    ),
    *(
        _case(
            f"diagnose: {name}",
            "a whole result, or “cannot tell” and a sentence",
            _whole(["diagnose", "d.npy", "d.npy", "--data", "t.csv"], np.arange(6.0)[:, None], draws),
            slow=True,
        )
        for name, draws in _ALL_DRAWS.items()
    ),
]
