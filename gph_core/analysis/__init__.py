"""Analyses of recorded runs: trajectories, errors and their propagation, frequencies."""
