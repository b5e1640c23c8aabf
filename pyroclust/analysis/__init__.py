"""Analyses: what they are made of, for questions of your own."""

from pyroclust.analysis.steps import Step, Work, never, register_step

__all__ = ["Step", "Work", "never", "register_step"]
