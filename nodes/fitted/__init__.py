"""Weights fitted to schedules while the runs of a search go on."""
