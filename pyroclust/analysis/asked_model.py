"""The model of a comparison, as it was asked for by name, for the columns that a table has."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from pyroclust.data.columns_of_table import ColumnsOfTable
from pyroclust.data.shapes import Graph, PointShape
from pyroclust.models import StochasticBlockModel, table_mixture
from pyroclust.models.standardised import named_prior

__all__ = ["AskedModel"]


@dataclass(frozen=True, kw_only=True)
class AskedModel:
    """The model that was asked for by name; see :func:`~pyroclust.models.standardised_mixture`.

    Attributes:
        family: name of the family of clusters.
        prior: name of the prior of partitions.
        concentration: of that prior.
        expected_clusters: prior mean of the number of clusters.
        within: (a, b) of the rate of edges within a block of a graph.
        between: (a, b) of that between blocks.
    """

    family: str | None = None
    prior: str | None = None
    concentration: float | None = None
    expected_clusters: float | None = None
    within: tuple[float, float] | None = None
    between: tuple[float, float] | None = None

    @property
    def given(self) -> dict[str, Any]:
        """What was asked for, by the names of the arguments."""
        return {name: one for name, one in asdict(self).items() if one is not None}

    def for_columns(self, dim: int, num_points: int, columns: ColumnsOfTable | None) -> Any:
        """Return the model of independent columns, numbers too unless another family was asked for."""
        asked = replace(self, family="nig") if self.family is None else self
        return asked.build(dim, num_points, columns=columns)

    def build(
        self,
        dim: int,
        num_points: int,
        shape: PointShape | None = None,
        *,
        columns: ColumnsOfTable | None = None,
    ) -> Any:
        """Return the model for such columns and points; the default where nothing was asked for."""
        names = ("within", "between")
        of_graphs = {name: one for name, one in self.given.items() if name in names}
        if isinstance(shape, Graph):
            return self._of_graphs(num_points, of_graphs)
        if of_graphs:
            raise ValueError(
                f"{' and '.join(of_graphs)} given for rows of columns, expected a graph: leave it out"
            )
        of_tables = {name: one for name, one in asdict(self).items() if name not in names}
        columns = ColumnsOfTable(numbers=dim) if columns is None else columns
        return table_mixture(**asdict(columns), num_points=num_points, **of_tables)

    def _of_graphs(self, num_points: int, rates: dict[str, Any]) -> StochasticBlockModel:
        if self.family is not None:
            raise ValueError(
                f"family is '{self.family}', but the points are nodes of a graph, whose blocks have rates of "
                "edges: leave it out"
            )
        number = {"concentration": self.concentration, "expected_clusters": self.expected_clusters}
        if self.prior is None and self.concentration is None and self.expected_clusters is None:
            return StochasticBlockModel(**rates)
        prior = named_prior(self.prior or "crp", **number, num_points=num_points)
        return StochasticBlockModel(prior, **rates)
