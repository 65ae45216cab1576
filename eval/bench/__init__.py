"""Quality and speed of retrievers, compared on one index."""
