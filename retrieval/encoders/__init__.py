"""Encoders: load a sentence-transformers model and make vectors."""
