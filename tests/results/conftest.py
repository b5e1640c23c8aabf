"""Comparisons simulate less here and render no pictures: tests/calibration and tests/report look at those."""

from quick_comparisons import quick_comparisons  # noqa: F401  (a fixture of every test here)
