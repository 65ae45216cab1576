"""Building the shards of an index on the machines of a Ray cluster."""
