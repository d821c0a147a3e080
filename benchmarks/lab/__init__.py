"""The demo models as the benchmarks and the study sample them, and what all of them share."""
