"""The HTTP engine."""
