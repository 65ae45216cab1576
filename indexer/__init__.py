"""Build indexes: turn source files into documents, passages and index segments."""
