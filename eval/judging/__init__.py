"""Check, score and compare submissions."""
