"""Sentences of an index that bear on a claim, and the features of both."""
