"""Recipes: TOML files that say how a guide is trained, and the work behind ``pyroclust train``."""

from pyroclust.recipes.recipe import Recipe, find_recipe, list_recipes, read_recipe, recipe_for, write_recipe

__all__ = ["Recipe", "find_recipe", "list_recipes", "read_recipe", "recipe_for", "write_recipe"]
