"""Anchored guides: which points the guide labels and how many, beside the guide alone and the exact filter.

    python benchmarks/anchored.py [--sets 20] [--explore]

Data sets of 300 and 1,000 points of the guides' own models. For each way of drawing stand the median
efficiency of importance weights over the sets, 300 draws each, the mean log q of the true partition a point,
and seconds a set. With --explore sets have other seeds, on which the rule and the number were chosen. One
result a set is kept in runs/anchored. The last report is in benchmarks/results/anchored.json.
"""

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import typer
from kept import kept, write_report
from rich.console import Console

from pyroclust import load_guide
from pyroclust.diagnostics import importance_efficiency
from pyroclust.guides import AnchoredGuide, PredictiveFilter
from pyroclust.infer import simulate
from pyroclust.infer.mcmc.compiled_filter import CompiledFilter, can_compile
from pyroclust.nn import RandomAnchors, SpreadAnchors

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "anchored"
RESULT = Path(__file__).parent / "results" / "anchored.json"
GUIDES, SIZES, DRAWS = ("ncp-overlap2d", "ncp-niw2d"), (300, 1000), 300
