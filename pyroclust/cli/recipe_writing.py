"""The command ``pyroclust recipe``."""

from pyroclust.cli.errors import one_sentence_errors
from pyroclust.cli.modelling import Concentration, ExpectedClusters, Family, Prior
from pyroclust.cli.reading import (
    Columns,
    Decimal,
    Delimiter,
    Header,
    Kinds,
    Label,
    Pca,
    Source,
    kinds_of_columns,
    names_of_columns,
    told,
)

__all__ = ["recipe"]


@one_sentence_errors
def recipe(
    source: Source,
    columns: Columns = None,
    label: Label = None,
    pca: Pca = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    header: Header = None,
    kinds: Kinds = None,
    family: Family = None,
    prior: Prior = None,
    concentration: Concentration = None,
    expected_clusters: ExpectedClusters = None,
) -> None:
    """Print the recipe of a guide for the model that compare takes for a table.

    pyroclust recipe data.csv > mine.toml, then pyroclust train mine.toml
    --out mine, then pyroclust compare data.csv --guide mine.
    """
    from pyroclust.data.datasets import read_table
    from pyroclust.recipes import recipe_for

    options = told(delimiter=delimiter, decimal=decimal, header=header)
    told_kinds = kinds_of_columns(kinds) or {}
    table = read_table(source, columns=names_of_columns(columns), label=label, kinds=told_kinds, **options)
    written = recipe_for(
        table,
        pca=pca,
        family=family,
        prior=prior,
        concentration=concentration,
        expected_clusters=expected_clusters,
    )
    print(written, end="")
