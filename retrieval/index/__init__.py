"""The open index: what a search is asked of, and the command that asks it."""
