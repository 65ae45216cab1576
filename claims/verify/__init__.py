"""What the evidence says of a claim: sentences found for it, features of both, a verdict with its reasons."""
