"""Guides in folders: cards, weights, and the JSON that models and guides are built from again."""
