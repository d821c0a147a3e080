"""Fits of the weights of ``Fitted``: steps of samplers, least squares, and runs on the way."""
