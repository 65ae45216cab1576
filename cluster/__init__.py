"""Shards of an index on the machines of a Ray cluster.

It needs the extra ``ray``. Only this package imports Ray, and only if the user asks for a cluster.
"""
