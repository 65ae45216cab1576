"""Learn from judged queries: search settings, combinations of rankings, encoders and re-rankers."""
