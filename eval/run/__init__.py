"""From a file of queries to a run."""
