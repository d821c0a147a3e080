"""The parts of the study; see ``benchmarks/study``."""
