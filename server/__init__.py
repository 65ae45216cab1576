"""SERVE: the HTTP API and the search page."""
