"""The guide of spikes on recordings that spikeinterface generates, beside spikeinterface's own clustering.

    pip install 'pyroclust[benchmarks]'
    python benchmarks/spike_recordings.py [--seeds 3] [--guide ncp-spikes]

Each recording has 7 contacts 20 micrometres apart, lasts 10 seconds and has 3, 6 or 10 neurons that fire 15
times a second, amplitudes that vary by a tenth, and noise of 5, 10 or 20 microvolts that is correlated
between channels; it is made twice, still and drifting by up to 10 micrometres, and band-passed from 300 to
6,000 Hz, as sorters do first. The first of the still ones are clustered unfiltered as well. Neurons whose
mean spike stays below 4 standard deviations of the noise are left out, as a detector would: their spikes stay
in the others' background. All methods are told when the other spikes are. The guide sees 32 samples of 7
channels around each, in units of the noise; its partition is the one among its 64 draws that has the least
expected variation of information under them. It was trained on models.SpikeWaveforms and on nothing of
spikeinterface.

Beside it: spikeinterface's methods of its clustering step, run with their defaults by its
ClusteringBenchmark; scikit-learn's variational mixture with at most 20 components on 12 principal components;
and k-means on these, told the number of neurons. Spikes that a method leaves without a cluster count as one
cluster of their own. How many neurons are well detected is what spikeinterface's comparison says. One result
a recording is kept in runs/spike_recordings, so that a run goes on where the last one ended. The last report
is in benchmarks/results/spike_recordings.json.
"""

import importlib.metadata
import itertools
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import typer
from kept import kept, weights_of, write_report
from rich.console import Console
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture

from pyroclust import load_guide
from pyroclust.diagnostics import DrawsSearch, point_estimate

try:
    import spikeinterface
    from probeinterface import generate_linear_probe
    from spikeinterface.benchmark.benchmark_clustering import ClusteringBenchmark
    from spikeinterface.core import get_noise_levels
    from spikeinterface.core.base import spike_peak_dtype
    from spikeinterface.generation import generate_drifting_recording
    from spikeinterface.preprocessing import bandpass_filter
    from spikeinterface.sortingcomponents.clustering.method_list import clustering_methods
except ImportError as error:
    raise SystemExit(
        f"{error.name} is missing, which this benchmark needs: pip install 'pyroclust[benchmarks]'"
    ) from None

RUNS = Path(__file__).parents[1] / "runs" / "spike_recordings"
RESULTS = Path(__file__).parent / "results" / "spike_recordings.json"
UNITS, NOISES = (3, 6, 10), (5.0, 10.0, 20.0)
CHANNELS, BEFORE, AFTER, RATE = 7, 11, 21, 25_000.0
VISIBLE, MARGIN = 4.0, 200
DRAWS, COMPONENTS, MOST = 64, 12, 20
GUIDE = "the guide"


@dataclass(frozen=True)
class Recording:
    """A recording, the spikes of its visible neurons, and their waveforms ``(N, 7, 32)``."""

    traces: Any
    sorting: Any
    indices: np.ndarray
    peaks: np.ndarray
    neurons: np.ndarray
    waveforms: np.ndarray


def generated(units: int, noise: float, seed: int) -> tuple[Any, Any, Any]:
    """Return a recording, the same with drift, and its neurons."""
    probe = generate_linear_probe(CHANNELS, ypitch=20.0)
    probe.set_device_channel_indices(np.arange(CHANNELS))
    zigzag = {"drift_mode": "zigzag", "t_start_drift": 0.0, "t_end_drift": None, "period_s": 20.0}
    return generate_drifting_recording(
        num_units=units,
        duration=10.0,
        sampling_frequency=RATE,
        probe=probe,
        generate_sorting_kwargs={"firing_rates": 15.0, "refractory_period_ms": 4.0},
        generate_noise_kwargs={"noise_levels": (noise, noise), "spatial_decay": 25.0},
        generate_displacement_vector_kwargs={
            "displacement_sampling_frequency": 5.0,
            "drift_start_um": [0, 10],
            "drift_stop_um": [0, -10],
            "drift_step_um": 1,
            "motion_list": [zigzag],
        },
        amplitude_std=0.1,
        seed=seed,
    )


def cut(traces: Any, sorting: Any, visible: np.ndarray | None = None) -> Recording:
    """Cut the spikes of the visible neurons out of a recording; by default of those visible in it."""
    level = get_noise_levels(traces, return_in_uV=False, progress_bar=False, n_jobs=1)
    voltages = traces.get_traces() / level
    spikes = sorting.to_spike_vector()
    time_of, unit = spikes["sample_index"], spikes["unit_index"]
    inside = (time_of >= MARGIN) & (time_of < len(voltages) - MARGIN)
    waves = voltages[time_of[inside, None] + np.arange(-BEFORE, AFTER)].transpose(0, 2, 1)
    if visible is None:
        means = [waves[unit[inside] == one].mean(0) for one in range(len(sorting.unit_ids))]
        visible = np.array([np.abs(one).max() >= VISIBLE for one in means])
    kept = visible[unit[inside]]
    indices = np.flatnonzero(inside)[kept]
    waves = waves[kept].astype(np.float32)
    peaks = np.zeros(len(indices), dtype=spike_peak_dtype)
    for name in ("sample_index", "segment_index", "unit_index"):
        peaks[name] = spikes[name][indices]
    peaks["channel_index"] = waves[:, :, BEFORE].argmin(1)
    peaks["amplitude"] = np.take_along_axis(waves[:, :, BEFORE], peaks["channel_index"][:, None], 1)[:, 0]
    peaks["amplitude"] *= level[peaks["channel_index"]]
    neurons = np.unique(unit[indices], return_inverse=True)[1]
    return Recording(traces, sorting.select_units(sorting.unit_ids[visible]), indices, peaks, neurons, waves)


def recordings(units: int, noise: float, seed: int) -> dict[str, Recording]:
    """Generate a recording of two visible neurons or more: still, drifting, and still without a filter."""
    for attempt in itertools.count():
        still, drifting, sorting = generated(units, noise, 1000 * seed + attempt)
        first = cut(bandpass_filter(still), sorting)
        if first.neurons.max() > 0:
            visible = np.isin(np.arange(units), np.unique(first.peaks["unit_index"]))
            return {
                "still": first,
                "drifting": cut(bandpass_filter(drifting), sorting, visible),
                "unfiltered": cut(still, sorting, visible),
            }
    raise AssertionError("counting does not end")


def by_guide(guide: Any, recording: Recording) -> np.ndarray:
    """Return the guide's point estimate."""
    # Parallel loops of others, once run, let torch use every core.
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with torch.no_grad():
        draws = guide.posterior(torch.from_numpy(recording.waveforms)).sample((DRAWS,)).numpy()
    return point_estimate(draws, seed=0, search=DrawsSearch())


def by_spikeinterface(method: str, recording: Recording) -> np.ndarray:
    """Return the labels of a method of spikeinterface, below 0 where a spike has none."""
    benchmark = clustering_benchmark(method, recording)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        benchmark.run(verbose=False, n_jobs=1, progress_bar=False)
    return benchmark.result["peak_labels"]


def clustering_benchmark(method: str, recording: Recording) -> Any:
    """Make spikeinterface's benchmark of a clustering step, for the spikes of a recording."""
    spikes = np.arange(len(recording.peaks))
    settings = {"method": method, "method_kwargs": {}}
    return ClusteringBenchmark(recording.traces, recording.sorting, settings, spikes, recording.peaks)


def components(recording: Recording) -> np.ndarray:
    """Return principal components of the waveforms."""
    waves = recording.waveforms.reshape(len(recording.peaks), -1)
    return PCA(COMPONENTS, random_state=0).fit_transform(waves)


def by_mixture(recording: Recording) -> np.ndarray:
    """Return the labels of scikit-learn's variational mixture."""
    mixture = BayesianGaussianMixture(n_components=MOST, max_iter=500, random_state=0)
    return mixture.fit_predict(components(recording))


def by_k_means(recording: Recording) -> np.ndarray:
    """Return the labels of k-means, told the number of neurons."""
    number = int(recording.neurons.max()) + 1
    return KMeans(number, n_init=10, random_state=0).fit_predict(components(recording))


def well_detected(recording: Recording, labels: np.ndarray) -> int:
    """Count the neurons that spikeinterface's comparison calls well detected."""
    from spikeinterface.comparison import GroundTruthComparison
    from spikeinterface.core import NumpySorting

    def sorting(which: np.ndarray) -> Any:
        has = which >= 0
        return NumpySorting.from_samples_and_labels(recording.peaks["sample_index"][has], which[has], RATE)

    compared = GroundTruthComparison(sorting(recording.neurons), sorting(labels), exhaustive_gt=True)
    return int(compared.count_well_detected_units(well_detected_score=0.8))


def measured(methods: dict[str, Callable[[Recording], np.ndarray]], recording: Recording) -> dict[str, Any]:
    """Measure all methods on one recording."""
    found: dict[str, Any] = {"spikes": len(recording.peaks), "neurons": int(recording.neurons.max()) + 1}
    found["methods"] = {}
    for name, cluster in methods.items():
        begin = time.perf_counter()
        labels = cluster(recording)
        seconds = time.perf_counter() - begin
        found["methods"][name] = {
            "ami": float(adjusted_mutual_info_score(recording.neurons, labels)),
            "ari": float(adjusted_rand_score(recording.neurons, labels)),
            "units": len(np.unique(labels[labels >= 0])),
            "unassigned": float((labels < 0).mean()),
            "well detected": well_detected(recording, labels),
            "seconds": seconds,
        }
    return found


def measured_of(
    methods: dict[str, Callable[[Recording], np.ndarray]], made: dict[str, Recording], kind: str
) -> dict[str, Any]:
    return measured(methods, made[kind])


def all_rows(methods: dict[str, Callable[[Recording], np.ndarray]], folder: Path, seeds: int) -> pd.DataFrame:
    """Measure every recording that has not been measured, and return one row a recording and method."""
    rows = []
    for units, noise, seed in itertools.product(UNITS, NOISES, range(seeds)):
        kinds = ("still", "drifting", "unfiltered")[: 2 if seed else 3]
        names = {kind: folder / f"{units}-{noise:g}-{seed}-{kind}.json" for kind in kinds}
        made = {} if all(path.exists() for path in names.values()) else recordings(units, noise, seed)
        for kind, path in names.items():
            one = kept(path, partial(measured_of, methods, made, kind))
            shared = {"kind": kind, "noise": noise, "neurons": one["neurons"], "spikes": one["spikes"]}
            rows += [{**shared, "method": name, **found} for name, found in one["methods"].items()]
    return pd.DataFrame(rows)


def summary(rows: pd.DataFrame) -> dict[str, Any]:
    """Average over recordings: scores with the standard error of the first, numbers of units, seconds."""
    report = {}
    for name, every in rows.groupby("method", sort=False):
        one = every[every["kind"] != "unfiltered"]
        report[str(name)] = {
            "ami": one["ami"].mean(),
            "error": one["ami"].std() / np.sqrt(len(one)),
            "ari": one["ari"].mean(),
            "ami by noise": {f"{noise:g}": part["ami"].mean() for noise, part in one.groupby("noise")},
            "ami by kind": {kind: part["ami"].mean() for kind, part in every.groupby("kind")},
            "excess of units": (one["units"] - one["neurons"]).mean(),
            "distance to the number": (one["units"] - one["neurons"]).abs().mean(),
            "unassigned": one["unassigned"].mean(),
            "well detected": one["well detected"].sum() / one["neurons"].sum(),
            "seconds": one["seconds"].median(),
        }
    return report


def main(seeds: int = 3, guide: str = "ncp-spikes") -> None:
    """Measure all recordings and print one table."""
    loaded = load_guide(guide)
    own = [name for name in clustering_methods if name != "dummy"]
    methods: dict[str, Callable[[Recording], np.ndarray]] = {
        GUIDE: lambda recording: by_guide(loaded, recording),
        **{name: lambda recording, name=name: by_spikeinterface(name, recording) for name in own},
        "variational mixture": by_mixture,
        "k-means, told K": by_k_means,
    }
    # The first call of a method compiles it.
    measured({name: methods[name] for name in own}, recordings(3, 5.0, 999)["still"])
    rows = all_rows(methods, RUNS / weights_of(loaded), seeds)
    first = rows[(rows["method"] == GUIDE) & (rows["kind"] != "unfiltered")]
    report = {
        "guide": guide,
        "spikeinterface": spikeinterface.__version__,
        "scikit-learn": importlib.metadata.version("scikit-learn"),
        "recordings": len(first),
        "neurons": [int(first["neurons"].min()), int(first["neurons"].max())],
        "spikes": [int(first["spikes"].min()), int(first["spikes"].max())],
        "methods": summary(rows),
    }
    shown = pd.json_normalize(list(report["methods"].values())).set_index(pd.Index(report["methods"]))
    Console(width=220).print(shown.round(3).to_string())
    write_report(RESULTS, report)


if __name__ == "__main__":
    typer.run(main)
