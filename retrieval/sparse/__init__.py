"""Learned sparse vectors: the weights of the terms of a text, and the search in them."""
