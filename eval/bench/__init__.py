"""Quality and speed of retrievers side by side."""
