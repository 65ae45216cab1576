"""A ranker of many languages that share what they learn: one encoder, a claim head, and a language head beside it."""
