"""Weights that are learned from a few full runs of the user's own."""
