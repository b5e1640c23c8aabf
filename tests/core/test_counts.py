"""Small helpers that nothing else tests at their edges: seeds, ranges, large numbers, values of JSON."""

import numpy as np
import pytest

from pyroclust.core.messages import duration, range_in_words
from pyroclust.core.numbers import check_range, json_values, mean_imputed, overflow_scale, short_seed, shown


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (short_seed(7), 7),
        (short_seed(2**40) < 2**32, True),
        (short_seed(2**40) != short_seed(2**41), True),
        (shown(10**400), "a number of 1329 bits"),
        (check_range("clusters", 3), (3, 3)),
        (json_values({"values": np.arange(2), "p": float("nan")}), {"values": [0, 1], "p": None}),
        (mean_imputed(np.array([[1.0], [np.nan], [2.0]])).tolist(), [[1.0], [1.5], [2.0]]),
        ((overflow_scale(np.array([3.0])), overflow_scale(np.array([1e308])) > 1e307), (1.0, True)),
        ([duration(one) for one in (7.2, 41.0, 200.0)], ["7 s", "40 s", "3 min"]),
        ([range_in_words(one) for one in ((3, 3), (2, 6))], ["3 clusters", "between 2 and 6 clusters"]),
    ],
)
def test_values(found, expected):
    assert found == expected
