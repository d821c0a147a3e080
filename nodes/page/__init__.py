"""The routes that the page asks."""
