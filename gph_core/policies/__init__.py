"""Approximation policies: what stands in for the blocks at a cached step."""
