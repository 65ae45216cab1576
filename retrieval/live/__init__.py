"""A published state of an index, held open."""
