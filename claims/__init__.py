"""DECIDE: which claims are worth checking, and what the evidence says of them."""
