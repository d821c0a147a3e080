"""Experiments on examples: they think, and ask a runner to sample."""
