"""Library of golden paths: nodes, routes, the user's files."""
