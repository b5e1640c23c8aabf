"""Mixtures as JSON: what a card stores and a recipe says, and how the model is built from it again."""

from pyroclust.saving.models import build_model, describe_model

__all__ = ["build_model", "describe_model"]
