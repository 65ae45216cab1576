"""The pipeline from tweets to verdicts with their sources, on one page."""
