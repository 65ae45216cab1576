"""Vectors, and the interfaces of the models that make them."""
