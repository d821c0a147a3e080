"""Routes that serve the page."""
