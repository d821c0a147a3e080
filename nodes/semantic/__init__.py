"""Semantic Metrics: judges of how well images fit their prompts."""
