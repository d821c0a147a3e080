"""Calibrate and Calibrate Ratio, and the files that they keep."""
