"""Learn from judged queries: settings of a search, a combination of rankings, encoders and re-rankers."""
