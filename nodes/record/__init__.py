"""Recordings of runs and of trajectories."""
