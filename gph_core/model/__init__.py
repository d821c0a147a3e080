"""Transformers: where each family keeps its blocks, and how they are swapped for one call."""
