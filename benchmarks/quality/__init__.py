"""Benchmarks of how close cached pictures come to those of full runs."""
