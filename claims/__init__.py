"""Check-worthiness of claims, and verdicts on them from evidence."""
