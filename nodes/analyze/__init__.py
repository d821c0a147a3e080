"""Analyses of recorded runs and of errors."""
