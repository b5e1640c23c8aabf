"""Analyses as pages: one model of a page, written as a self-contained HTML file or for the terminal."""

from pyroclust.report.page import page_of, register_section
from pyroclust.report.parts import FigureTable, Page, Paragraph, Picture, Section
from pyroclust.report.writing import notebook_view, render_page, show_page, terminal_view

__all__ = [
    "FigureTable",
    "Page",
    "Paragraph",
    "Picture",
    "Section",
    "notebook_view",
    "page_of",
    "register_section",
    "render_page",
    "show_page",
    "terminal_view",
]
