"""Measurements with bars: ``python dev.py bench NAME [--check]``."""
