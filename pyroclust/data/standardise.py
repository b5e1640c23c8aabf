"""Tables on the scale that models and guides for real data expect: mean 0, variance 1."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyroclust.data.tables import Table

__all__ = ["Standardised", "principal_components", "standardise", "unscaled"]


@dataclass(frozen=True)
class Standardised:
    """Points as a guide sees them; ``data * scale + location`` are the units of ``columns``.

    Attributes:
        data: ``(N, D)`` float64.
        location: ``(D,)``, subtracted.
        scale: ``(D,)``, divided by afterwards.
        columns: D names.
        notes: sentences for the report.
    """

    data: NDArray[np.float64]
    location: NDArray[np.float64]
    scale: NDArray[np.float64]
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the size and the columns."""
        return f"Standardised({len(self.data)} points of {', '.join(self.columns)})"


def standardise(table: Table) -> Standardised:
    """Shift and scale every column to mean 0 and variance 1 (division by N).

    Raises:
        ValueError: if a column is constant, or so large that its variance overflows.

    Example:
        >>> from pyroclust.data.datasets import read_table
        >>> points = standardise(read_table("galaxies"))
        >>> bool(abs(points.data.std() - 1) < 1e-12), points.location.round().tolist()
        (True, [20831.0])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        location, scale = table.data.mean(0), table.data.std(0)
    for column, centre, spread in zip(table.columns, location, scale, strict=True):
        if not np.isfinite(spread):
            raise ValueError(
                f"{table.name}: column '{column}' is too large for its variance; rescale it first"
            )
        if spread <= 1e-12 * abs(centre):
            raise ValueError(
                f"{table.name}: column '{column}' is constant and cannot be standardised; "
                "leave it out with --columns"
            )
    return Standardised((table.data - location) / scale, location, scale, table.columns)


def unscaled(table: Table) -> Standardised:
    """Take the numbers as they are, for guides whose model fixes the scale of the data.

    Example:
        >>> from pyroclust.data.datasets import read_table
        >>> unscaled(read_table("iris")).scale.tolist()
        [1.0, 1.0]
    """
    dim = table.data.shape[1]
    return Standardised(table.data, np.zeros(dim), np.ones(dim), table.columns)


def principal_components(points: Standardised, num_components: int) -> Standardised:
    """Project points on their first principal components.

    The components are divided by one common number, which makes their mean variance 1: distances between
    points keep their proportions, and the first component stays the widest. The share of variance that is
    kept is noted.

    Args:
        points: standardised points.
        num_components: how many components to keep.

    Raises:
        ValueError: if there are fewer columns or points than components.

    Example:
        >>> from pyroclust.data.datasets import read_table
        >>> sepals_too = read_table("iris", columns=["sepal_length_cm", "sepal_width_cm", "petal_length_cm"])
        >>> principal_components(standardise(sepals_too), 2).columns
        ('PC1', 'PC2')
    """
    from sklearn.decomposition import PCA

    num_points, dim = points.data.shape
    if not 1 <= num_components <= min(num_points, dim):
        raise ValueError(
            f"--pca is {num_components}, expected 1 to {min(num_points, dim)} "
            f"for {num_points} points in {dim} column(s)"
        )
    decomposition = PCA(num_components, svd_solver="full").fit(points.data)
    scores = decomposition.transform(points.data)
    common = float(np.sqrt(scores.var(0).mean()))
    kept = ", ".join(f"{share:.1%}" for share in decomposition.explained_variance_ratio_)
    note = (
        f"{num_components} principal component(s) of {dim} standardised columns "
        f"({', '.join(points.columns)}) were clustered; they keep {kept} of the variance."
    )
    return Standardised(
        data=scores / common,
        location=np.zeros(num_components),
        scale=np.full(num_components, common),
        columns=tuple(f"PC{i}" for i in range(1, num_components + 1)),
        notes=(*points.notes, note),
    )
