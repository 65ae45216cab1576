"""Rank tweets and sentences by how far they are worth checking."""
