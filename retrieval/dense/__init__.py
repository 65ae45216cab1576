"""Vectors, and the models that make them."""
