"""SPREAD: shards of an index on the machines of a Ray cluster.

It needs the extra ``ray``; nothing but this package imports Ray, and only where a cluster is asked for.
"""
