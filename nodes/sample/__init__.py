"""Sampling inside nodes: scoring examples, references, measurement."""
