"""Learned sparse vectors: a weight for each term of a model's vocabulary, and the search in them."""
