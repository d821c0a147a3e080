"""The library of golden paths: nodes, routes, the user's files."""
