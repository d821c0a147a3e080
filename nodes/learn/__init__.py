"""Learning of paths from the full runs of a user's own work."""
