"""Image quality: metrics, objectives, intervals, and tables of methods by quality."""
