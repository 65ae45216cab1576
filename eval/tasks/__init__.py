"""One file a task format, found by its name."""
