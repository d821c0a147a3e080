"""Sampling of examples: workloads, references, metrics, the runner in this process."""
