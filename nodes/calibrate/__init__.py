"""Calibrate and Calibrate Ratio, and their files."""
