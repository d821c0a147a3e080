"""The table of published methods: how each selects steps and predicts the cached ones."""
