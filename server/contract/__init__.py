"""Requests, answers, errors and searches, shared by the API and the page."""
