"""An analysis read back from the folder that it was saved in."""

from pathlib import Path
from typing import Any

import numpy as np

from pyroclust.core.files import checksum, parse_json, read_text, unfinished
from pyroclust.core.messages import first_line
from pyroclust.data import Standardised, Table
from pyroclust.data.binary_files import check_self_contained
from pyroclust.data.kinds import Kind
from pyroclust.data.recoded_columns import parts_by_name
from pyroclust.diagnostics import Answer, Finding, Mark, Trust, Verdict
from pyroclust.partitions import Draws
from pyroclust.results.analysis import Analysis
from pyroclust.results.data import AnalysedData
from pyroclust.results.records import GuideRecord, ModelRecord, Repeat
from pyroclust.results.weights import Weighting

_LARGEST_SUMMARY = 1 << 28
# What a group of draws.nc is called here; the posterior is that of MCMC where there is one.
_GROUPS = ("guide", "proposals", "refined", "weighted", "second")
# What summary.json says of the run, beside figures.
_ABOUT = (
    *("source", "columns", "points", "num_points", "model", "model_in_words", "guide", "clusters"),
    *("mcmc_kernel", "mcmc_chains", "mcmc_draws", "mcmc_seconds", "mcmc_seconds_warmup"),
    *("share_of_guide_draws_inside", "guide_draws", "guide_seconds", "refined_draws", "refined_seconds"),
    *("asked", "noise_scale", "draws", "seconds", "more_clusters_than_asked"),
)
# What 0.1 did not write, and what not every command writes.
_LACKING: dict[str, Any] = {
    **{"command": "compare", "points": "rows", "seed": 0, "interrupted": False, "seconds_of": {}},
    **{"model": None, "model_in_words": "", "guide": None, "mcmc_kernel": None},
    **{"answer": None, "answer_in_words": {"rely": "", "next": ""}, "findings": (), "sources": {}},
    **{"tolerance": {"guide": None, "refined": None}, "constraints": None, "constrained": False},
    **{"notes": (), "failures": (), "run": "", "repeat": None},
    **{"prior_num_clusters": None, "other_priors": None},
}


def read_analysis(folder: Path) -> Analysis:
    """Read the data, draws, model and verdict of an analysis that anybody may have written."""
    try:
        return _read(folder)
    except (MemoryError, TimeoutError):
        raise
    except Exception as error:
        if why := unfinished(folder):
            raise ValueError(f"folder '{folder}' holds unfinished results: {why}") from error
        what = first_line(error)
        if isinstance(error, KeyError | TypeError | AttributeError | IndexError):
            what = f"{what} is missing" if isinstance(error, KeyError) else "an entry is of another kind"
        raise ValueError(
            f"folder '{folder}' holds no analysis (draws.nc and summary.json) that can be read ({what}); run "
            "pyroclust cluster or compare with --out first"
        ) from error


def _read(folder: Path) -> Analysis:
    import xarray as xr

    written = parse_json(read_text(folder / "summary.json", largest=_LARGEST_SUMMARY))
    summary = _LACKING | written
    draws_file = folder / "draws.nc"
    check_self_contained(draws_file, is_read_whole=True)
    known = summary.get("files", {}).get("draws.nc")
    if known is not None and known != checksum(draws_file):
        raise ValueError("draws.nc was changed since it was written")
    with xr.open_datatree(draws_file, engine="h5netcdf") as tree:
        groups = {name.strip("/"): tree[name].to_dataset().load() for name in tree.groups if name != "/"}
    main = groups["posterior"]
    observed = groups.get("observed_data")
    names = {"posterior": "guide" if "guide" in groups else "first"}
    if summary["command"] == "forest" or summary["mcmc_kernel"] is not None:
        names["posterior"] = "forest" if summary["command"] == "forest" else "mcmc"
    names |= {name: name for name in _GROUPS if name in groups}
    in_words, limits = summary["answer_in_words"], summary["tolerance"]
    failures = list(map(str, summary["failures"]))
    # Findings of 0.1 have no mark.
    findings = (
        Finding(**one | ({"mark": Mark(one["mark"])} if "mark" in one else {})) for one in summary["findings"]
    )
    judged, answer, model = summary["verdict"], summary["answer"], None
    if summary["model"] is not None:
        described = None
        if observed is not None and summary["points"] == "rows" and "model" in observed.attrs:
            described = parse_json(observed.attrs["model"])
        model = ModelRecord(summary["model"], summary["model_in_words"], described)
    repeat = Repeat(seed=summary["seed"], run=summary["run"]) if summary["run"] else None
    if summary["repeat"] is not None:
        kept = dict(summary["repeat"])
        repeat = Repeat(name=summary["command"] if kept.pop("command") else "", **kept)
    found = Analysis(
        command=summary["command"],
        data=None if observed is None else _data(observed, main),
        model=model,
        guide=GuideRecord(summary["guide"]) if summary["guide"] else None,
        draws={name: _draws(groups[group]) for group, name in names.items()},
        verdict=Verdict(
            Trust(judged["level"]), judged["sentence"], tuple(findings), answer and Answer(answer)
        ),
        seed=int(summary["seed"]),
        # Limits of the library differ, one that was asked for holds for both.
        tolerance=limits["guide"] if limits["guide"] == limits["refined"] else None,
        about={name: written[name] for name in _ABOUT if name in written}
        | {
            "rely": in_words["rely"],
            "constrained": bool(summary["constraints"] or summary["constrained"]),
        },
        notes=[one for one in map(str, summary["notes"]) if one not in failures],
        failures=failures,
        seconds_of=dict(summary["seconds_of"]),
        next=in_words["next"],
        repeat=repeat,
        folder=folder,
        interrupted=bool(summary["interrupted"]),
    )
    for name in ("prior_num_clusters", "other_priors"):
        if summary[name] is not None:
            found.results[name] = summary[name]
    _take_weights(found)
    _take_estimates(found, summary)
    return found


def _draws(group: Any) -> Draws:
    def values(name: str) -> np.ndarray | None:
        return group[name].values if name in group else None

    return Draws(
        name=str(group.attrs.get("sampler", "the draws")),
        assignments=group["assignments"].values.astype(np.int64),
        log_joint=values("log_joint"),
        log_prob=values("log_prob"),
        seconds=float(group.attrs.get("seconds", np.nan)),
        # Points without names are counted in the file from 0, and by an analysis from 1.
        point_names=None if group["point"].dtype.kind in "iu" else tuple(map(str, group["point"].values)),
    )


def _data(observed: Any, main: Any) -> AnalysedData:
    columns = tuple(map(str, observed["column"].values))
    kinds = tuple(map(Kind, parse_json(observed.attrs.get("kinds", "[]"))))
    levels = tuple(map(tuple, parse_json(observed.attrs.get("levels", "[]"))))
    # Older folders do not say which columns were divided.
    parts = parts_by_name(columns, kinds) if kinds else ()
    if "parts" in observed.attrs:
        found = parse_json(observed.attrs["parts"])
        parts = tuple((int(number), int(answer), float(value)) for number, answer, value in found)
    if not all(place in range(len(columns)) for one in parts for place in one[:2]):
        raise ValueError("its divided columns are not there")
    if not (observed["scale"].values > 0).all():
        raise ValueError("its columns have scales that are not positive")
    labels = None
    if "label" in observed:
        labels = np.array([str(one) or None for one in observed["label"].values], dtype=object)
    points = Standardised(
        observed["data"].values, observed["location"].values, observed["scale"].values, columns
    )
    table = Table(
        str(observed.attrs.get("source", "table")),
        points.data * points.scale + points.location,
        columns,
        labels,
        tuple(map(str, main["point"].values)),
        kinds=kinds,
        levels=levels,
        units=tuple(map(str, parse_json(observed.attrs.get("units", "[]")))),
        codes=tuple(tuple(map(str, one)) for one in parse_json(observed.attrs.get("codes", "[]"))),
        parts=parts,
        weights=observed["weight"].values if "weight" in observed else None,
    )
    return AnalysedData(table, points)


def _take_weights(analysis: Analysis) -> None:
    """Weigh the guide's draws again; where weighted ones are the answer and were not kept, resample them."""
    draws = analysis.draws.get("guide")
    if draws is None or draws.log_ratios is None:
        return
    weights = Weighting.of(analysis.proposals)
    analysis.results["weights"] = weights
    if analysis.verdict.answer is Answer.WEIGHTED and "weighted" not in analysis.draws:
        analysis.draws["weighted"] = weights.resampled(analysis.proposals, draws, seed=analysis.seed)


def _take_estimates(analysis: Analysis, summary: dict[str, Any]) -> None:
    """Take the point estimates that were found, so that clusters keep their numbers."""
    # Some of 0.1 are a list.
    by_name = summary["sources"] if isinstance(summary["sources"], dict) else {}
    for name in analysis.draws.keys() & by_name.keys():
        estimate = by_name[name].get("point_estimate")
        if estimate and len(estimate.get("assignments", ())) == analysis.draws[name].num_points:
            analysis.summary(name).known = np.asarray(estimate["assignments"], dtype=np.int64)
