"""Verdicts on claims, from their evidence."""
