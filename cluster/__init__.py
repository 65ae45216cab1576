"""Indexes in shards, on this machine or on the machines of a Ray cluster.

A cluster needs the extra ``ray``. Only this package imports Ray, and only if the user asks for a
cluster.
"""
