"""Report of *Trajectory Profile*: numbers, summary and figure."""
