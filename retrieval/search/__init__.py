"""Searching: from a query to ranked hits and their evidence."""
