"""Semantic metrics: how well an image fits its prompt, beside how close it is to the full run."""
