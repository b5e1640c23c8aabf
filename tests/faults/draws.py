"""Draws in memory: missing, masked, short and long labels, weights, and objects that hold draws."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
import xarray as xr
from faults.cases import Case, of_family

from pyroclust import diagnose, diagnostics
from pyroclust.baselines import KMeans, partition_scores
from pyroclust.data.draws.reading import draws_from
from pyroclust.distributions.points import as_points

refuses, gives, _ = of_family("draws")

LABELS = np.array([[0, 0, 1], [0, 1, 1]])
TOGETHER = [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
MASKED = np.ma.masked_array(LABELS, mask=[[0, 0, 1], [0, 0, 0]])


def read(draws: Any) -> list[Any]:
    """Return canonical labels of whatever holds draws."""
    return draws_from(draws).assignments.tolist()


def together(draws: Any, weights: Any = None) -> list[Any]:
    """Return the co-assignment matrix."""
    return diagnostics.co_assignment(draws, weights=weights).tolist()


def _read_as_they_are(named: Sequence[tuple[str, Any]]) -> list[Case]:
    return [gives(f"draws: {name}", partial(read, one), [CANONICAL]) for name, one in named]


def _taken(named: Sequence[tuple[str, Any]]) -> list[Case]:
    return [gives(f"co-assignment: {name}", partial(together, one), TOGETHER) for name, one in named]


def _weights(name: str, weights: Any, words: str) -> Case:
    return refuses(f"weights: {name}", partial(together, LABELS, weights), words)


CANONICAL = LABELS.tolist()

CASES = [
    refuses("diagnose: a masked label", lambda: diagnose(MASKED), "1 masked entries"),
    refuses("diagnose: masked rows in a list", lambda: diagnose(list(MASKED)), "1 masked entries"),
    refuses("co-assignment: a masked label", lambda: together(MASKED), "1 masked entries"),
    refuses("co-assignment: labels of -1", lambda: together([[-1, -1, 0]]), "labels from -1 to 0"),
    refuses("co-assignment: labels beyond N", lambda: together([[0, 0, 7]]), "labels from 0 to 7"),
    refuses("co-assignment: floats", lambda: together(LABELS / 1), "expected integers"),
    refuses("co-assignment: true and false", lambda: together(LABELS == 0), "expected integers"),
    refuses("co-assignment: no draws", lambda: together(LABELS[:0]), "at least one draw and one point"),
    refuses("co-assignment: no points", lambda: together(LABELS[:, :0]), "at least one draw"),
    refuses("co-assignment: one draw without a row", lambda: together(LABELS[0]), "expected (chains, draws"),
    refuses(
        "co-assignment: four dimensions", lambda: together(LABELS[None, None]), "expected (chains, draws"
    ),
    refuses("co-assignment: ragged rows", lambda: together([[0, 1], [0]]), "rows of unequal lengths"),
    refuses("co-assignment: a number", lambda: together(3), "expected draws of partitions"),
    refuses(
        "co-assignment: labels beyond 2^63",
        lambda: together(np.array([[2**63 + 1, 0]], dtype=np.uint64)),
        "labels from 0 to 9223372036854775809",
    ),
    *_taken(
        [
            ("big-endian labels", LABELS.astype(">i8")),
            ("labels of one byte", LABELS.astype(np.int8)),
            ("columns in memory order of Fortran", np.asfortranarray(LABELS)),
            ("a read-only view of every second label", np.repeat(LABELS, 2, axis=1)[:, ::2]),
            ("a tensor", torch.from_numpy(LABELS)),
            ("a frame", pd.DataFrame(LABELS)),
            ("points before draws", xr.DataArray(LABELS.T, dims=("point", "draw"))),
            ("points before samples", xr.DataArray(LABELS.T, dims=("point", "sample"))),
        ]
    ),
    gives(
        "co-assignment: 120 clusters in int8",
        lambda: diagnostics.co_assignment(np.arange(120, dtype=np.int8)[None]).sum().item(),
        120.0,
    ),
    *_read_as_they_are(
        [
            ("whole floats", LABELS / 1),
            ("true and false", LABELS == 1),
            ("labels of -1 and 5", np.where(LABELS == 0, -1, 5)),
            ("labels beyond 2^63", LABELS.astype(np.uint64) + np.uint64(2**63 + 1)),
            ("whole numbers beyond 2^64", [[2**64 + one for one in row] for row in CANONICAL]),
            ("names", np.array(["b", "a"])[LABELS]),
            ("categories", pd.DataFrame(np.array(["b", "a"])[LABELS]).astype("category")),
            ("numbers of pandas that may be missing", pd.DataFrame(LABELS).astype("Int64")),
            ("a tensor of bfloat16", torch.from_numpy(LABELS).bfloat16()),
            (
                "a tensor that wants gradients",
                torch.tensor(CANONICAL, dtype=torch.float64, requires_grad=True),
            ),
            ("a list of tensors", list(torch.from_numpy(LABELS))),
            ("points before draws", xr.DataArray(LABELS.T, dims=("point", "draw"))),
            ("samples by site", {"assignments": LABELS, "weights": np.ones((2, 4))}),
        ]
    ),
    refuses("a missing number", lambda: read([[0.0, np.nan]]), "1 missing or infinite label"),
    refuses("an infinite label", lambda: read([[0.0, np.inf]]), "1 missing or infinite label"),
    refuses("a missing name in a list", lambda: read([["a", np.nan, "b"]]), "1 missing or infinite label"),
    refuses("a missing name made text", lambda: read(np.array([["a", "nan"]])), "1 missing or infinite"),
    refuses(
        "a missing number of pandas",
        lambda: read(pd.DataFrame({"a": [0, 1], "b": [None, 1]}, dtype="Int64")),
        "1 missing or infinite label",
    ),
    refuses("1 and '1'", lambda: read([["a", 1, "1"]]), "both as a number and as text"),
    refuses("half a label", lambda: read([[0.5, 1.0]]), "expected whole numbers"),
    refuses("float16 beyond 2^11", lambda: read(np.array([[2049, 2048]], np.float16)), "which are not exact"),
    refuses(
        "float32 beyond 2^24", lambda: read(np.array([[2**24 + 1, 2**24]], np.float32)), "which are not exact"
    ),
    refuses(
        "bfloat16 beyond 2^8", lambda: read(torch.tensor([[257, 256]]).bfloat16()), "missing or infinite"
    ),
    refuses("whole numbers mixed up to floats", lambda: read([[2**63, -1]]), "which are not exact"),
    refuses("complex labels", lambda: read(LABELS + 0j), "expected labels: whole numbers or names"),
    refuses("dates", lambda: read(LABELS.astype("M8[D]")), "expected labels: whole numbers or names"),
    refuses("a generator", lambda: read(one for one in LABELS), "expected draws of partitions"),
    refuses("nothing", lambda: read(None), "expected draws of partitions"),
    refuses("a sparse tensor", lambda: read(torch.from_numpy(LABELS).to_sparse()), "that is no array"),
    refuses("one point", lambda: read(LABELS[:, :1]), "expected at least 2 points"),
    refuses(
        "samples by site with weights of draws",
        lambda: read({"assignments": LABELS, "log_weights": [-1.0, -2.0]}),
        "expected equally weighted draws",
    ),
    refuses(
        "log_joint of draws and chains, not of chains and draws",
        lambda: read({"assignments": np.zeros((2, 5, 3), int), "log_joint": np.zeros((5, 2))}),
        "log_joint of shape (5, 2), expected (2, 5)",
    ),
    _weights("one below zero", [1, -1], "weights must be finite, not negative"),
    _weights("one missing", [1, np.nan], "weights must be finite"),
    _weights("one infinite", [1, np.inf], "weights must be finite"),
    _weights("all zero", [0, 0], "not all zero"),
    _weights("too few", [1], "weights has 1 entries, expected 2"),
    _weights("text", ["a", "b"], "not an array of real numbers"),
    _weights("ragged", [[1], [1, 2]], "not an array of real numbers"),
    _weights("complex", [1j, 1], "not an array of real numbers"),
    _weights("masked", np.ma.masked_array([1.0, 1.0], mask=[0, 1]), "1 masked entries"),
    refuses(
        "weights: of draws and chains, not of chains and draws",
        lambda: together(np.zeros((2, 5, 3), int), np.ones((5, 2))),
        "weights has shape (5, 2), expected (2, 5)",
    ),
    gives("weights: as large as numbers are", lambda: together(LABELS, [1e308, 1e308]), TOGETHER),
    gives("weights: as small as numbers are", lambda: together(LABELS, [5e-324, 5e-324]), TOGETHER),
    refuses("weights that do not sum to 1", lambda: diagnostics.effective_draws([1.0, 1.0]), "sum to 1"),
    refuses("no effective draws", lambda: diagnostics.effective_draws([]), "expected finite ones"),
    refuses("log weights of text", lambda: diagnostics.pareto_k(["a"]), "not an array of real numbers"),
    refuses(
        "log weights that are masked",
        lambda: diagnostics.importance_weights(np.ma.masked_array([0.0, 1.0], mask=[0, 1])),
        "1 masked entries",
    ),
    refuses(
        "log weights all minus infinity", lambda: diagnostics.pareto_k([-np.inf] * 3), "at least one finite"
    ),
    gives(
        "a log weight of minus infinity",
        lambda: diagnostics.importance_weights([-np.inf, 0.0, 0.0]).round(12).tolist(),
        [0.0, 0.5, 0.5],
    ),
    refuses("an order of no matrix", lambda: diagnostics.dendrogram_order(LABELS), "expected (N, N)"),
    refuses(
        "scores of a missing name", lambda: partition_scores(["a", np.nan, "b"], [0, 0, 1]), "1 missing label"
    ),
    refuses(
        "scores of a masked label",
        lambda: partition_scores(np.ma.masked_array([0, 0, 1], mask=[0, 0, 1]), [0, 0, 1]),
        "1 masked entries",
    ),
    refuses(
        "k-means of a masked coordinate",
        lambda: KMeans().partition(np.ma.masked_array([[0.0], [1.0]], mask=[[0], [1]]), seed=0),
        "1 masked entries",
    ),
    refuses(
        "points with a masked coordinate",
        lambda: as_points(np.ma.masked_array([[0.0], [1.0]], mask=[[0], [1]])),
        "1 masked entries",
    ),
]
