"""Recipes: TOML files that say how a guide is trained, and the work behind ``pyroclust train``."""

from pyroclust.recipes.recipe import Recipe, read_recipe

__all__ = ["Recipe", "read_recipe"]
