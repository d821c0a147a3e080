"""Schedule Search."""
