"""Make a run from a file of queries; check, score and compare runs."""
