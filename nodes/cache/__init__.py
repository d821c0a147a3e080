"""Nodes that speed up a model, or choose how: caches, schedules, policies."""
