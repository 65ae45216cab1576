"""ASK: from a query to ranked hits. This package imports none of the other packages."""
