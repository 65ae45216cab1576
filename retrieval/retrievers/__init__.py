"""The rankings that a search may ask for, one file each, found by name."""
