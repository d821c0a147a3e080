"""Planners: schedules from costs that were measured before the run."""
