"""The kind of vector units that weighs the points of an exact filter."""

import numpy as np
from numba import types

from pyroclust.distributions.compiled.pointers import Address, ViewType, address_of
from pyroclust.distributions.sequential.filter import FilterEncoding
from pyroclust.nn.compiled.filter_tables import DataSets, compiled_family
from pyroclust.nn.compiled.lanes import Families, Lanes, Shape, refresh_others
from pyroclust.nn.compiled.normal_lanes import normal_shape, weigh_normal
from pyroclust.nn.compiled.table_lanes import refresh_columns, table_shape, weigh_columns

__all__ = ["shape_of"]


def shape_of(encoding: FilterEncoding, data: DataSets) -> Shape:
    """Return what vector units need of the family of a filter."""
    family = compiled_family(encoding, 1)
    nothing, none = np.zeros(len(data.log_join)), np.zeros((0, 3), np.int64)
    families = Families(np.zeros(0, np.intp), np.zeros((0, 2), np.intp), none)
    found = Shape(
        1,
        0,
        0,
        1,
        1,
        families,
        0.0,
        0.0,
        1.0,
        np.zeros((1, 1), np.float32),
        nothing,
        data.log_join,
        nothing,
        nothing,
    )
    functions = refresh_others, weigh_normal
    table, normal = table_shape(found, family.content), normal_shape(found, family.content)
    if table is not None:
        found, functions = table, (refresh_columns, weigh_columns)
    elif normal is not None:
        found, functions = normal
    kinds = (family.type, Address(found).type, Address(Lanes.empty(1, found, 1)).type)
    row, block = ViewType(types.float32, 1), ViewType(types.float32, 2)
    return found._replace(
        refresh=address_of(functions[0], *kinds, types.int64),
        weigh=address_of(functions[1], *kinds[1:], types.int64, block, row),
    )
