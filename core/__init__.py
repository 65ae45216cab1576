"""The ground that every package stands on; it knows nothing of an index."""
