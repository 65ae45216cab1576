"""Serve indexes: the HTTP API and the search page."""
