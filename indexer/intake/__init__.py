"""Fetch sources from the web, for the command line alone: the server never fetches an address."""
