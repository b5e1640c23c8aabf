"""Results as self-contained HTML pages."""

from pyroclust.report.kinds import render, write_diagnosis_report, write_report
from pyroclust.report.page import Page, render_page, write_page

__all__ = ["Page", "render", "render_page", "write_diagnosis_report", "write_page", "write_report"]
