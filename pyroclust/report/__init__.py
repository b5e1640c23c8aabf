"""A comparison as one self-contained HTML page."""

from pyroclust.report.page import render, write_report

__all__ = ["render", "write_report"]
