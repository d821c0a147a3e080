"""Benchmarks of paths that are learned while users work."""
