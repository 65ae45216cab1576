"""Encoders: from a sentence-transformers model to vectors."""
