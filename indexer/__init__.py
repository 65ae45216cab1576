"""BUILD: from source files to documents, passages and index segments."""
