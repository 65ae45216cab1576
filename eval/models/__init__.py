"""Train encoders and re-rankers with the trainers of sentence-transformers."""
