"""Rank tweets and sentences by check-worthiness."""
