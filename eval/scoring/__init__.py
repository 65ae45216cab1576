"""Measures, statistics and ties."""
